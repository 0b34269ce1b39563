//! Messages from one pipeline stage to the next, which no table has.

use super::Part;
use super::all_reduce::ACTIVATION_BYTES;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::ring::message;
use crate::error::Error;
use crate::table::Class;
use crate::units::Seconds;

/// Hidden states and residuals that a pipeline stage sends to the next one.
///
/// Each GPU sends its share to its counterpart; those of the next stage gather the shares (`send_tensor_dict` with an
/// `all_gather_group`, in `vllm/distributed/parallel_state.py`).
///
/// Assumes: a stage computes nothing else while it sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    s_per_token: f64,
    latency: Seconds,
}

impl Transfer {
    /// Returns the transfer from the stage before the one with this index.
    ///
    /// # Errors
    /// The caller accepts measurements alone.
    pub(super) fn to_stage(find: &Finder<'_>, stage: u32) -> Result<Transfer, Error> {
        let (network, tp) = (&find.network, find.parallelism.tp);
        let stages_per_node = (network.gpus_per_node / tp.max(1)).max(1);
        let link_s_per_byte = 1.0 / find.set.gpu().link_bytes_per_s;
        let between = |within_node: bool| if within_node { link_s_per_byte } else { 1.0 / network.bytes_per_s };
        let sent = between(!stage.is_multiple_of(stages_per_node)) / f64::from(tp);
        let gathered = between(network.nodes(tp) < 2) * (1.0 - 1.0 / f64::from(tp));
        // The hidden state and its residual, or all streams.
        let states = find.model.streams.max(2);
        let bytes_per_token = f64::from(states) * f64::from(find.model.hidden) * ACTIVATION_BYTES;
        let transfer = Transfer { s_per_token: bytes_per_token * (sent + gathered), latency: network.latency };
        find.accept(Part::Transfer, Ok(transfer), |_| Class::Bound)
    }

    /// Returns the time of so many tokens.
    pub(super) fn at(&self, tokens: f64) -> KernelTime {
        message(self.latency, Seconds(tokens * self.s_per_token))
    }
}
