//! Servers that differ from what the constants of an engine express.

use rooflut::step::Part;
use rooflut::step::{LatencyModel, StepBatch, StepModel};
use rooflut::units::Seconds;

/// Changes of a server beside those of the constants of its engine.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// Time of a part, as a multiple of the predicted one.
    pub part: fn(Part) -> f64,
    /// Time of a step with prompt tokens, as a multiple of the predicted one.
    pub prompts: f64,
    /// Least time of a step with prompt tokens.
    pub least_prompts: Seconds,
    /// Addition to the time of a request outside of the engine.
    pub request: Seconds,
    /// Addition to that for each token of its prompt.
    pub token: Seconds,
}

impl Moved {
    /// No changes.
    pub const NONE: Moved = Moved { part: |_| 1.0, prompts: 1.0, least_prompts: Seconds::ZERO, request: Seconds::ZERO, token: Seconds::ZERO };

    /// Returns the time of a step as a multiple of the predicted one.
    fn ratio<'b>(&self, model: &dyn StepModel, batches: impl Iterator<Item = StepBatch<'b>>) -> f64 {
        let (mut before, mut after) = (0.0, 0.0);
        for batch in batches {
            let prompts = if batch.prefill.is_empty() { 1.0 } else { self.prompts };
            for part in model.step_time(&batch).parts() {
                before += part.time.0;
                after += part.time.0 * (self.part)(part.part) * prompts;
            }
        }
        if before > 0.0 { after / before } else { 1.0 }
    }
}

/// A step model whose steps are changed.
pub(crate) struct MovedModel<'m>(pub(crate) &'m dyn StepModel, pub(crate) &'m Moved);

impl LatencyModel for MovedModel<'_> {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        if self.1.least_prompts > Seconds::ZERO {
            let time = self.0.total_time(batch);
            return if batch.prefill.is_empty() { time } else { time.max(self.1.least_prompts) };
        }
        self.0.total_time(batch) * self.1.ratio(self.0, std::iter::once(*batch))
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        if self.1.least_prompts > Seconds::ZERO {
            let has_prompts = std::cell::Cell::new(false);
            let time = self.0.lockstep_time(&mut ranks.inspect(|batch| {
                has_prompts.set(has_prompts.get() || !batch.prefill.is_empty());
            }));
            return if has_prompts.get() { time.max(self.1.least_prompts) } else { time };
        }
        let ratio = std::cell::Cell::new((0.0, 0.0_f64));
        let time = self.0.lockstep_time(&mut ranks.inspect(|batch| {
            let (sum, count) = ratio.get();
            if !batch.is_empty() {
                ratio.set((sum + self.1.ratio(self.0, std::iter::once(*batch)), count + 1.0));
            }
        }));
        let (sum, count) = ratio.get();
        if count > 0.0 { time * (sum / count) } else { time }
    }
}
