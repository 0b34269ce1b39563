//! The exchange of tokens between data-parallel ranks, around the experts of a layer.

use super::all_reduce::ACTIVATION_BYTES;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::{ModelError, Part};
use crate::hardware::GatherShape;
use crate::op::Gather;
use crate::table::ErrorGroup;

/// An all-gather of hidden states and router logits over the ranks, and a reduce-scatter of what the experts return.
///
/// Source: vLLM's default, `AgRsAll2AllManager` in `vllm/distributed/device_communicators/all2all.py`.
#[derive(Debug, Clone)]
pub(super) struct StepExchange {
    gather: Gather,
    scatter: Gather,
    gathered_bytes: f64,
    /// Bytes of a hidden state.
    hidden_bytes: f64,
    /// All-gather of the rank's own hidden states, where each of its GPUs routes a share of them.
    rejoin: Option<Gather>,
}

impl StepExchange {
    /// Looks up the exchange around layers of so many experts; `None` for a single rank.
    pub(super) fn resolve(
        find: &Finder<'_>,
        experts: u32,
    ) -> Result<Option<StepExchange>, ModelError> {
        let parallelism = find.parallelism;
        if parallelism.dp < 2 {
            return Ok(None);
        }
        let divides = parallelism.divides_tokens();
        let ranks = if divides {
            parallelism.gpus()
        } else {
            parallelism.dp
        };
        let shape = GatherShape { ranks };
        let part = Part::Exchange;
        let gather = |shape| find.accept(part, Gather::all_gather(find.set, shape), Gather::class);
        let rejoin = || {
            gather(GatherShape {
                ranks: parallelism.tp,
            })
        };
        let scatter = Gather::reduce_scatter(find.set, shape);
        let hidden = f64::from(find.model.hidden);
        Ok(Some(StepExchange {
            gather: gather(shape)?,
            scatter: find.accept(part, scatter, Gather::class)?,
            gathered_bytes: ACTIVATION_BYTES * (hidden + f64::from(experts)),
            hidden_bytes: ACTIVATION_BYTES * hidden,
            rejoin: divides.then(rejoin).transpose()?,
        }))
    }

    /// Returns the errors of lookups of the all-gather.
    pub(super) fn errors(&self) -> ErrorGroup {
        self.gather.errors()
    }

    /// Returns the all-gather and the reduce-scatter of so many tokens of all ranks.
    pub(super) fn among_ranks(&self, tokens: f64) -> [KernelTime; 2] {
        [
            time(&self.gather, tokens * self.gathered_bytes),
            time(&self.scatter, tokens * self.hidden_bytes),
        ]
    }

    /// Returns the all-gather of so many tokens of the rank over its GPUs, if each of them routes a share.
    pub(super) fn within_rank(&self, tokens: f64) -> Option<KernelTime> {
        let rejoin = self.rejoin.as_ref()?;
        Some(time(rejoin, tokens * self.hidden_bytes))
    }
}

fn time(kernel: &Gather, bytes: f64) -> KernelTime {
    KernelTime::of(
        kernel.answer(bytes),
        &kernel.work(bytes),
        kernel.reference(),
    )
}
