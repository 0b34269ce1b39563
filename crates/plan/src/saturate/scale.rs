//! The search for the largest step of a scale.

use std::ops::RangeInclusive;

/// Finds the largest step of `steps` that meets a condition: from `start` in doubling strides, then by bisection. Returns
/// `None` if the lowest does not.
///
/// Assumes: a step meets the condition if a higher one does.
pub(crate) fn largest<E>(
    steps: RangeInclusive<i32>,
    start: i32,
    mut meets: impl FnMut(i32) -> Result<bool, E>,
) -> Result<Option<i32>, E> {
    const STRIDE: i32 = 4;
    let (lowest, highest) = steps.into_inner();
    if lowest > highest {
        return Ok(None);
    }
    // One beyond each end: below is met, above is missed.
    let (mut met, mut missed) = (lowest - 1, highest + 1);
    let (mut next, mut stride) = (start.clamp(lowest, highest), STRIDE);
    while missed - met > 1 {
        if meets(next)? {
            met = next
        } else {
            missed = next
        }
        next = match (met < lowest, missed > highest) {
            (true, _) => (missed - stride).max(lowest),
            (_, true) => (met + stride).min(highest),
            _ => met + (missed - met) / 2,
        };
        stride = stride.saturating_mul(2);
    }
    Ok((met >= lowest).then_some(met))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn the_largest_step_is_found_from_any_start_with_few_tries() {
        for limit in -40..40 {
            for start in -50..50 {
                let mut tries = 0;
                let found = largest(-30..=30, start, |step| {
                    tries += 1;
                    assert!((-30..=30).contains(&step));
                    Ok::<bool, Infallible>(step <= limit)
                });
                let expected = (limit >= -30).then_some(limit.min(30));
                assert_eq!(found, Ok(expected), "{limit} from {start}");
                assert!(tries <= 11, "{tries} for {limit} from {start}");
            }
        }
        assert_eq!(largest(RangeInclusive::new(1, 0), 0, |_| Err(())), Ok(None));
    }
}
