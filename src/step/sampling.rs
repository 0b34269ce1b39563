//! Sampling inside a step.

use super::Binding;
use super::kernel_time::KernelTime;
use crate::engine::StepConstants;
use crate::hardware::Rates;
use crate::model::{ModelSpec, Sampler};
use crate::units::Seconds;

/// Bytes of a logit, which samplers store in 32 bits.
const LOGIT_BYTES: f64 = 4.0;
/// Memory traffic per logit of vLLM's penalties, bytes: tokens are counted in 64 bits for prompts and for outputs
/// (cleared, read and written as masks: 34), the logits are scaled (10), and the frequency and presence penalties are
/// subtracted though they are zero (24 and 17).
///
/// Source: `apply_penalties` in `vllm/model_executor/layers/utils.py` of vLLM 0.15.1.
const PENALTY_BYTES: f64 = 85.0;

/// The sampler of a model inside the steps of an engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepSampler {
    /// Time per step.
    step: Seconds,
    /// Time per sampled row.
    row: Seconds,
}

impl StepSampler {
    /// Creates the sampler of `model` on a GPU of these rates.
    ///
    /// Does not model: the lists of output tokens, which the host sends to the GPU in each step with penalties.
    pub(super) fn new(model: &ModelSpec, engine: &StepConstants, rates: &Rates) -> StepSampler {
        let (sort, sorted_logit) = match model.sampler {
            Sampler::Plain => (Seconds::ZERO, Seconds::ZERO),
            Sampler::TopP | Sampler::RepetitionPenalty => (engine.sort, engine.sorted_logit),
        };
        let (penalty, penalty_bytes) = match model.sampler {
            Sampler::Plain | Sampler::TopP => (Seconds::ZERO, 0.0),
            Sampler::RepetitionPenalty => (engine.penalty, PENALTY_BYTES),
        };
        let read = |bytes| Seconds(bytes * rates.s_per_byte);
        let logit = (engine.logit + sorted_logit).max(read(LOGIT_BYTES)) + read(penalty_bytes);
        StepSampler { step: sort + penalty, row: logit * f64::from(model.vocab) }
    }

    /// Returns the time of sampling `rows` rows, at least one.
    pub(super) fn rows(&self, rows: f64) -> KernelTime {
        KernelTime::fitted(self.step + self.row * rows, Binding::Memory)
    }
}
