//! Where the time of many steps comes from.

use super::{Binding, Part, StepTime};
use crate::table::Provenance;
use crate::units::Seconds;

/// Time of steps by origin, by part, and by what set the pace.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Origins {
    looked_up: [Seconds; Provenance::ALL.len()],
    /// Time of the parts that no table holds ([`Part::is_looked_up`](super::Part::is_looked_up)).
    fitted: Seconds,
    by_part: [Seconds; Part::COUNT],
    by_binding: [Seconds; Binding::ALL.len()],
    total: Seconds,
    worst: Option<Provenance>,
}

impl Origins {
    /// Counts one more step.
    pub fn add(&mut self, step: &StepTime) {
        self.add_times(step, 1);
    }

    /// Counts `times` more of a step.
    pub fn add_times(&mut self, step: &StepTime, times: u64) {
        let times = times as f64;
        for part in step.parts() {
            let time = part.time * times;
            let slot = self.looked_up.get_mut(part.provenance as usize);
            match slot.filter(|_| part.part.is_looked_up()) {
                Some(slot) => *slot += time,
                None => self.fitted += time,
            }
            if let Some(slot) = self.by_part.get_mut(part.part as usize) {
                *slot += time;
            }
            if let Some(slot) = self.by_binding.get_mut(part.binding as usize) {
                *slot += time;
            }
        }
        self.total += step.total() * times;
        self.worst = self.worst.max(Some(step.provenance()));
    }

    /// The steps of both.
    #[must_use]
    pub fn plus(mut self, other: &Origins) -> Origins {
        fn add<const N: usize>(times: &mut [Seconds; N], more: &[Seconds; N]) {
            for (time, more) in times.iter_mut().zip(more) {
                *time += *more;
            }
        }
        add(&mut self.looked_up, &other.looked_up);
        add(&mut self.by_part, &other.by_part);
        add(&mut self.by_binding, &other.by_binding);
        self.fitted += other.fitted;
        self.total += other.total;
        self.worst = self.worst.max(other.worst);
        self
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

    /// Share of the time by part, in the order of [`Part::ALL`].
    pub fn part_shares(&self) -> [f64; Part::COUNT] {
        self.by_part.map(|time| self.share(time))
    }

    /// Share of the time by what set the pace, in the order of [`Binding::ALL`].
    pub fn binding_shares(&self) -> [f64; Binding::ALL.len()] {
        self.by_binding.map(|time| self.share(time))
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
