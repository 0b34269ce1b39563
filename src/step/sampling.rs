//! Sampling inside a step.

use super::Binding;
use super::kernel_time::KernelTime;
use crate::engine::StepConstants;
use crate::hardware::Rates;
use crate::model::{ModelSpec, Sampler};
use crate::units::Seconds;

/// Bytes of a logit, which samplers store in 32 bits.
const LOGIT_BYTES: f64 = 4.0;

/// The sampler of a model inside the steps of an engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepSampler {
    /// Time per step.
    step: Seconds,
    /// Time per sampled row.
    row: Seconds,
    /// Time per token of a sampled request, prompt and output.
    context_token: Seconds,
}

impl StepSampler {
    /// Creates the sampler of `model` on a GPU of these rates.
    pub(super) fn new(model: &ModelSpec, engine: &StepConstants, rates: &Rates) -> StepSampler {
        let (step, sorted_logit) = match model.sampler {
            Sampler::Plain => (Seconds::ZERO, Seconds::ZERO),
            Sampler::TopP | Sampler::RepetitionPenalty => (engine.sort, engine.sorted_logit),
        };
        let read = Seconds(LOGIT_BYTES * rates.s_per_byte);
        let logit = (engine.logit + sorted_logit).max(read);
        StepSampler {
            step,
            row: logit * f64::from(model.vocab),
            context_token: match model.sampler {
                Sampler::RepetitionPenalty => engine.penalized_token,
                Sampler::Plain | Sampler::TopP => Seconds::ZERO,
            },
        }
    }

    /// Returns the time of sampling `rows` rows, at least one.
    pub(super) fn rows(&self, rows: f64) -> KernelTime {
        KernelTime::fitted(self.step + self.row * rows, Binding::Memory)
    }

    /// Returns the time of penalties over the `context_tokens` of the sampled requests, zero without penalties.
    #[inline]
    pub(super) fn penalties(&self, context_tokens: u64) -> Seconds {
        self.context_token * context_tokens as f64
    }
}
