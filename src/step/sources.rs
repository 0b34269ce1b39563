//! Sources of the time of many steps.

use super::source::worst;
use super::{Binding, Part, StepTime, UncertainPart};
use crate::table::{Class, Extent, Provenance, Strictness};
use crate::units::Seconds;

/// Time of many steps by source, by part, and by binding.
///
/// Time is either looked up, with a [`Provenance`], or fitted: the shares of all classes and the fitted
/// share add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeSources {
    looked_up: [Seconds; Provenance::COUNT],
    fitted: Seconds,
    by_part: [Seconds; Part::ALL.len()],
    by_binding: [Seconds; Binding::ALL.len()],
    total: Seconds,
    provenances: [Option<Provenance>; Part::ALL.len()],
}

impl TimeSources {
    /// Adds one step.
    pub fn add(&mut self, step: &StepTime) {
        self.add_times(step, 1);
    }

    /// Adds `times` equal steps.
    pub fn add_times(&mut self, step: &StepTime, times: u64) {
        let times = times as f64;
        for part in step.parts() {
            let time = part.time * times;
            let fitted = time * part.source.fitted_share();
            self.fitted += fitted;
            if let Some(provenance) = part.source.provenance() {
                if let Some(slot) = self.looked_up.get_mut(provenance.index()) {
                    *slot += Seconds(time.0 - fitted.0);
                }
                if let Some(slot) = self.provenances.get_mut(part.part as usize) {
                    *slot = worst(*slot, Some(provenance));
                }
            }
            if let Some(slot) = self.by_part.get_mut(part.part as usize) {
                *slot += time;
            }
            if let Some(slot) = self.by_binding.get_mut(part.binding as usize) {
                *slot += time;
            }
        }
        self.total += step.total() * times;
    }

    /// Returns the sum over the steps of both.
    #[must_use]
    pub fn plus(mut self, other: &TimeSources) -> TimeSources {
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
        for (slot, other) in self.provenances.iter_mut().zip(other.provenances) {
            *slot = worst(*slot, other);
        }
        self
    }

    /// Returns the worst provenance of the looked-up time, or `None` if there is none.
    pub fn provenance(&self) -> Option<Provenance> {
        self.provenances.into_iter().fold(None, worst)
    }

    /// Returns the worst provenance of a part, or `None` if it was never looked up.
    pub fn part_provenance(&self, part: Part) -> Option<Provenance> {
        self.provenances.get(part as usize).copied().flatten()
    }

    /// Checks that every looked-up part is as certain as `strictness` requires, in all steps. Fitted time is not
    /// checked.
    ///
    /// # Errors
    /// The least certain part, if it is less certain.
    pub fn check(&self, strictness: Strictness) -> Result<(), UncertainPart> {
        UncertainPart::check(strictness, Part::ALL.into_iter().zip(self.provenances))
    }

    /// Returns the time of all steps.
    pub fn total(&self) -> Seconds {
        self.total
    }

    /// Returns the share of the time that was looked up with `provenance`.
    pub fn looked_up_share(&self, provenance: Provenance) -> f64 {
        let time = self.looked_up.get(provenance.index());
        self.share(time.copied().unwrap_or_default())
    }

    /// Returns the share of the time that was looked up, by class in the order of [`Class::ALL`].
    pub fn class_shares(&self) -> [f64; Class::ALL.len()] {
        Class::ALL.map(|class| self.looked_up_share(class.inside()) + self.looked_up_share(class.outside()))
    }

    /// Returns the share of the time that was looked up outside the measured axes.
    pub fn outside_share(&self) -> f64 {
        let outside = |provenance: &Provenance| provenance.extent == Extent::Outside;
        let provenances = Provenance::all().filter(outside);
        provenances.map(|provenance| self.looked_up_share(provenance)).sum()
    }

    /// Returns the share of the time that comes from constants fitted to servers.
    pub fn fitted_share(&self) -> f64 {
        self.share(self.fitted)
    }

    /// Returns the share of the time by part, in the order of [`Part::ALL`].
    pub fn part_shares(&self) -> [f64; Part::ALL.len()] {
        self.by_part.map(|time| self.share(time))
    }

    /// Returns the share of the time by binding, in the order of [`Binding::ALL`].
    pub fn binding_shares(&self) -> [f64; Binding::ALL.len()] {
        self.by_binding.map(|time| self.share(time))
    }

    fn share(&self, time: Seconds) -> f64 {
        if self.total > Seconds::ZERO { time.0 / self.total.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::TimeSource;

    #[test]
    #[allow(clippy::float_cmp)] // Powers of two: exact.
    fn shares_are_of_all_steps_and_add_up_to_one() {
        let mut sources = TimeSources::default();
        assert_eq!((sources.class_shares(), sources.provenance()), ([0.0; 5], None));
        let parts = [
            (Part::Qkv, 1.0, Class::Measured.inside().into()),
            (Part::Down, 1.0, Class::Transferred.inside().into()),
            (Part::PrefillAttention, 1.0, Class::Transferred.outside().into()),
            (Part::Sampling, 1.0, TimeSource::FITTED),
        ];
        for (part, seconds, source) in parts {
            let mut step = StepTime::ZERO;
            step.add(part, Seconds(seconds), Binding::Memory, source);
            sources.add(&step);
        }
        assert_eq!(sources.class_shares(), [0.25, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!((sources.outside_share(), sources.fitted_share()), (0.25, 0.25));
        assert_eq!(sources.looked_up_share(Class::Transferred.outside()), 0.25);
        assert_eq!(sources.total(), Seconds(4.0));
        assert_eq!(sources.provenance(), Some(Class::Transferred.outside()));
        let of_part = |part| sources.part_provenance(part);
        assert_eq!(of_part(Part::Down), Some(Class::Transferred.inside()));
        assert_eq!(of_part(Part::Sampling), None);
        let check = |strictness: Strictness| sources.check(strictness).map_err(|error| error.part);
        assert_eq!(check(Strictness::ANY), Ok(()));
        assert_eq!(check(Strictness::ANY.inside()), Err(Part::PrefillAttention));
        let smoothed = Strictness::at_worst(Class::Smoothed);
        assert_eq!(check(smoothed), Err(Part::PrefillAttention));
        assert_eq!(sources.plus(&sources).class_shares(), sources.class_shares());
        assert_eq!(sources.plus(&TimeSources::default()), sources);
        assert_eq!(TimeSources::default().plus(&sources), sources);
    }
}
