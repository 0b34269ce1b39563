//! The step model with tabulated times.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::batch::BatchSums;
use super::lockstep::CountedTimes;
use super::{Chunk, DecodeGroup, LatencyModel, RooflineModel, StepBatch, StepModel, StepTime};
use crate::units::Seconds;

/// A [`RooflineModel`] with tabulated times. The times that depend only on the number of tokens and of sampled rows
/// are tabulated up to a limit, so a step looks up attention alone. The simulator uses it because it needs many
/// totals.
///
/// Answers equal the answers of the underlying model to the bit, even beyond the limit.
///
/// ```
/// use rooflut::model;
/// use rooflut::step::{
///     DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions,
///     TabulatedModel,
/// };
/// use rooflut::table::sets;
///
/// let llama = model::find("llama-3.1-8b").unwrap().spec;
/// let model = RooflineModel::try_new(
///     &llama, &sets::H100, Parallelism::SINGLE, StepOptions::default(),
/// )?;
/// let decode = [DecodeGroup::uniform(64, 1_000)?];
/// let batch = StepBatch { prefill: &[], decode: &decode };
/// let tabulated = TabulatedModel::new(model, 2_048);
/// let exact = tabulated.model().step_time(&batch).total();
/// assert_eq!(tabulated.total_time(&batch), exact);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TabulatedModel {
    model: RooflineModel,
    counts: Vec<OfCount>,
    /// The pipeline stages after this one.
    following: Vec<TabulatedModel>,
    /// Times of data-parallel ranks by a count; empty for a single rank.
    of_ranks: Vec<OfRanks>,
}

/// Times of data-parallel ranks that depend on a count alone.
#[derive(Debug, Clone, Copy)]
struct OfRanks {
    /// The parts of so many tokens of a rank in which no other rank takes part.
    own: Seconds,
    /// The exchange of so many tokens of all ranks.
    exchange: Seconds,
    /// The experts over so many tokens of all ranks.
    experts: Seconds,
}

/// Times that depend on a count alone.
#[derive(Debug, Clone, Copy)]
struct OfCount {
    /// All parts that depend on the tokens, of a step with this number.
    tokens: Seconds,
    /// lm_head and sampling of this number of rows.
    rows: [Seconds; 2],
}

impl TabulatedModel {
    /// Tabulates step times for 0 to `max_tokens` tokens; each entry costs about one `step_time` call.
    pub fn new(model: RooflineModel, max_tokens: u32) -> TabulatedModel {
        let of_count = |count| OfCount { tokens: of_tokens(&model, count), rows: of_rows(&model, count) };
        let counts = 0..=u64::from(max_tokens);
        let following = model.following.iter();
        TabulatedModel {
            following: following.map(|stage| TabulatedModel::new(stage.clone(), max_tokens)).collect(),
            of_ranks: of_ranks(&model, counts.clone()),
            counts: counts.map(of_count).collect(),
            model,
        }
    }

    /// Returns the maximum number of tokens that is tabulated.
    pub fn max_tokens(&self) -> u32 {
        self.counts.len().saturating_sub(1) as u32
    }

    /// Returns the underlying model.
    pub fn model(&self) -> &RooflineModel {
        &self.model
    }

    /// Returns this pipeline stage and those after it.
    pub(super) fn stages(&self) -> impl Iterator<Item = &TabulatedModel> {
        core::iter::once(self).chain(&self.following)
    }

    /// Returns the total of a step, or `None` beyond the limit.
    #[inline]
    fn tabulated(&self, prefill: &[Chunk], sums: &BatchSums) -> Option<Seconds> {
        let first = self.tabulated_stage(prefill, sums);
        if self.following.is_empty() {
            return first;
        }
        self.with_following(first?, prefill, sums)
    }

    /// Returns the total of a step that takes `first` in the first stage, or `None` beyond the limit.
    #[cold] // Most models have one stage.
    fn with_following(&self, first: Seconds, prefill: &[Chunk], sums: &BatchSums) -> Option<Seconds> {
        let mut following = self.following.iter();
        following.try_fold(first, |total, stage| Some(total + stage.tabulated_stage(prefill, sums)?))
    }

