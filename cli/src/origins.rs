//! Where the time of steps comes from.

use rooflut::step::StepTime;
use rooflut::table::Provenance;
use rooflut::units::Seconds;
use serde::Serialize;

use crate::output::percent;

/// What is said of time that no table holds.
pub(crate) const FITTED: &str = "fitted";

/// Time of steps by origin.
#[derive(Clone, Copy, Default)]
pub(crate) struct Origins {
    by_provenance: [Seconds; Provenance::ALL.len()],
    fitted: Seconds,
    total: Seconds,
    worst: Option<Provenance>,
}

impl Origins {
    /// Counts one more step.
    pub(crate) fn add(&mut self, step: &StepTime) {
        for part in step.parts() {
            let slot = self.by_provenance.get_mut(part.provenance as usize);
            match slot.filter(|_| part.part.is_looked_up()) {
                Some(slot) => *slot += part.time,
                None => self.fitted += part.time,
            }
        }
        self.total += step.total();
        self.worst = self.worst.max(Some(step.provenance()));
    }

    /// The worst provenance of any step.
    pub(crate) fn worst(&self) -> Option<Provenance> {
        self.worst
    }

    /// The time of all steps.
    pub(crate) fn total(&self) -> Seconds {
        self.total
    }

    /// For people: the origins that occur, with their shares.
    pub(crate) fn describe(&self) -> String {
        let named = Provenance::ALL.iter().map(|provenance| provenance.name());
        let named = named.zip(self.by_provenance).chain([(FITTED, self.fitted)]);
        let shares: Vec<String> = named
            .filter(|(_, time)| *time > Seconds::ZERO)
            .map(|(name, time)| format!("{} {name}", percent(100.0 * self.share(time))))
            .collect();
        match shares.is_empty() {
            true => "no step was run".to_owned(),
            false => format!("{} (share of the time)", shares.join(", ")),
        }
    }

    /// For programs.
    pub(crate) fn json(&self) -> OriginsJson {
        let [measured, interpolated, extrapolated, transferred, bound] =
            self.by_provenance.map(|time| self.share(time));
        OriginsJson {
            measured,
            interpolated,
            extrapolated,
            transferred,
            bound,
            fitted: self.share(self.fitted),
        }
    }

    fn share(&self, time: Seconds) -> f64 {
        if self.total > Seconds::ZERO {
            time.0 / self.total.0
        } else {
            0.0
        }
    }
}

/// Shares of the time by origin; 1 in all, unless no step was run.
#[derive(Serialize)]
pub(crate) struct OriginsJson {
    measured: f64,
    interpolated: f64,
    extrapolated: f64,
    transferred: f64,
    bound: f64,
    /// Constants fitted on servers, and traffic of small kernels.
    fitted: f64,
}
