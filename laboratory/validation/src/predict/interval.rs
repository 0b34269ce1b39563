//! Intervals of predictions.

use rooflut::engine::EngineStack;
use rooflut::hardware::Gpu;
use rooflut::interval::{Coverage, Interval};
use rooflut::model::ModelSpec;
use rooflut::step::{AtEnd, End, LatencyModel, StepModel};
use rooflut::units::Seconds;

use super::{Predicted, ResolvedServer};
use crate::compare::Metric;
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::reason::Reason;

/// The wanted intervals on a server.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    coverages: &'a [Coverage],
    engine: &'a EngineStack,
    spec: &'a ModelSpec,
    gpu: &'a Gpu,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(predictor: &Predictor<'a>, engine: &'a EngineStack, server: &'a ResolvedServer) -> Wanted<'a> {
        Wanted { coverages: predictor.coverages, engine, spec: &server.spec, gpu: server.set.gpu() }
    }

    /// Returns the rows that `predict` gives with `model`. Their intervals, if wanted, are between those that it gives
    /// with all steps at one and at the other end of theirs.
    ///
    /// # Errors
    /// The first error of `predict`.
    pub(super) fn predict(
        &self,
        model: &impl StepModel,
        predict: impl Fn(&dyn LatencyModel) -> Result<Vec<Predicted>, Reason>,
    ) -> Result<Vec<Predicted>, Reason> {
        let mut rows = predict(model)?;
        for &coverage in self.coverages {
            let at = |end| predict(&AtEnd::new(model, coverage, end));
            let ends = at(End::Low)?.into_iter().zip(at(End::High)?);
            for (row, (low, high)) in rows.iter_mut().zip(ends) {
                if let (Ok(pairs), Ok(low), Ok(high)) = (row, low, high) {
                    for (pair, ends) in pairs.iter_mut().zip(low.into_iter().zip(high)) {
                        let interval = self.between(pair, ends, coverage);
                        pair.intervals.extend(interval);
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Returns the interval of `pair` from those of its steps.
    fn between(&self, pair: &Pair, (low, high): (Pair, Pair), coverage: Coverage) -> Option<[f64; 2]> {
        let half_width = match pair.metric {
            Metric::Ttft | Metric::WarmTtft | Metric::Prefill => {
                self.engine.ttft_half_width(self.spec, self.gpu, coverage)
            }
            _ => self.engine.tpot_half_width(coverage),
        };
        let value = |predicted: Result<Option<f64>, _>| predicted.ok().flatten().map(Seconds);
        let (low, high) = (value(low.predicted)?, value(high.predicted)?);
        let predicted = value(pair.predicted.clone())?;
        let interval = Interval { low, high }.widened(predicted, half_width);
        Some([interval.low.0, interval.high.0])
    }
}
