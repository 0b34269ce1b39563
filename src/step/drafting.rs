//! Speculative decoding: the time of the draft model in a step.

use super::time::longer;
use super::{DecodeGroup, LatencyModel, StepBatch, StepModel, StepTime};
use crate::units::Seconds;

/// A model with speculative decoding: after each step, a draft model on the same GPUs proposes tokens. The next step
/// verifies the proposed tokens.
///
/// The draft model first processes the tokens of the step (the chunks of prompts, and the last sampled token of each
/// decoding request), then it runs once for each further drafted token, over all requests that sampled. This makes k
/// runs for k drafted tokens, and one run for a step that only contains parts of prompts.
///
/// An MTP layer or an EAGLE-3 head ([`with_mtp`](Self::with_mtp)) runs as often. Its first run covers all tokens of the
/// step, including rejected drafts, because the layer reads the hidden states of the target.
///
/// Assumes: a draft model keeps the KV entries of its own drafts, so it processes no token twice; its runs follow each
/// other and the target's step without a gap; tokens are also drafted for requests that have just ended; drafts are
/// sampled greedily, so `draft` has a [`Sampler::Plain`](crate::model::Sampler::Plain), as in a `Deployment`; runs of
/// data-parallel ranks over an MTP layer take as long as if all of them had the longest one.
///
/// Does not model: the further runs over requests of which the step has a part of the prompt, but not the last.
///
/// ```
/// use rooflut::model;
/// use rooflut::step::{
///     DecodeGroup, Drafting, LatencyModel, Parallelism, RooflineModel, StepBatch, StepOptions,
/// };
/// use rooflut::table::sets;
///
/// let on_h100 = |name| {
///     let spec = model::find(name).unwrap().spec;
///     RooflineModel::try_new(&spec, &sets::H100, Parallelism::SINGLE, StepOptions::default())
/// };
/// let (target, draft) = (on_h100("qwen3-14b")?, on_h100("llama-3.1-8b")?);
/// let batch = StepBatch {
///     prefill: &[],
///     decode: &[DecodeGroup::uniform(8, 1_000)?.with_drafted(3)?],
/// };
/// let both = Drafting::new(&target, &draft, 3).total_time(&batch);
/// assert!(both > target.total_time(&batch) * 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Drafting<T, D> {
    target: T,
    draft: D,
    /// The first run if it has other kernels than the further ones.
    first: Option<D>,
    draft_tokens: u32,
    reads: Reads,
}

/// Tokens of the decoding requests that the first run of a draft model processes.
#[derive(Debug, Clone, Copy)]
enum Reads {
    Sampled,
    All,
}

impl<T: LatencyModel, D: LatencyModel> Drafting<T, D> {
    /// Creates a model in which the draft model `draft` proposes `draft_tokens` tokens for `target`.
    pub const fn new(target: T, draft: D, draft_tokens: u32) -> Drafting<T, D> {
        Drafting { target, draft, first: None, draft_tokens, reads: Reads::Sampled }
    }

    /// Creates a model in which an MTP layer of `target`, [`RooflineModel::try_new_mtp`](super::RooflineModel::try_new_mtp),
    /// proposes `draft_tokens` tokens.
    pub const fn with_mtp(target: T, layer: D, draft_tokens: u32) -> Drafting<T, D> {
        Drafting { target, draft: layer, first: None, draft_tokens, reads: Reads::All }
    }

    /// Sets the model of the first run after each step, `fc` of an EAGLE-3 head included
    /// ([`RooflineModel::try_new_first_run`](super::RooflineModel::try_new_first_run)).
    #[must_use]
    pub fn with_first_run(self, first: impl Into<Option<D>>) -> Drafting<T, D> {
        Drafting { first: first.into(), ..self }
    }

    /// Calls `run` with the model and the batch of each run of the draft model after a step of the target, in order.
    pub fn draft_runs(&self, batch: &StepBatch<'_>, mut run: impl FnMut(&D, &StepBatch<'_>)) {
        if self.draft_tokens == 0 || batch.is_empty() {
            return;
        }
        let read = [DecodeGroup {
            requests: u32::try_from(batch.decode_requests()).unwrap_or(u32::MAX),
            kv_tokens: batch.decode_kv_tokens(),
            drafted: 0,
            // The draft's windows are its own: they hold what the mean length leaves.
            outside_tokens: 0,
        }];
        let step = StepBatch {
            prefill: batch.prefill,
            decode: match self.reads {
                Reads::All => batch.decode,
                Reads::Sampled if read[0].requests == 0 => &[],
                Reads::Sampled => &read,
            },
        };
        run(self.first.as_ref().unwrap_or(&self.draft), &step);
        let mut drafting = sampling(batch, read[0]);
        if drafting.requests == 0 {
            return;
        }
        for _ in 1..self.draft_tokens {
            drafting.kv_tokens = drafting.kv_tokens.saturating_add(drafting.requests.into());
            run(&self.draft, &StepBatch { prefill: &[], decode: &[drafting] });
        }
    }
}

/// Returns the requests that sample a token in the step: those that decode, and those whose prompt is complete.
fn sampling(batch: &StepBatch<'_>, decode: DecodeGroup) -> DecodeGroup {
    let chunks = batch.prefill.iter().filter(|chunk| chunk.last);
    chunks.fold(decode, |group, chunk| DecodeGroup {
        requests: group.requests.saturating_add(1),
        kv_tokens: group.kv_tokens.saturating_add(u64::from(chunk.kv_len)),
        ..group
    })
}

impl<T: LatencyModel, D: LatencyModel> LatencyModel for Drafting<T, D> {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        let mut total = self.target.total_time(batch);
        self.draft_runs(batch, |draft, run| total += draft.total_time(run));
        total
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        let mut longest = Seconds::ZERO;
        let target = self.target.lockstep_time(&mut ranks.inspect(|batch| {
            let mut drafts = Seconds::ZERO;
            self.draft_runs(batch, |draft, run| drafts += draft.total_time(run));
            longest = longer(longest, drafts);
        }));
        target + longest
    }
}

impl<T: StepModel, D: StepModel> StepModel for Drafting<T, D> {
    /// Returns the parts of both models, added up by name.
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        let mut step = self.target.step_time(batch);
        self.draft_runs(batch, |draft, run| step.add_all(&draft.step_time(run)));
        step
    }
}
