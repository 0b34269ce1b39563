//! Requests that were preempted after a token and have not had their next one.

use alloc::collections::BTreeMap;

/// Times of the last tokens of interrupted requests, by index.
#[derive(Debug, Default)]
pub(crate) struct Interrupted {
    last_token_ns: BTreeMap<usize, u64>,
}

impl Interrupted {
    /// Adds requests whose last token came at `now_ns`. Requests that were preempted again before their next
    /// token keep their time.
    pub(crate) fn add(&mut self, indices: impl IntoIterator<Item = usize>, now_ns: u64) {
        for index in indices {
            self.last_token_ns.entry(index).or_insert(now_ns);
        }
    }

    /// Removes a request whose next token comes at `now_ns`; returns the gap between the two tokens.
    pub(crate) fn remove(&mut self, index: usize, now_ns: u64) -> Option<u64> {
        let last_ns = self.last_token_ns.remove(&index)?;
        Some(now_ns.saturating_sub(last_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_begins_with_the_last_token_and_not_with_the_last_preemption() {
        let mut interrupted = Interrupted::default();
        interrupted.add([3, 5], 100);
        interrupted.add([3], 200);
        assert_eq!(interrupted.remove(3, 350), Some(250));
        assert_eq!(interrupted.remove(3, 400), None);
        interrupted.add([3], 400);
        assert_eq!(interrupted.remove(3, 410), Some(10));
        assert_eq!(interrupted.remove(5, 410), Some(310));
    }
}
