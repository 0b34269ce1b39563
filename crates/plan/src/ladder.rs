//! The search for the smallest number of servers.

/// Numbers of servers that meet the limits or do not.
///
/// Assumes: more servers meet the limits if fewer do. Chance can break the rule by a server or so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ladder {
    /// The largest number that is known to miss the limits.
    failed: u32,
    /// The smallest number that is known to meet them.
    met: Option<u32>,
    /// The largest number that is allowed.
    last: u32,
    /// The number that is tried first.
    hint: u32,
    step: u32,
}

impl Ladder {
    /// Creates a ladder from `first` to `last` servers, of which about `hint` are needed.
    pub(crate) fn new(first: u32, hint: u32, last: u32) -> Ladder {
        Ladder { failed: first.saturating_sub(1), met: None, last, hint: hint.max(first), step: 1 }
    }

    /// Returns the smallest number that may meet the limits; `None` if there is none, or if it is known to.
    pub(crate) fn least(&self) -> Option<u32> {
        let least = self.failed.saturating_add(1);
        (least <= self.last && self.met != Some(least)).then_some(least)
    }

    /// The smallest number that is known to meet the limits.
    pub(crate) fn met(&self) -> Option<u32> {
        self.met
    }

    /// The largest number that is allowed.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// Returns the number to try next, at most `cap`: the hint, then twice as far from it each time, up or down, then the
    /// middle. Where an answer is known, `cap` is the largest number that does not cost more, and is tried first, as
    /// most kinds of servers fail there.
    pub(crate) fn next(&self, cap: u32, has_answer: bool) -> u32 {
        let least = self.failed.saturating_add(1);
        match self.met {
            Some(met) if self.failed < self.hint => met.saturating_sub(self.step).max(least),
            Some(met) => self.failed + (met - self.failed) / 2,
            None if has_answer => cap,
            None if self.failed < self.hint => self.hint.min(cap),
            None => self.failed.saturating_add(self.step).min(cap),
        }
    }

    /// Notes that `count` servers would miss the limits, by what is known of others.
    pub(crate) fn rule_out(&mut self, count: u32) {
        if self.met.is_none_or(|met| met > count) {
            self.failed = self.failed.max(count);
        }
    }

    /// Notes that `count` servers, which seemed to meet the limits, miss them.
    pub(crate) fn refute(&mut self, count: u32) {
        (self.failed, self.met, self.step) = (count, None, 1);
    }

    /// Notes whether `count` servers meet the limits.
    pub(crate) fn note(&mut self, count: u32, meets: bool) {
        let is_first = self.met.is_none() && self.failed < self.hint;
        if meets {
            self.met = Some(count)
        } else {
            self.failed = count
        }
        // Below a hint that meets the limits, the first that misses them ends the strides.
        if !meets && self.met.is_some() {
            self.hint = self.hint.min(count);
        }
        self.step = if is_first { 1 } else { self.step.saturating_mul(2) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts that are tried until the smallest of at least `needed` servers is found, and that count.
    fn climb(needed: u32, first: u32, hint: u32, last: u32) -> (Vec<u32>, Option<u32>) {
        let mut ladder = Ladder::new(first, hint, last);
        let mut tried = Vec::new();
        while ladder.least().is_some() {
            let count = ladder.next(ladder.last, false);
            assert!((first..=last).contains(&count) && !tried.contains(&count), "{count} {tried:?}");
            tried.push(count);
            ladder.note(count, count >= needed);
        }
        (tried, ladder.met)
    }

    #[test]
    fn the_smallest_number_is_found_by_doubling_and_bisection() {
        assert_eq!(climb(1, 1, 1, 8), (vec![1], Some(1)));
        assert_eq!(climb(6, 3, 3, 64), (vec![3, 4, 6, 5], Some(6)));
        assert_eq!(climb(9, 1, 1, 8), (vec![1, 2, 4, 8], None));
        assert_eq!(climb(40, 1, 42, 64), (vec![42, 41, 39, 40], Some(40)));
        assert_eq!(climb(43, 1, 42, 64), (vec![42, 43], Some(43)));
        for needed in 1..200 {
            for hint in [1, 50, 256] {
                let (tried, found) = climb(needed, 1, hint, 256);
                assert_eq!(found, Some(needed));
                assert!(tried.len() <= 17, "{needed} {hint}: {tried:?}");
            }
        }
    }

    #[test]
    fn a_number_that_is_refuted_is_climbed_past() {
        let mut ladder = Ladder::new(1, 4, 8);
        for (count, meets) in [(4, true), (3, false)] {
            assert_eq!(ladder.next(8, false), count);
            ladder.note(count, meets);
        }
        assert_eq!((ladder.least(), ladder.met()), (None, Some(4)));
        ladder.refute(4);
        assert_eq!((ladder.least(), ladder.met(), ladder.next(8, false)), (Some(5), None, 5));
    }

    #[test]
    fn the_cap_is_tried_first_where_an_answer_is_known() {
        assert_eq!(Ladder::new(3, 3, 64).next(9, true), 9);
        assert_eq!(Ladder::new(9, 9, 8).least(), None);
    }
}
