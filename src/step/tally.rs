//! Sources of the time of many steps, at the cost of one attention lookup per step.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use super::batch::BatchSums;
use super::kernel_time::KernelTime;
use super::{
    Binding, Chunk, DecodeGroup, LatencyModel, Part, StepBatch, StepTime, TabulatedModel, TimeSource, TimeSources,
};
use crate::table::Provenance;
use crate::units::Seconds;

/// Adds up the sources of the step times of a [`TabulatedModel`].
///
/// A tally counts steps by tokens and by sampled rows, and sums the time of attention. [`sources`](Tally::sources) then
/// computes the other parts once for each count. [`add`](Tally::add) costs an attention lookup and does not allocate.
///
/// A tally is a [`LatencyModel`]: it answers as the tabulated model, to the bit, and adds each step whose time it
/// returns. A simulator that takes a tally in place of its model looks up attention once per step. It is also an
/// [`Observer`](crate::sim::Observer) of simulated servers (feature `sim`) with another model, at the cost of a second
/// lookup.
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
/// let tally = Tally::new(&model);
/// assert_eq!(tally.total_time(&batch), model.total_time(&batch));
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
    steps_of_tokens: Vec<Cell<u64>>,
    steps_of_rows: Vec<Cell<u64>>,
    steps: Cell<u64>,
    /// Wait for the host, seconds.
    host_s: Cell<f64>,
    prefill: AttentionTally,
    decode: AttentionTally,
    /// Steps above the tabulated number of tokens.
    others: Cell<TimeSources>,
    /// Steps of the pipeline stages after this one.
    following: Vec<Tally<'m>>,
}

/// Time of attention by provenance and binding.
#[derive(Debug, Clone, Default)]
struct AttentionTally {
    seconds: [[Cell<f64>; Binding::ALL.len()]; Provenance::COUNT],
}

impl<'m> Tally<'m> {
    /// Creates an empty tally.
    pub fn new(model: &'m TabulatedModel) -> Tally<'m> {
        let counts = model.max_tokens() as usize + 1;
        Tally {
            following: model.stages().skip(1).map(Tally::new).collect(),
            model,
            counts_only: false,
            steps_of_tokens: vec![Cell::new(0); counts],
            steps_of_rows: vec![Cell::new(0); counts],
            steps: Cell::new(0),
            host_s: Cell::new(0.0),
            prefill: AttentionTally::default(),
            decode: AttentionTally::default(),
            others: Cell::new(TimeSources::default()),
        }
    }

    /// Leaves out attention and the host: the sources cover the other parts, and [`add`](Tally::add) looks up nothing.
    #[must_use]
    pub fn without_attention(self) -> Tally<'m> {
        let following = self.following.into_iter();
        Tally { counts_only: true, following: following.map(Tally::without_attention).collect(), ..self }
    }

    /// Adds one step. An empty batch takes no time and adds none.
    pub fn add(&self, batch: &StepBatch<'_>) {
        for stage in self.stages() {
            if stage.counts_only {
                stage.count(batch);
            } else {
                stage.time_stage(batch);
            }
        }
    }

