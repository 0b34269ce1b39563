//! Where the time of many steps went, without a look at every part of every step.

use alloc::vec::Vec;
use core::cell::Cell;

use super::{
    DecodeGroup, LatencyModel, Part, StepBatch, StepTime, TabulatedModel, TimeSource, TimeSources,
};
use crate::op::OpTime;
use crate::table::Provenance;
use crate::units::Seconds;

/// A [`TabulatedModel`] that remembers what it was asked for.
///
/// Steps are counted by tokens and by sampled rows, and the time of attention is added up: the parts of
/// a step are worked out once for each count, at the end.
#[derive(Debug, Clone)]
pub struct Tally<'m> {
    model: &'m TabulatedModel,
    steps_of_tokens: Vec<Cell<u64>>,
    steps_of_rows: Vec<Cell<u64>>,
    steps: Cell<u64>,
    prefill: AttentionTally,
    decode: AttentionTally,
    /// Steps beyond what is worked out beforehand.
    others: Cell<TimeSources>,
}

/// Time of attention by provenance (its index), and by what bound it.
#[derive(Debug, Clone, Default)]
struct AttentionTally {
    seconds: [[Cell<f64>; crate::op::Binding::ALL.len()]; Provenance::COUNT],
}

impl<'m> Tally<'m> {
    /// Nothing asked for yet.
    pub fn new(model: &'m TabulatedModel) -> Tally<'m> {
        let zeros = || (0..=model.most_tokens()).map(|_| Cell::new(0)).collect();
        Tally {
            model,
            steps_of_tokens: zeros(),
            steps_of_rows: zeros(),
            steps: Cell::new(0),
            prefill: AttentionTally::default(),
            decode: AttentionTally::default(),
            others: Cell::default(),
        }
    }

    /// How many steps it was asked for.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Where the time of all steps went.
    pub fn sources(&self) -> TimeSources {
        let mut sources = self.others.get();
        for (tokens, count) in (0_u64..).zip(&self.steps_of_tokens) {
            if count.get() > 0 {
                let mut step = StepTime::ZERO;
                self.model.model().add_tokens(&mut step, tokens);
                sources.add_times(&step, count.get());
            }
        }
        for (rows, count) in (0_u64..).zip(&self.steps_of_rows) {
            if count.get() > 0 {
                let mut step = StepTime::ZERO;
                for (part, once) in self.model.model().sampling(rows).into_iter().flatten() {
                    step.add(part, once.time, once.binding, once.source);
                }
                sources.add_times(&step, count.get());
            }
        }
        self.prefill.add_to(&mut sources, Part::PrefillAttention);
        self.decode.add_to(&mut sources, Part::DecodeAttention);
        if let Some(host) = self.model.model().host() {
            let mut step = StepTime::ZERO;
            step.add(Part::Host, host.time, host.binding, host.source);
            let counted: u64 = self.steps_of_tokens.iter().map(Cell::get).sum();
            sources.add_times(&step, counted);
        }
        sources
    }

    /// Counts a step and answers its time.
    #[inline]
    fn count(&self, tokens: u64, attention: [Option<OpTime>; 2], rows: u64) -> Option<Seconds> {
        let of_tokens = self.steps_of_tokens.get(tokens as usize)?;
        let of_rows = self.steps_of_rows.get(rows as usize)?;
        of_tokens.set(of_tokens.get() + 1);
        if rows > 0 {
            of_rows.set(of_rows.get() + 1);
        }
        let [prefill, decode] = attention;
        self.prefill.count(prefill);
        self.decode.count(decode);
        Some(self.model.total(tokens, attention, rows))
    }

    /// Counts a step that is not worked out beforehand.
    #[cold]
    fn count_other(&self, batch: &StepBatch<'_>) -> Seconds {
        let step = self.model.step_time(batch);
        let mut others = self.others.get();
        others.add(&step);
        self.others.set(others);
        step.total()
    }
}

impl AttentionTally {
    #[inline]
    fn count(&self, once: Option<OpTime>) {
        let Some(once) = once else {
            return;
        };
        let TimeSource::LookedUp(provenance) = once.source else {
            return;
        };
        let by_binding = self.seconds.get(provenance.index());
        if let Some(slot) = by_binding.and_then(|slots| slots.get(once.binding as usize)) {
            slot.set(slot.get() + once.time.0);
        }
    }

    fn add_to(&self, sources: &mut TimeSources, part: Part) {
        for (provenance, by_binding) in Provenance::all().zip(&self.seconds) {
            for (binding, seconds) in crate::op::Binding::ALL.into_iter().zip(by_binding) {
                if seconds.get() > 0.0 {
                    let mut step = StepTime::ZERO;
                    step.add(part, Seconds(seconds.get()), binding, provenance.into());
                    sources.add(&step);
                }
            }
        }
    }
}

impl LatencyModel for Tally<'_> {
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        self.total_time(batch);
        self.model.step_time(batch)
    }

    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        self.steps.set(self.steps.get() + 1);
        let (tokens, rows) = (batch.tokens(), batch.sampled_tokens());
        let attention = self.model.model().attention(batch);
        self.count(tokens, attention, rows)
            .unwrap_or_else(|| self.count_other(batch))
    }

    #[inline]
    fn decode_time(&self, decode: DecodeGroup) -> Seconds {
        self.steps.set(self.steps.get() + 1);
        let attention = self.model.model().group_attention(decode);
        let tokens = decode.tokens();
        self.count(tokens, [None, attention], tokens)
            .unwrap_or_else(|| {
                self.count_other(&StepBatch {
                    prefill: &[],
                    decode: &[decode],
                })
            })
    }
}
