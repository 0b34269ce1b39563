//! Where the time of many steps comes from.

use super::StepTime;
use crate::table::Provenance;
use crate::units::Seconds;

/// Time of steps by origin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Origins {
    looked_up: [Seconds; Provenance::ALL.len()],
    /// Time of the parts that no table holds ([`Part::is_looked_up`](super::Part::is_looked_up)).
    fitted: Seconds,
    total: Seconds,
    worst: Option<Provenance>,
}

impl Origins {
    /// Counts one more step.
    pub fn add(&mut self, step: &StepTime) {
        for part in step.parts() {
            let slot = self.looked_up.get_mut(part.provenance as usize);
            match slot.filter(|_| part.part.is_looked_up()) {
                Some(slot) => *slot += part.time,
                None => self.fitted += part.time,
            }
        }
        self.total += step.total();
        self.worst = self.worst.max(Some(step.provenance()));
    }

    /// The worst provenance of any step; `None` without a step.
    pub fn worst(&self) -> Option<Provenance> {
        self.worst
    }

    /// The time of all steps.
    pub fn total(&self) -> Seconds {
        self.total
    }

    /// Share of the time that was looked up, by provenance in the order of [`Provenance::ALL`].
    pub fn shares(&self) -> [f64; Provenance::ALL.len()] {
        self.looked_up.map(|time| self.share(time))
    }

    /// Share of the time that no table holds.
    pub fn fitted_share(&self) -> f64 {
        self.share(self.fitted)
    }

    fn share(&self, time: Seconds) -> f64 {
        if self.total > Seconds::ZERO {
            time.0 / self.total.0
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Binding, Part};

    #[test]
    #[allow(clippy::float_cmp)] // Powers of two: exact.
    fn shares_are_of_all_steps_and_add_up_to_one() {
        let mut origins = Origins::default();
        assert_eq!((origins.shares(), origins.worst()), ([0.0; 5], None));
        let parts = [
            (Part::Qkv, 1.0, Provenance::Measured),
            (Part::Down, 2.0, Provenance::Transferred),
            (Part::Sampling, 1.0, Provenance::Measured),
        ];
        for (part, seconds, provenance) in parts {
            let mut step = StepTime::ZERO;
            step.add(part, Seconds(seconds), Binding::Memory, provenance);
            origins.add(&step);
        }
        assert_eq!(origins.shares(), [0.25, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(
            (origins.fitted_share(), origins.total()),
            (0.25, Seconds(4.0))
        );
        assert_eq!(origins.worst(), Some(Provenance::Transferred));
    }
}
