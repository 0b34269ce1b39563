//! All-reduces inside a step.

use super::Binding;
use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::ring::Ring;
use crate::engine::StepConstants;
use crate::hardware::OperationKind;
use crate::op::AllReduce;
use crate::table::ErrorGroup;
use crate::units::Seconds;

/// Bytes of a 16-bit activation.
pub(super) const ACTIVATION_BYTES: f64 = 2.0;

/// Bytes of the variances of a token's queries and keys.
const VARIANCE_BYTES: f64 = 8.0;

/// An all-reduce between the other kernels of a layer.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // No box: a model lives without allocation.
pub(super) enum StepAllReduce {
    InNode(NodeAllReduce),
    AcrossNodes { ring: Ring, bytes_per_token: f64 },
}

impl StepAllReduce {
    /// Returns the errors of lookups of the all-reduce.
    pub(super) fn errors(&self) -> ErrorGroup {
        match self {
            StepAllReduce::InNode(all_reduce) => all_reduce.kernel.errors(),
            StepAllReduce::AcrossNodes { .. } => ErrorGroup::UNKNOWN,
        }
    }

    /// Returns the time of the hidden states of `tokens` tokens.
    pub(super) fn at(&self, tokens: f64) -> KernelTime {
        match self {
            StepAllReduce::InNode(all_reduce) => all_reduce.at(tokens),
            StepAllReduce::AcrossNodes { ring, bytes_per_token } => ring.at(tokens * bytes_per_token),
        }
    }

    /// Returns the time of the variances of queries and keys of `tokens` tokens, which no norm is fused with.
    pub(super) fn of_variances(&self, tokens: f64) -> KernelTime {
        let bytes = tokens * VARIANCE_BYTES;
        match self {
            StepAllReduce::InNode(all_reduce) => all_reduce.unfused(bytes),
            StepAllReduce::AcrossNodes { ring, .. } => ring.at(bytes),
        }
    }

    /// Returns the all-reduce of the hidden states of `tokens` tokens; `None` across nodes.
    pub(super) fn launch(&self, tokens: f64) -> Option<Launch> {
        match self {
            StepAllReduce::InNode(all_reduce) => Some(all_reduce.launch(tokens * all_reduce.bytes_per_token)),
            StepAllReduce::AcrossNodes { .. } => None,
        }
    }

    /// Returns the all-reduce of the variances of `tokens` tokens; `None` across nodes.
    pub(super) fn launch_of_variances(&self, tokens: f64) -> Option<Launch> {
        match self {
            StepAllReduce::InNode(all_reduce) => Some(all_reduce.launch(tokens * VARIANCE_BYTES)),
            StepAllReduce::AcrossNodes { .. } => None,
        }
    }
}

/// An all-reduce over the ranks of a node.
///
/// The ranks of a benchmark that repeats one kernel arrive together. Those of a layer do not: each waits for the
/// slowest. Its messages are not in the cache either: the time grows more with the size than in the benchmark, up to
/// the message of the largest CUDA graph. Larger messages take as much longer as that one; no measured server has any.
#[derive(Debug, Clone)]
pub(super) struct NodeAllReduce {
    kernel: AllReduce,
    bytes_per_token: f64,
    /// Time of the smallest message, seconds.
    floor_s: f64,
    /// Growth of the time from there to the message of the largest CUDA graph, seconds.
    most_grown_s: f64,
    wait_s: f64,
    growth: f64,
    fused: Option<Fused>,
}

/// A one-shot all-reduce, fused with the norm after it: each rank sends its whole message to every other one.
#[derive(Debug, Clone, Copy)]
struct Fused {
    floor_s: f64,
    s_per_byte: f64,
}

impl NodeAllReduce {
    /// Creates the time of `kernel` inside the steps of an engine, for hidden states of this width.
    pub(super) fn new(kernel: AllReduce, engine: &StepConstants, hidden: u32) -> NodeAllReduce {
        let bytes_per_token = f64::from(hidden) * ACTIVATION_BYTES;
        let graph = f64::from(engine.cuda_graph_max_tokens.max(1)) * bytes_per_token;
        let table = |bytes| KernelTime::of(kernel.answer(bytes), &kernel.work(bytes), kernel.reference());
        let [floor_s, graph_s] = [1.0, graph].map(|bytes| table(bytes).time.0);
        NodeAllReduce {
            bytes_per_token,
            floor_s,
            most_grown_s: (graph_s - floor_s).max(0.0),
            wait_s: engine.all_reduce_wait.0,
            growth: engine.all_reduce_growth,
            fused: None,
            kernel,
        }
    }

    /// Fuses the all-reduces over `ranks` with the norms after them if the engine does.
    pub(super) fn fused(self, engine: &StepConstants, ranks: u32) -> NodeAllReduce {
        let floor_s = engine.fused_all_reduce.0;
        let s_per_link_byte = self.kernel.reference().rates.s_per_link_byte;
        let others = f64::from(ranks) - 1.0;
        let fused = Fused { floor_s, s_per_byte: others * s_per_link_byte / engine.fused_all_reduce_bandwidth };
        NodeAllReduce { fused: (floor_s > 0.0).then_some(fused), ..self }
    }

    /// Returns the time of the hidden states of `tokens` tokens: that of the table, whose growth with the size is
    /// larger in a step, and the wait; or that of the fused kernel where it is shorter.
    fn at(&self, tokens: f64) -> KernelTime {
        let bytes = tokens * self.bytes_per_token;
        let unfused = self.unfused(bytes);
        match self.fused.map(|fused| fused.floor_s + fused.s_per_byte * bytes) {
            Some(fused_s) if fused_s < unfused.time.0 => {
                let fused = Seconds(fused_s.max(unfused.bound.0));
                KernelTime::fitted(fused, Binding::Link).with_bound(unfused.bound)
            }
            _ => unfused,
        }
    }

    fn launch(&self, bytes: f64) -> Launch {
        Launch::new(OperationKind::AllReduce, self.kernel.shape(), self.kernel.work(bytes))
    }

    /// Returns the time of a message of this many bytes that is not fused with a norm.
    fn unfused(&self, bytes: f64) -> KernelTime {
        let (kernel, work) = (&self.kernel, self.kernel.work(bytes));
        let table = KernelTime::of(kernel.answer(bytes), &work, kernel.reference());
        let grown_s = (table.time.0 - self.floor_s).clamp(0.0, self.most_grown_s);
        table.plus_fitted(Seconds(self.wait_s + (self.growth - 1.0) * grown_s))
    }
}
