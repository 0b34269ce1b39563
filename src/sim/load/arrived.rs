//! A waiting request in compact form.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::sim::Request;

/// A request before it is scheduled, a third of the size of a
/// [`Sequence`](crate::sim::schedule::sequence::Sequence).
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) index: usize,
    pub(crate) request: Request,
    /// When the engine sees it.
    pub(crate) at_engine_ns: u64,
    /// Whether the KV entries of its prompt come from a prefill server.
    pub(crate) with_kv: bool,
    /// Ids of a trace and the tokens per id, if there are any.
    pub(crate) trace_ids: Option<Box<(Vec<u64>, u32)>>,
}

impl Arrived {
    #[inline]
    pub(crate) fn new(index: usize, request: Request, (ids, tokens): (&[u64], u32)) -> Arrived {
        Arrived {
            index,
            request,
            at_engine_ns: request.arrival_ns,
            with_kv: false,
            trace_ids: (!ids.is_empty()).then(|| Box::new((ids.to_vec(), tokens))),
        }
    }
}