    /// Returns the tallies of this pipeline stage and those after it.
    #[inline]
    fn stages(&self) -> impl Iterator<Item = &Tally<'m>> {
        core::iter::once(self).chain(&self.following)
    }

    /// Adds one step of this pipeline stage and returns its time.
    fn time_stage(&self, batch: &StepBatch<'_>) -> Seconds {
        let sums = self.model.model().sampled(batch.sums());
        self.time_tabulated(batch.prefill, &sums).unwrap_or_else(|| self.time_other(batch))
    }

    /// Adds one step of this pipeline stage and returns its time; does nothing beyond the limit, and returns `None`.
    #[inline]
    fn time_tabulated(&self, prefill: &[Chunk], sums: &BatchSums) -> Option<Seconds> {
        let model = self.model.model();
        if sums.tokens == 0 {
            add_to(&self.steps, 1);
            return Some(Seconds::ZERO);
        }
        if !self.count_tabulated(sums) {
            return None;
        }
        let attention =
            || [self.prefill.add(model.prefill_attention(prefill)), self.decode.add(model.decode_attention(sums))];
        let host = || {
            let host = model.host(prefill, sums);
            self.host_s.set(self.host_s.get() + host.0);
            host
        };
        self.model.sum(sums, attention, host)
    }

    #[cold]
    fn time_other(&self, batch: &StepBatch<'_>) -> Seconds {
        add_to(&self.steps, 1);
        let step = self.model.model().stage_time(batch);
        self.add_other(&step);
        step.total()
    }

    /// Counts one step of this pipeline stage, and looks up nothing.
    fn count(&self, batch: &StepBatch<'_>) {
        let sums = self.model.model().sampled(batch.sums());
        if sums.tokens == 0 {
            add_to(&self.steps, 1);
        } else if !self.count_tabulated(&sums) {
            add_to(&self.steps, 1);
            self.add_other(&self.of_tokens(sums.tokens));
            self.add_other(&self.of_rows(sums.rows));
        }
    }

    /// Counts a step with these tokens and rows; does nothing beyond the limit, and returns false.
    #[inline]
    fn count_tabulated(&self, sums: &BatchSums) -> bool {
        let (Some(of_tokens), Some(of_rows)) =
            (self.steps_of_tokens.get(sums.tokens as usize), self.steps_of_rows.get(sums.rows as usize))
        else {
            return false;
        };
        add_to(&self.steps, 1);
        add_to(of_tokens, 1);
        add_to(of_rows, u64::from(sums.rows > 0));
        true
    }

    #[cold]
    fn add_other(&self, step: &StepTime) {
        let mut others = self.others.get();
        others.add(step);
        self.others.set(others);
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
        self.steps.get()
    }

    /// Returns the sources of the time of all steps.
    pub fn sources(&self) -> TimeSources {
        let mut sources = self.others.get();
        for (tokens, count) in (0_u64..).zip(&self.steps_of_tokens) {
            if count.get() > 0 {
                sources.add_times(&self.of_tokens(tokens), count.get());
            }
        }
        for (rows, count) in (0_u64..).zip(&self.steps_of_rows) {
            if count.get() > 0 {
                sources.add_times(&self.of_rows(rows), count.get());
            }
        }
        self.prefill.add_to(&mut sources, Part::PrefillAttention);
        self.decode.add_to(&mut sources, Part::DecodeAttention);
        if self.host_s.get() > 0.0 {
            let mut step = StepTime::ZERO;
            let host = Seconds(self.host_s.get());
            step.add(Part::Host, host, Binding::Latency, TimeSource::FITTED);
            sources.add(&step);
        }
        let following = self.following.iter().map(Tally::sources);
        following.fold(sources, |all, stage| all.plus(&stage))
    }
}

/// Adds `count` to a number of steps.
#[inline]
fn add_to(steps: &Cell<u64>, count: u64) {
    steps.set(steps.get() + count);
}

impl LatencyModel for Tally<'_> {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        let first = self.time_stage(batch);
        let following = self.following.iter();
        following.fold(first, |total, stage| total + stage.time_stage(batch))
    }

    #[inline]
    fn decode_time(&self, decode: DecodeGroup) -> Seconds {
        if self.following.is_empty() {
            let sums = self.model.model().sampled(decode.into());
            if let Some(time) = self.time_tabulated(&[], &sums) {
                return time;
            }
        }
        self.total_time(&StepBatch { prefill: &[], decode: &[decode] })
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        // Idle ranks run dummy batches, which count for no request.
        let add = |batch: &StepBatch<'_>| {
            if !batch.is_empty() {
                self.add(batch);
            }
        };
        self.model.lockstep_time(&mut ranks.inspect(add))
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        for stage in self.stages() {
            run(stage.time_stage(batch));
        }
    }
}

impl AttentionTally {
    /// Adds attention, if there is some, and returns its time.
    #[inline]
    fn add(&self, once: Option<KernelTime>) -> Option<Seconds> {
        let once = once?;
        let provenance = once.source().provenance();
        debug_assert!(provenance.is_some(), "attention is not looked up");
        let by_binding = provenance.and_then(|of| self.seconds.get(of.index()));
        if let Some(slot) = by_binding.and_then(|slots| slots.get(once.binding as usize)) {
            slot.set(slot.get() + once.time.0);
        }
        Some(once.time)
    }

    fn add_to(&self, sources: &mut TimeSources, part: Part) {
        for (provenance, by_binding) in Provenance::all().zip(&self.seconds) {
            for (binding, seconds) in Binding::ALL.into_iter().zip(by_binding) {
                if seconds.get() > 0.0 {
                    let mut step = StepTime::ZERO;
                    step.add(part, Seconds(seconds.get()), binding, provenance.into());
                    sources.add(&step);
                }
            }
        }
    }
}
