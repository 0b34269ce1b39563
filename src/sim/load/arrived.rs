//! A request that has arrived and waits.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::sim::Request;

/// A request before it is scheduled: a third of a [`Sequence`](crate::sim::schedule::sequence::Sequence), for under overload
/// most requests wait.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) index: usize,
    pub(crate) request: Request,
    /// When the engine sees it.
    pub(crate) at_engine_ns: u64,
    /// Whether the KV entries of its prompt came with it from another server.
    pub(crate) with_kv: bool,
    /// The ids that a trace gives its tokens, and how many tokens one stands for, if there are any.
    pub(crate) listed: Option<Box<(Vec<u64>, u32)>>,
}

impl Arrived {
    #[inline]
    pub(crate) fn new(
        index: usize,
        request: Request,
        (ids, tokens): (&[u64], u32),
        at_engine_ns: u64,
    ) -> Arrived {
        Arrived {
            index,
            request,
            at_engine_ns,
            with_kv: false,
            listed: (!ids.is_empty()).then(|| Box::new((ids.to_vec(), tokens))),
        }
    }
}
