//! Requests that were preempted after a token and wait for their next one.

use alloc::collections::BTreeMap;

/// When each of them had its last token, by place.
#[derive(Debug, Default)]
pub(crate) struct Interrupted {
    last_token_ns: BTreeMap<usize, u64>,
}

impl Interrupted {
    /// These have their last token at `now_ns`, but for those that wait already: they were preempted
    /// again before the next one.
    pub(crate) fn add(&mut self, indices: impl IntoIterator<Item = usize>, now_ns: u64) {
        for index in indices {
            self.last_token_ns.entry(index).or_insert(now_ns);
        }
    }

    /// It has its next token at `now_ns`: the gap between the two.
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
