//! Requests that were preempted after a token, or left out of a step, and have not had their next token.

use alloc::collections::BTreeMap;

/// Times of the last tokens of interrupted requests, by index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupted {
    last_token_ns: BTreeMap<usize, u64>,
}

impl Interrupted {
    /// Adds requests whose last token came at `now_ns`. Requests that were interrupted again before their next
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
