//! The exchange of tokens between data-parallel ranks, around the experts of a layer.

use super::Part;
use super::all_reduce::ACTIVATION_BYTES;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::ring::Ring;
use crate::error::{Error, ResolveError};
use crate::hardware::{GatherShape, OperationKind};
use crate::op::Gather;
use crate::table::{ErrorGroup, TableSet};

/// An all-gather of hidden states and router logits over the ranks, and a reduce-scatter of what the experts return.
///
/// Source: vLLM's default, `AgRsAll2AllManager` in `vllm/distributed/device_communicators/all2all.py`.
#[derive(Debug, Clone)]
pub(super) struct StepExchange {
    gather: StepGather,
    scatter: StepGather,
    gathered_bytes: f64,
    /// Bytes of a hidden state.
    hidden_bytes: f64,
    /// All-gather of the rank's own hidden states, where each of its GPUs routes a share of them.
    rejoin: Option<StepGather>,
}

/// An all-gather or a reduce-scatter.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // No box: a model lives without allocation.
enum StepGather {
    InNode(Gather),
    AcrossNodes(Ring),
}

impl StepExchange {
    /// Looks up the exchange around layers of so many experts; `None` for a single rank.
    pub(super) fn resolve(find: &Finder<'_>, experts: u32) -> Result<Option<StepExchange>, Error> {
        let parallelism = find.parallelism;
        if parallelism.dp < 2 {
            return Ok(None);
        }
        let (tp, gpus) = (parallelism.tp, parallelism.stage_gpus());
        let divides = parallelism.divides_tokens();
        let ranks = if divides { gpus } else { parallelism.dp };
        let all = [ranks, gpus];
        let rejoin = || StepGather::resolve(find, Gather::all_gather, [tp, tp]);
        let hidden = f64::from(find.model.hidden);
        Ok(Some(StepExchange {
            gather: StepGather::resolve(find, Gather::all_gather, all)?,
            scatter: StepGather::resolve(find, Gather::reduce_scatter, all)?,
            gathered_bytes: ACTIVATION_BYTES * (hidden + f64::from(experts)),
            hidden_bytes: ACTIVATION_BYTES * hidden,
            rejoin: divides.then(rejoin).transpose()?,
        }))
    }

    /// Returns the errors of lookups of the all-gather.
    pub(super) fn errors(&self) -> ErrorGroup {
        match &self.gather {
            StepGather::InNode(gather) => gather.errors(),
            StepGather::AcrossNodes(_) => ErrorGroup::UNKNOWN,
        }
    }

    /// Returns the all-gather and the reduce-scatter of so many tokens of all ranks.
    pub(super) fn among_ranks(&self, tokens: f64) -> [KernelTime; 2] {
        [self.gather.at(tokens * self.gathered_bytes), self.scatter.at(tokens * self.hidden_bytes)]
    }

    /// Returns the all-gather of so many tokens of the rank over its GPUs, if each of them routes a share.
    pub(super) fn within_rank(&self, tokens: f64) -> Option<KernelTime> {
        let rejoin = self.rejoin.as_ref()?;
        Some(rejoin.at(tokens * self.hidden_bytes))
    }
}

impl StepExchange {
    /// Returns the all-gather of so many tokens of all ranks.
    pub(super) fn gather_launch(&self, tokens: f64) -> Option<Launch> {
        self.gather.launch(OperationKind::AllGather, tokens * self.gathered_bytes)
    }

    /// Returns the reduce-scatter of so many tokens of all ranks.
    pub(super) fn scatter_launch(&self, tokens: f64) -> Option<Launch> {
        self.scatter.launch(OperationKind::ReduceScatter, tokens * self.hidden_bytes)
    }

    /// Returns the all-gather of so many tokens of the rank.
    pub(super) fn rejoin_launch(&self, tokens: f64) -> Option<Launch> {
        self.rejoin.as_ref()?.launch(OperationKind::AllGather, tokens * self.hidden_bytes)
    }
}

impl StepGather {
    /// Returns the kernel and its work; `None` across nodes.
    fn launch(&self, operation: OperationKind, bytes: f64) -> Option<Launch> {
        match self {
            StepGather::InNode(kernel) => Some(Launch::new(operation, kernel.shape(), kernel.work(bytes))),
            StepGather::AcrossNodes(_) => None,
        }
    }

    /// Looks up the kernel over `ranks` that are spread over `gpus` GPUs.
    fn resolve(
        find: &Finder<'_>,
        resolve: fn(&TableSet, GatherShape) -> Result<Gather, ResolveError>,
        [ranks, gpus]: [u32; 2],
    ) -> Result<StepGather, Error> {
        let part = Part::Exchange;
        if let Some(ring) = Ring::find(find, part, 1.0, [ranks, gpus])? {
            return Ok(StepGather::AcrossNodes(ring));
        }
        let kernel = find.accept(part, resolve(find.set, GatherShape { ranks }), Gather::class)?;
        Ok(StepGather::InNode(kernel))
    }

    fn at(&self, bytes: f64) -> KernelTime {
        match self {
            StepGather::InNode(kernel) => {
                let (answer, work) = (kernel.answer(bytes), kernel.work(bytes));
                KernelTime::of(answer, &work, kernel.reference())
            }
            StepGather::AcrossNodes(ring) => ring.at(bytes),
        }
    }
}
