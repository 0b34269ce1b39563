//! Messages between nodes, which no table has.

use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::{Binding, Part};
use crate::error::Error;
use crate::table::Class;
use crate::units::Seconds;

/// A collective over ranks on several nodes, in one ring.
///
/// In a pass each rank receives all parts of the message but its own, over the slowest link, that between nodes, and
/// the last part has crossed from node to node as often as there are nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ring {
    s_per_byte: f64,
    latency: Seconds,
}

impl Ring {
    /// Returns the passes of a message over `ranks` that are spread over so many GPUs; `None` if a node holds these.
    ///
    /// # Errors
    /// The caller accepts measurements alone.
    pub(super) fn find(
        find: &Finder<'_>,
        part: Part,
        passes: f64,
        [ranks, gpus]: [u32; 2],
    ) -> Result<Option<Ring>, Error> {
        let network = &find.network;
        let nodes = network.nodes(gpus);
        if nodes < 2 {
            return Ok(None);
        }
        let others = 1.0 - 1.0 / f64::from(ranks.max(1));
        let ring = Ring {
            s_per_byte: passes * others / network.bytes_per_s,
            latency: network.latency * (passes * f64::from(nodes)),
        };
        find.accept(part, Ok(ring), |_| Class::Bound).map(Some)
    }

    /// Returns the time of a whole message of `bytes`.
    pub(super) fn at(&self, bytes: f64) -> KernelTime {
        message(self.latency, Seconds(bytes * self.s_per_byte))
    }
}

/// Returns the time of a message whose bytes take the given time, after the latency.
pub(super) fn message(latency: Seconds, bytes: Seconds) -> KernelTime {
    let binding = if bytes > latency { Binding::Link } else { Binding::Latency };
    KernelTime::new(latency + bytes, binding, Class::Bound.outside().into())
}
