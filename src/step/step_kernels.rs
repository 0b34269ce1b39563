//! The list of the kernels of a step.

use alloc::vec::Vec;

use super::kernel_time::KernelTime;
use super::launch::{Launch, Sink};
use super::{Binding, Part, RooflineModel, StepBatch, TimeSource};
use crate::hardware::operation::Codes;
use crate::hardware::{OperationKind, Work};
use crate::units::Seconds;

/// A kernel of a step, over all layers that run it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepKernel {
    /// The part of the step that the kernel belongs to.
    pub part: Part,
    /// The operation and the shape on one rank; `None` for kernels without tables.
    pub operation: Option<(OperationKind, Codes)>,
    /// Number of calls.
    pub calls: f64,
    /// Time that all calls add to the step. Of kernels that run beside others, such as shared experts, a part is hidden
    /// behind these and does not count.
    pub time: Seconds,
    /// Compulsory work of all calls on one GPU; `None` if it is not known. FLOPs of small kernels are not counted.
    pub work: Option<Work>,
    /// The resource that limits its speed.
    pub binding: Binding,
    /// The source of its time.
    pub source: TimeSource,
}

impl Sink for Vec<StepKernel> {
    fn run(&mut self, part: Part, calls: f64, once: KernelTime, launch: impl FnOnce() -> Option<Launch>) {
        let launch = launch();
        self.push(StepKernel {
            part,
            operation: launch.and_then(|launch| launch.operation),
            calls,
            time: once.time * calls,
            work: launch.map(|launch| launch.work * calls),
            binding: once.binding,
            source: once.source(),
        });
    }
}

impl RooflineModel {
    /// Returns the kernels of a step, those of all pipeline stages. The times of a part's kernels add up to the time of
    /// the part, up to rounding. Allocates.
    ///
    /// Work counts padded tokens, and of experts those that tokens reach on average.
    ///
    /// ```
    /// use rooflut::model;
    /// use rooflut::step::{DecodeGroup, Parallelism, Part, RooflineModel, StepBatch, StepOptions};
    /// use rooflut::table::sets;
    ///
    /// let llama = model::find("llama-3.1-8b").unwrap().spec;
    /// let (single, options) = (Parallelism::SINGLE, StepOptions::default());
    /// let step = RooflineModel::try_new(&llama, &sets::H100, single, options)?;
    /// let decode = [DecodeGroup::uniform(64, 1_000)?];
    /// let kernels = step.step_kernels(&StepBatch { prefill: &[], decode: &decode });
    /// let down = kernels.iter().find(|kernel| kernel.part == Part::Down).unwrap();
    /// assert_eq!(down.work.unwrap().flops, 32.0 * 2.0 * 64.0 * 14_336.0 * 4_096.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step_kernels(&self, batch: &StepBatch<'_>) -> Vec<StepKernel> {
        let mut kernels = Vec::new();
        if !batch.is_empty() {
            for stage in self.stages() {
                stage.add_kernels(&mut kernels, batch);
            }
        }
        kernels
    }

    /// Adds what [`stage_time`](Self::stage_time) adds up.
    fn add_kernels(&self, kernels: &mut Vec<StepKernel>, batch: &StepBatch<'_>) {
        let sums = self.sampled(batch.sums());
        self.add_tokens(kernels, sums.tokens);
        self.kernels.attention.each(|layers, attention| {
            if !batch.prefill.is_empty() {
                attention.each_prefill(batch.prefill, |once, launch| {
                    kernels.run(Part::PrefillAttention, layers, once, || Some(launch));
                });
            }
            if sums.requests > 0 {
                attention.each_decode(&sums, |once, launch| {
                    kernels.run(Part::DecodeAttention, layers, once, || Some(launch));
                });
            }
        });
        for (part, once) in self.sampling(sums.rows).into_iter().flatten() {
            let lm_head = || Launch::of_gemm(&self.kernels.lm_head, sums.rows as f64);
            kernels.run(part, 1.0, once, || (part == Part::LmHead).then(lm_head));
        }
        let host = self.host(batch.prefill, &sums);
        if host > Seconds::ZERO {
            kernels.run(Part::Host, 1.0, KernelTime::fitted(host, Binding::Latency), || None);
        }
    }
}
