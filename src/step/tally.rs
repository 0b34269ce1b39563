//! Sources of the time of many steps, at the cost of one attention lookup per step.

use alloc::vec;
use alloc::vec::Vec;

use super::batch::BatchSums;
use super::kernel_time::KernelTime;
use super::{Binding, Part, StepBatch, StepTime, TabulatedModel, TimeSource, TimeSources};
use crate::table::Provenance;
use crate::units::Seconds;

/// Adds up the sources of the step times of a [`TabulatedModel`].
///
/// A tally counts steps by tokens and by sampled rows and sums the time of attention, so that
/// [`sources`](Tally::sources) computes the other parts once for each count. [`add`](Tally::add) costs an attention
/// lookup and does not allocate. A tally is an [`Observer`](crate::sim::Observer) of simulated servers (feature
/// `sim`).
///
/// ```
/// use rooflut::model;
/// use rooflut::step::{
///     DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepOptions, TabulatedModel,
///     Tally,
/// };
/// use rooflut::table::sets;
///
/// let llama = model::find("llama-3.1-8b").unwrap().spec;
/// let model = RooflineModel::try_new(
///     &llama, &sets::H100, Parallelism::SINGLE, StepOptions::default(),
/// )?;
/// let model = TabulatedModel::new(model, 2_048);
/// let decode = [DecodeGroup::uniform(64, 1_000)?];
/// let batch = StepBatch { prefill: &[], decode: &decode };
/// let mut tally = Tally::new(&model);
/// tally.add(&batch);
/// assert_eq!(tally.steps(), 1);
/// let difference = tally.sources().total().0 - model.total_time(&batch).0;
/// assert!(difference.abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tally<'m> {
    model: &'m TabulatedModel,
    /// Whether steps are counted, and nothing is looked up.
    counts_only: bool,
    steps_of_tokens: Vec<u64>,
    steps_of_rows: Vec<u64>,
    steps: u64,
    /// Wait for the host, seconds.
    host_s: f64,
    prefill: AttentionTally,
    decode: AttentionTally,
    /// Steps above the tabulated number of tokens.
    others: TimeSources,
    /// Steps of the pipeline stages after this one.
    following: Vec<Tally<'m>>,
}

/// Time of attention by provenance and binding.
#[derive(Debug, Clone, Default)]
struct AttentionTally {
    seconds: [[f64; Binding::ALL.len()]; Provenance::COUNT],
}

impl<'m> Tally<'m> {
    /// Creates an empty tally.
    pub fn new(model: &'m TabulatedModel) -> Tally<'m> {
        let counts = model.max_tokens() as usize + 1;
        Tally {
            following: model.stages().skip(1).map(Tally::new).collect(),
            model,
            counts_only: false,
            steps_of_tokens: vec![0; counts],
            steps_of_rows: vec![0; counts],
            steps: 0,
            host_s: 0.0,
            prefill: AttentionTally::default(),
            decode: AttentionTally::default(),
            others: TimeSources::default(),
        }
    }

    /// Leaves attention and the host out: the sources are those of the other parts, and [`add`](Tally::add) looks up
    /// nothing.
    #[must_use]
    pub fn without_attention(self) -> Tally<'m> {
        let following = self.following.into_iter();
        Tally {
            counts_only: true,
            following: following.map(Tally::without_attention).collect(),
            ..self
        }
    }

    /// Adds one step. An empty batch takes no time and adds none.
    pub fn add(&mut self, batch: &StepBatch<'_>) {
        for stage in &mut self.following {
            stage.add(batch);
        }
        self.steps += 1;
        let sums = self.model.model().sampled(batch.sums());
        if sums.tokens == 0 {
            return;
        }
        let (Some(of_tokens), Some(of_rows)) = (
            self.steps_of_tokens.get_mut(sums.tokens as usize),
            self.steps_of_rows.get_mut(sums.rows as usize),
        ) else {
            return self.add_other(batch, &sums);
        };
        *of_tokens += 1;
        if sums.rows > 0 {
            *of_rows += 1;
        }
        if self.counts_only {
            return;
        }
        let model = self.model.model();
        self.prefill.add(model.prefill_attention(batch.prefill));
        self.decode.add(model.decode_attention(&sums));
        self.host_s += model.host(batch.prefill, &sums).0;
    }

    #[cold]
    fn add_other(&mut self, batch: &StepBatch<'_>, sums: &BatchSums) {
        if !self.counts_only {
            return self.others.add(&self.model.model().stage_time(batch));
        }
        self.others.add(&self.of_tokens(sums.tokens));
        self.others.add(&self.of_rows(sums.rows));
    }

    /// Returns the parts of a step with so many tokens that depend on their number alone.
    fn of_tokens(&self, tokens: u64) -> StepTime {
        let mut step = StepTime::ZERO;
        self.model.model().add_tokens(&mut step, tokens);
        step
    }

    /// Returns lm_head and sampling of so many rows.
    fn of_rows(&self, rows: u64) -> StepTime {
        let mut step = StepTime::ZERO;
        for (part, once) in self.model.model().sampling(rows).into_iter().flatten() {
            step.add_kernel(part, once);
        }
        step
    }

    /// Returns the number of steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the sources of the time of all steps.
    pub fn sources(&self) -> TimeSources {
        let mut sources = self.others;
        for (tokens, &count) in (0_u64..).zip(&self.steps_of_tokens) {
            if count > 0 {
                sources.add_times(&self.of_tokens(tokens), count);
            }
        }
        for (rows, &count) in (0_u64..).zip(&self.steps_of_rows) {
            if count > 0 {
                sources.add_times(&self.of_rows(rows), count);
            }
        }
        self.prefill.add_to(&mut sources, Part::PrefillAttention);
        self.decode.add_to(&mut sources, Part::DecodeAttention);
        if self.host_s > 0.0 {
            let mut step = StepTime::ZERO;
            let host = Seconds(self.host_s);
            step.add(Part::Host, host, Binding::Latency, TimeSource::FITTED);
            sources.add(&step);
        }
        let following = self.following.iter().map(Tally::sources);
        following.fold(sources, |all, stage| all.plus(&stage))
    }
}

impl AttentionTally {
    #[inline]
    fn add(&mut self, once: Option<KernelTime>) {
        let Some(once) = once else {
            return;
        };
        // Attention is always looked up.
        let Some(provenance) = once.source().provenance() else {
            debug_assert!(false, "attention is not looked up");
            return;
        };
        let by_binding = self.seconds.get_mut(provenance.index());
        if let Some(slot) = by_binding.and_then(|slots| slots.get_mut(once.binding as usize)) {
            *slot += once.time.0;
        }
    }

    fn add_to(&self, sources: &mut TimeSources, part: Part) {
        for (provenance, by_binding) in Provenance::all().zip(&self.seconds) {
            for (binding, &seconds) in Binding::ALL.into_iter().zip(by_binding) {
                if seconds > 0.0 {
                    let mut step = StepTime::ZERO;
                    step.add(part, Seconds(seconds), binding, provenance.into());
                    sources.add(&step);
                }
            }
        }
    }
}
