//! All-reduces inside a step.

use super::kernel_time::KernelTime;
use crate::engine::StepConstants;
use crate::op::AllReduce;
use crate::table::ErrorGroup;
use crate::units::Seconds;

/// Bytes of a 16-bit activation.
pub(super) const ACTIVATION_BYTES: f64 = 2.0;

/// An all-reduce between the other kernels of a layer.
///
/// The ranks of a benchmark that repeats one kernel arrive together. Those of a layer do not: each waits for the
/// slowest. Its messages are not in the cache either: the time grows more with the size than in the benchmark, up to
/// the message of the largest CUDA graph. Larger messages take as much longer as that one; no measured server has any.
#[derive(Debug, Clone)]
pub(super) struct StepAllReduce {
    kernel: AllReduce,
    bytes_per_token: f64,
    /// Time of the smallest message, seconds.
    floor_s: f64,
    /// Growth of the time from there to the message of the largest CUDA graph, seconds.
    most_grown_s: f64,
    wait_s: f64,
    growth: f64,
}

impl StepAllReduce {
    /// Creates the time of `kernel` inside the steps of an engine, for hidden states of this width.
    pub(super) fn new(kernel: AllReduce, engine: &StepConstants, hidden: u32) -> StepAllReduce {
        let bytes_per_token = f64::from(hidden) * ACTIVATION_BYTES;
        let graph = f64::from(engine.cuda_graph_max_tokens.max(1)) * bytes_per_token;
        let table = |bytes| {
            KernelTime::of(
                kernel.answer(bytes),
                &kernel.work(bytes),
                kernel.reference(),
            )
        };
        let [floor_s, graph_s] = [1.0, graph].map(|bytes| table(bytes).time.0);
        StepAllReduce {
            bytes_per_token,
            floor_s,
            most_grown_s: (graph_s - floor_s).max(0.0),
            wait_s: engine.all_reduce_wait.0,
            growth: engine.all_reduce_growth,
            kernel,
        }
    }

    /// Returns the errors of lookups of the all-reduce.
    pub(super) fn errors(&self) -> ErrorGroup {
        self.kernel.errors()
    }

    /// Returns the time of the hidden states of `tokens` tokens: that of the table, whose growth with the size is larger
    /// in a step, and the wait.
    pub(super) fn at(&self, tokens: f64) -> KernelTime {
        let bytes = tokens * self.bytes_per_token;
        let (kernel, work) = (&self.kernel, self.kernel.work(bytes));
        let table = KernelTime::of(kernel.answer(bytes), &work, kernel.reference());
        let grown_s = (table.time.0 - self.floor_s).clamp(0.0, self.most_grown_s);
        table.plus_fitted(Seconds(self.wait_s + (self.growth - 1.0) * grown_s))
    }
}
