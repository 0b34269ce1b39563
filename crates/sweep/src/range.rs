//! Ranges of numbers.

use rooflut_scenario::{grouped, real};

/// Maximum number of values of a range.
const MAX_VALUES: u32 = 100_000;

/// Returns the numbers of `FROM..TO:STEP`, or `FROM..TO` in steps of 1; `None` for text that is no range of numbers.
///
/// The end is one of them where a step reaches it. Numbers have 12 digits at most, so that `0..1:0.1` has 0.3.
///
/// # Errors
/// The accepted form, as `expected ...`.
pub(crate) fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (from, rest) = text.split_once("..")?;
    let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let ends = real(from).ok().zip(real(to).ok());
    let (from, to) = ends?;
    Some(match real(step) {
        Ok(step) => numbers(from, to, step),
        Err(_) => Err("expected FROM..TO:STEP, as in 1..40:2".to_owned()),
    })
}

fn numbers(from: f64, to: f64, step: f64) -> Result<Vec<String>, String> {
    if ![from, to, step].iter().all(|number| number.is_finite()) {
        return Err("expected finite numbers".to_owned());
    }
    if step <= 0.0 {
        return Err("expected a step above 0".to_owned());
    }
    if from > to {
        return Err("expected a range that ascends".to_owned());
    }
    // Rounding must not lose the end.
    let steps = ((to - from) / step + 1e-9).floor();
    if steps >= f64::from(MAX_VALUES) {
        return Err(format!("expected a larger step, with at most {} values", grouped(MAX_VALUES)));
    }
    let whole = [from, step].iter().all(|number| number.fract() == 0.0);
    Ok((0..=steps as u64)
        .map(|index| from + index as f64 * step)
        .map(|number| if whole { number.to_string() } else { rounded(number).to_string() })
        .collect())
}

/// Returns the number without the noise of binary fractions.
fn rounded(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        range(text).expect("a range")
    }

    #[test]
    fn ranges_go_from_the_first_number_to_the_last_that_a_step_reaches() {
        assert_eq!(read("1..7:2").unwrap(), ["1", "3", "5", "7"]);
        assert_eq!(read("1..6:2").unwrap(), ["1", "3", "5"]);
        assert_eq!(read("2..4").unwrap(), ["2", "3", "4"]);
        assert_eq!(read("5..5:3").unwrap(), ["5"]);
        assert_eq!(read("1e3..1_200:100").unwrap(), ["1000", "1100", "1200"]);
        let tenths = read("0.1..1:0.1").unwrap();
        assert_eq!(tenths.len(), 10);
        assert_eq!([&tenths[2], &tenths[9]], ["0.3", "1"]);
    }

    #[test]
    fn ranges_that_never_end_or_are_empty_are_rejected() {
        for (text, expected) in [
            ("1..4:0", "a step above 0"),
            ("1..4:-1", "a step above 0"),
            ("4..1:1", "ascends"),
            ("1..inf", "finite"),
            ("nan..4", "finite"),
            ("1..4:x", "FROM..TO:STEP"),
            ("0..1e12:1", "at most 100_000"),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
        for text in ["uniform:1..6", "1", "a..b", "../trace.csv"] {
            assert!(range(text).is_none(), "{text}");
        }
    }
}
