//! The network between nodes.

use crate::error::Invalid;
use crate::units::Seconds;
use rooflut_roofline::Subject;

/// The network between nodes of GPUs.
///
/// Ranks that span nodes exchange their messages over the network, in one ring over all ranks. A collective measured
/// within a node says nothing about the network: an all-reduce over 16 ranks takes 48 us, but rows of one node
/// extrapolate to 3 us.
///
/// ```
/// use rooflut::step::Network;
/// use rooflut::units::Seconds;
/// let slow = Network::CX7.with_bytes_per_s(12.5e9).with_latency(Seconds::from_us(30.0));
/// assert_eq!((slow.gpus_per_node, Network::CX7.bytes_per_s), (8, 50e9));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Network {
    /// GPUs per node. The GPUs of a node reach each other over their own links.
    pub gpus_per_node: u32,
    /// Bandwidth of the share of a GPU in one direction, bytes/s.
    pub bytes_per_s: f64,
    /// Time of the smallest message from node to node, and from one pipeline stage to the next.
    pub latency: Seconds,
}

impl Network {
    /// Nodes of 8 GPUs with a ConnectX-7 adapter each: 400 Gbit/s and 10 us.
    pub const CX7: Network = Network { gpus_per_node: 8, bytes_per_s: 50e9, latency: Seconds(10e-6) };

    crate::setters! {
        /// Sets the number of GPUs of a node.
        with_gpus_per_node(gpus_per_node: u32);
        /// Sets the bandwidth of the share of a GPU, bytes/s.
        with_bytes_per_s(bytes_per_s: f64);
        /// Sets the time of the smallest message.
        with_latency(latency: Seconds);
    }

    /// Rejects a node without GPUs, and a bandwidth or latency that would make a message take no time or forever.
    ///
    /// # Errors
    /// The first property that is out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        let refused = |field, found: f64| {
            let text = "expected a positive number, found {}; correct it";
            Err(Invalid::new(field, text, &[found.into()]).of(Subject::Network))
        };
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        match self {
            Network { gpus_per_node: 0, .. } => refused("gpus_per_node", 0.0),
            _ if !is_positive(self.bytes_per_s) => refused("bytes_per_s", self.bytes_per_s),
            _ if !is_positive(self.latency.0) => refused("latency", self.latency.0),
            _ => Ok(()),
        }
    }

    /// Returns the number of nodes that hold so many GPUs.
    pub(super) fn nodes(&self, gpus: u32) -> u32 {
        gpus.div_ceil(self.gpus_per_node.max(1))
    }
}

impl Default for Network {
    fn default() -> Network {
        Network::CX7
    }
}
