//! A request that has arrived and waits.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::sim::Request;
use crate::sim::sequence::Sequence;

/// What there is to know of a request before it is looked at: a third of a [`Sequence`], for under
/// overload most requests are such.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) place: usize,
    pub(super) request: Request,
    pub(super) at_engine_ns: u64,
    /// Whether the KV entries of its prompt came with it.
    pub(super) with_kv: bool,
    /// The ids that a trace gives its tokens, and how many tokens one stands for, if there are any.
    pub(super) listed: Option<Box<(Vec<u64>, u32)>>,
}

impl Arrived {
    /// The request, ready to run.
    pub(super) fn into_sequence(self, block_size: u32) -> Sequence {
        let listed = self.listed.as_deref();
        let (ids, tokens) = listed.map_or((&[][..], 0), |(ids, tokens)| (&ids[..], *tokens));
        let sequence = Sequence::new(
            self.place,
            &self.request,
            (ids, tokens),
            self.at_engine_ns,
            block_size,
        );
        match self.with_kv {
            true => sequence.with_kv(),
            false => sequence,
        }
    }
}
