//! Runs of one deployment at several rates.

use std::ops::RangeInclusive;

use rooflut_scenario::{Error, Run};

use crate::limit::Limits;
use crate::limited_by::LimitedBy;
use crate::saturate::scale::largest;
use crate::space::rejected;
use crate::trial::{Trial, Verdict};

/// Rates beyond which no load is simulated, requests per second.
const RATES: [f64; 2] = [1e-6, 1e6];
/// Lowest rate of a search as a share of the capacity.
const LEAST_SHARE: f64 = 1e-3;
/// Share of the capacity bound at which servers often saturate, where the search starts.
const USUAL_SHARE: f64 = 0.8;

/// The rates of a search: the powers of one plus the tolerance, so that neighbours differ by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    tolerance: f64,
}

impl Scale {
    /// Returns the scale of a tolerance, from 0.0001 to 0.5.
    pub(crate) fn try_new(tolerance: f64) -> Result<Scale, Error> {
        if (1e-4..=0.5).contains(&tolerance) {
            Ok(Scale { tolerance })
        } else {
            Err(rejected("tolerance", "a share from 0.0001 to 0.5", tolerance))
        }
    }

    /// Returns the rate of a step, requests per second.
    pub(crate) fn rate(self, step: i32) -> f64 {
        (1.0 + self.tolerance).powi(step)
    }

    /// Returns the highest step whose rate does not exceed `rate`, which is set into [`RATES`].
    pub(crate) fn step(self, rate: f64) -> i32 {
        let [lowest, highest] = RATES;
        let rate = rate.clamp(lowest, highest);
        let step = (rate.ln() / self.tolerance.ln_1p()).floor() as i32;
        // Rounding of the logarithm by at most a step.
        match (self.rate(step + 1) <= rate, self.rate(step) > rate) {
            (true, _) => step + 1,
            (_, true) => step - 1,
            _ => step,
        }
    }

    /// Returns the steps that servers of this capacity may serve.
    pub(crate) fn within(self, capacity: f64) -> RangeInclusive<i32> {
        let [lowest, highest] = RATES;
        let lowest = if capacity < highest { capacity * LEAST_SHARE } else { lowest };
        self.step(lowest)..=self.step(capacity)
    }
}

/// The runs of a deployment at the rates of a scale.
#[derive(Debug)]
pub(crate) struct Rates<'r> {
    pub(crate) run: &'r Run,
    pub(crate) scale: Scale,
    pub(crate) seeds: &'r [u64],
    /// A rate that the servers cannot exceed in the long run, however requests are scheduled.
    pub(crate) capacity: f64,
    /// Runs so far.
    pub(crate) simulations: u64,
}

impl Rates<'_> {
    /// Returns the highest step whose rate is served in full.
    pub(crate) fn saturation(&mut self) -> Result<Option<i32>, Error> {
        let start = if self.capacity.is_finite() { self.scale.step(self.capacity * USUAL_SHARE) } else { 0 };
        self.highest(self.scale.within(self.capacity), start, &Limits::NONE)
    }

    /// Returns the setting that holds requests back at a step.
    pub(crate) fn limited_by(&mut self, step: i32, limits: &Limits) -> Result<Option<LimitedBy>, Error> {
        let run = self.run.with_rate(self.scale.rate(step))?;
        let trial = |seed: &u64| Trial::of_figures(&run, *seed, limits);
        let trials = self.seeds.iter().map(trial).collect::<Result<Vec<_>, _>>()?;
        self.simulations += trials.len() as u64;
        Ok(LimitedBy::of(&run, &trials))
    }

    /// Returns the highest of `steps` that meets `limits`.
    pub(crate) fn highest(
        &mut self,
        steps: RangeInclusive<i32>,
        start: i32,
        limits: &Limits,
    ) -> Result<Option<i32>, Error> {
        largest(steps, start, |step| {
            let run = self.run.with_rate(self.scale.rate(step))?;
            let trials = Trial::until_missed(&run, self.seeds, limits, None)?;
            self.simulations += trials.len() as u64;
            Ok(Verdict::of(trials, self.seeds.len(), limits).meets)
        })
    }
}