    /// Returns the time of a step in this pipeline stage, or `None` beyond the limit.
    #[inline]
    fn tabulated_stage(&self, prefill: &[Chunk], sums: &BatchSums) -> Option<Seconds> {
        if sums.tokens == 0 {
            return Some(Seconds::ZERO);
        }
        let attention = || {
            let prefill = self.model.prefill_attention(prefill).map(|all| all.time);
            [prefill, self.model.decode_attention_time(sums)]
        };
        self.sum(sums, attention, || self.model.host(prefill, sums))
    }

    /// Returns the time of a step in this pipeline stage with this time of its attention, of prompt chunks and of
    /// decoding requests, and of the host, or `None` beyond the limit.
    #[inline]
    pub(super) fn sum(
        &self,
        sums: &BatchSums,
        attention: impl FnOnce() -> [Option<Seconds>; 2],
        host: impl FnOnce() -> Seconds,
    ) -> Option<Seconds> {
        let OfCount { tokens, .. } = *self.counts.get(sums.tokens as usize)?;
        let OfCount { rows, .. } = *self.counts.get(sums.rows as usize)?;
        // In the order in which the model adds up its parts.
        let mut total = tokens;
        for all in attention().into_iter().flatten() {
            total += all;
        }
        for once in rows {
            total += once;
        }
        Some(total + host())
    }
}

impl LatencyModel for TabulatedModel {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        let tabulated = self.tabulated(batch.prefill, &self.model.sampled(batch.sums()));
        tabulated.unwrap_or_else(|| self.model.total_time(batch))
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        self.model.lockstep(ranks, self)
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        let sums = batch.sums();
        for stage in self.stages() {
            let tabulated = stage.tabulated_stage(batch.prefill, &sums);
            run(tabulated.unwrap_or_else(|| stage.model.stage_time(batch).total()));
        }
    }

    #[inline]
    fn decode_time(&self, decode: DecodeGroup) -> Seconds {
        let tabulated = self.tabulated(&[], &self.model.sampled(decode.into()));
        tabulated.unwrap_or_else(|| self.model.decode_time(decode))
    }
}

impl StepModel for TabulatedModel {
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        self.model.step_time(batch)
    }
}

fn of_tokens(model: &RooflineModel, tokens: u64) -> Seconds {
    let mut step = StepTime::ZERO;
    if tokens > 0 {
        model.add_tokens(&mut step, tokens);
    }
    step.total()
}

fn of_rows(model: &RooflineModel, rows: u64) -> [Seconds; 2] {
    let parts = model.sampling(rows);
    parts.map_or([Seconds::ZERO; 2], |parts| parts.map(|(_, once)| once.time))
}

fn of_ranks(model: &RooflineModel, counts: RangeInclusive<u64>) -> Vec<OfRanks> {
    let of_count = |count: u64| OfRanks {
        own: model.of_tokens(count),
        exchange: model.of_exchange(count),
        experts: model.of_experts(count),
    };
    if model.shares_experts() { counts.map(|count| of_count(count.max(1))).collect() } else { Vec::new() }
}

impl CountedTimes for TabulatedModel {
    fn of_tokens(&self, tokens: u64) -> Seconds {
        match self.of_ranks.get(tokens as usize) {
            Some(of) => of.own,
            None => self.model.of_tokens(tokens),
        }
    }

    fn of_rows(&self, rows: u64) -> Seconds {
        match self.counts.get(rows as usize) {
            Some(of) => of.rows.into_iter().sum(),
            None => self.model.of_rows(rows),
        }
    }

    fn of_exchange(&self, tokens: u64) -> Seconds {
        match self.of_ranks.get(tokens as usize) {
            Some(of) => of.exchange,
            None => self.model.of_exchange(tokens),
        }
    }

    fn of_experts(&self, tokens: u64) -> Seconds {
        match self.of_ranks.get(tokens as usize) {
            Some(of) => of.experts,
            None => self.model.of_experts(tokens),
        }
    }
}
