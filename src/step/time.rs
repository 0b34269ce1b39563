//! Latency models, and the time of a step by part.

use super::kernel_time::{KernelTime, PartSum};
use super::part_errors::PartErrors;
use super::{Binding, DecodeGroup, Part, StepBatch, TimeSource, UncertainPart};
use crate::interval::{Coverage, Interval, in_quadrature};
use crate::table::{ErrorGroup, Provenance, Strictness};
use crate::units::Seconds;

/// Predicts the time of engine steps.
///
/// [`total_time`](LatencyModel::total_time) is the only required method. References, `Box` and `Arc` of a model are
/// models, including references, `Box` and `Arc` of a `dyn LatencyModel`.
///
/// ```
/// use rooflut::step::{DecodeGroup, LatencyModel, StepBatch};
/// use rooflut::units::Seconds;
///
/// /// 5 ms per step plus 40 us per token.
/// struct Linear;
///
/// impl LatencyModel for Linear {
///     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
///         Seconds::from_us(5_000.0 + 40.0 * batch.tokens() as f64)
///     }
/// }
///
/// let decode = DecodeGroup::uniform(10, 400)?;
/// assert_eq!(Linear.decode_time(decode), Seconds::from_us(5_400.0));
/// # Ok::<(), rooflut::Invalid>(())
/// ```
pub trait LatencyModel {
    /// Returns the time of one step: positive and finite, or zero for an empty batch.
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds;

    /// Returns the time of a step of data-parallel ranks that begin and end it together, given the batch of each; that of
    /// an idle rank is empty. By default the longest [`total_time`](LatencyModel::total_time).
    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        ranks.fold(Seconds::ZERO, |longest, batch| longer(longest, self.total_time(&batch)))
    }

    /// Calls `run` with the time of a step in each pipeline stage, in order. By default a single stage takes the
    /// [`total_time`](LatencyModel::total_time), which is their sum.
    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        run(self.total_time(batch));
    }

    /// Returns the [`total_time`](LatencyModel::total_time) of a decode-only step. Override it in models with a
    /// faster way to compute the same bits.
    fn decode_time(&self, decode: DecodeGroup) -> Seconds {
        self.total_time(&StepBatch { prefill: &[], decode: &[decode] })
    }
}

/// Returns the longer of two times; a negative one or NaN is kept, so that a simulation reports it.
pub(super) fn longer(one: Seconds, other: Seconds) -> Seconds {
    let is_within = (0.0..=one.0).contains(&other.0);
    if one.0 >= 0.0 && !is_within { other } else { one }
}

/// A [`LatencyModel`] that breaks a step down into its parts.
pub trait StepModel: LatencyModel {
    /// Returns the time of one step by part; the total is [`total_time`](LatencyModel::total_time) to the bit.
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime;
}

/// Implements both traits for a pointer to a model.
macro_rules! forward_to_pointee {
    ($($pointer:ty),+) => {$(
        impl<M: LatencyModel + ?Sized> LatencyModel for $pointer {
            #[inline]
            fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
                (**self).total_time(batch)
            }

            #[inline]
            fn decode_time(&self, decode: DecodeGroup) -> Seconds {
                (**self).decode_time(decode)
            }

            fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
                (**self).lockstep_time(ranks)
            }

            fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
                (**self).pipeline_times(batch, run);
            }
        }

        impl<M: StepModel + ?Sized> StepModel for $pointer {
            fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
                (**self).step_time(batch)
            }
        }
    )+};
}

forward_to_pointee!(&M);
#[cfg(feature = "alloc")]
forward_to_pointee!(alloc::boxed::Box<M>);
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
forward_to_pointee!(alloc::sync::Arc<M>);

/// One part of a step, over all layers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PartTime {
    /// The part.
    pub part: Part,
    /// Its time.
    pub time: Seconds,
    /// The resource that limits its speed.
    pub binding: Binding,
    /// The source of its time: the worst of its kernels.
    ///
    /// Small kernels, sampling and the host are [fitted](TimeSource::FITTED). Experts are partly fitted: the share of
    /// the table grows with the tokens.
    pub source: TimeSource,
    /// The errors of its lookups.
    pub errors: ErrorGroup,
}

/// The time of one step and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    parts: [Option<PartSum>; Part::ALL.len()],
    pub(super) errors: PartErrors,
    pub(super) bound: Seconds,
    pub(super) total: Seconds,
}

impl StepTime {
    /// No parts and no time.
    pub const ZERO: StepTime = StepTime {
        parts: [None; Part::ALL.len()],
        errors: PartErrors::UNKNOWN,
        bound: Seconds::ZERO,
        total: Seconds::ZERO,
    };

    /// Returns no parts with the given errors of their lookups.
    #[inline]
    pub(super) const fn with_errors(errors: PartErrors) -> StepTime {
        StepTime { errors, ..StepTime::ZERO }
    }

    /// Adds time to a part. The binding of the longest addition is kept.
    pub fn add(&mut self, part: Part, time: Seconds, binding: Binding, source: TimeSource) {
        self.add_kernel(part, KernelTime::new(time, binding, source));
    }

    /// Adds a kernel to a part.
    pub(super) fn add_kernel(&mut self, part: Part, kernel: KernelTime) {
        self.add_part(part, kernel.into());
        self.bound += kernel.bound;
        self.total += kernel.time;
    }

    fn add_part(&mut self, part: Part, kernel: PartSum) {
        if let Some(slot) = self.parts.get_mut(part as usize) {
            match slot {
                Some(others) => *others = others.plus(kernel),
                None => *slot = Some(kernel),
            }
        }
    }

    /// Adds all parts of `other`; its total is added as a whole. A part that both have keeps the errors of the longer
    /// one.
    pub fn add_all(&mut self, other: &StepTime) {
        for part in other.parts() {
            if part.time > self.part(part.part) {
                self.errors.set(part.part, part.errors);
            }
        }
        self.errors.lookup_share = self.errors.lookup_share.max(other.errors.lookup_share);
        self.errors.model = self.errors.model.max(other.errors.model);
        for (part, kernel) in Part::ALL.into_iter().zip(other.parts) {
            if let Some(kernel) = kernel {
                self.add_part(part, kernel);
            }
        }
        self.bound += other.bound;
        self.total += other.total;
    }

    /// Returns the time of the whole step.
    pub fn total(&self) -> Seconds {
        self.total
    }

    /// Returns the time that physics demands, summed over the kernels: FLOPs at the peak, bytes at the bandwidth of
    /// memory or link. Parts without a known bound add nothing.
    pub fn bound(&self) -> Seconds {
        self.bound
    }

    /// Returns the nonzero parts, in the order of [`Part::ALL`].
    pub fn parts(&self) -> impl Iterator<Item = PartTime> + '_ {
        let parts = Part::ALL.into_iter().zip(self.parts);
        parts.filter_map(|(part, kernel)| {
            kernel.map(|kernel| PartTime {
                part,
                time: kernel.time,
                binding: kernel.binding,
                source: kernel.source(),
                errors: self.errors.of(part),
            })
        })
    }

    /// Returns the time spent in `part`, zero if the step has none.
    pub fn part(&self, part: Part) -> Seconds {
        self.parts().find(|p| p.part == part).map_or(Seconds::ZERO, |p| p.time)
    }

    /// Returns the time of the parts with the given binding.
    pub fn bound_by(&self, binding: Binding) -> Seconds {
        self.parts().filter(|p| p.binding == binding).map(|p| p.time).sum()
    }

    /// Returns the resource that limits the larger share of the step.
    pub fn binding(&self) -> Binding {
        Binding::ALL.into_iter().fold(Binding::Compute, |best, candidate| {
            if self.bound_by(candidate) > self.bound_by(best) { candidate } else { best }
        })
    }

    /// Returns the range expected to contain the share `coverage` of the measurements of such steps.
    ///
    /// The lookups of a part have the errors of the same kernel in all layers, so the errors grow with the time of the
    /// part. Errors of different parts and of model and engine are independent. With t the time of the step, t_i of a
    /// part, f_i its fitted share, q_i the half width of its lookups ([`ErrorGroup::half_width`]), s the share of their
    /// errors that a step has and e the mean absolute error of model and engine
    /// ([`lookup_error_share`](crate::engine::StepConstants::lookup_error_share) and
    /// [`step_error`](crate::engine::StepConstants::step_error), where servers were not fitted
    /// [`other_step_error`](crate::engine::StepConstants::other_step_error)), the interval reaches from t exp(-w) to t
    /// exp(w), but not below the [`bound`](Self::bound):
    ///
    /// w^2 = sum_i (s q_i (1 - f_i) t_i / t)^2 + (e ln(1 / (1 - coverage)))^2
    ///
    /// Source: quantiles of errors on left-out rows, and errors of servers of left-out model families
    /// (`docs/accuracy.md`).
    ///
    /// Costs about a microsecond. Steps of other models than [`RooflineModel`](super::RooflineModel) have the widest
    /// errors of any lookup, in full.
    ///
    /// ```
    /// use rooflut::interval::Coverage;
    /// use rooflut::model;
    /// use rooflut::step::{
    ///     DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions,
    /// };
    /// use rooflut::table::sets;
    ///
    /// let llama = model::find("llama-3.1-8b").unwrap().spec;
    /// let (single, options) = (Parallelism::SINGLE, StepOptions::default());
    /// let step = RooflineModel::try_new(&llama, &sets::H100, single, options)?;
    /// let decode = [DecodeGroup::uniform(64, 1_000)?];
    /// let time = step.step_time(&StepBatch { prefill: &[], decode: &decode });
    /// let interval = time.interval(Coverage::try_new(0.8)?);
    /// assert!(interval.low < time.total() && time.total() < interval.high);
    /// assert!(interval.high.0 / interval.low.0 < 1.3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval(&self, coverage: Coverage) -> Interval {
        let half_width = |part: PartTime| {
            let extent = part.source.provenance()?.extent;
            let looked_up = part.time.0 * (1.0 - part.source.fitted_share());
            let share = self.errors.lookup_share * looked_up / self.total.0;
            Some(share * part.errors.half_width(extent, coverage))
        };
        let model = coverage.laplace(self.errors.model);
        let half_widths = self.parts().filter_map(half_width);
        let half_width = in_quadrature(half_widths.chain([model]));
        Interval::around(self.total, half_width, self.bound)
    }

    /// Returns the worst provenance of the looked-up parts, or `None` if there are none.
    pub fn provenance(&self) -> Option<Provenance> {
        self.parts().filter_map(|part| part.source.provenance()).reduce(Provenance::worst)
    }

    /// Checks that every looked-up part is as certain as `strictness` requires. Fitted time is not checked.
    ///
    /// # Errors
    /// The least certain part, if it is less certain.
    ///
    /// ```
    /// use rooflut::step::{Binding, Part, StepTime, TimeSource};
    /// use rooflut::table::{Class, Strictness};
    /// use rooflut::units::Seconds;
    ///
    /// let mut step = StepTime::ZERO;
    /// step.add(Part::Host, Seconds(1e-4), Binding::Latency, TimeSource::FITTED);
    /// step.add(Part::Qkv, Seconds(1e-3), Binding::Memory, Class::Interpolated.inside().into());
    /// assert!(step.check(Strictness::at_worst(Class::Interpolated)).is_ok());
    /// let error = step.check(Strictness::at_worst(Class::Measured)).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "qkv: expected measured, found interpolated; accept interpolated answers"
    /// );
    /// ```
    pub fn check(&self, strictness: Strictness) -> Result<(), UncertainPart> {
        let parts = self.parts().map(|part| (part.part, part.source.provenance()));
        UncertainPart::check(strictness, parts)
    }

    /// Returns the share of the time that comes from constants fitted to servers, 0 to 1; 0 for a step without time.
    ///
    /// ```
    /// use rooflut::model;
    /// use rooflut::step::{
    ///     DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions,
    /// };
    /// use rooflut::table::sets;
    ///
    /// let llama = model::find("llama-3.1-8b").unwrap().spec;
    /// let (single, options) = (Parallelism::SINGLE, StepOptions::default());
    /// let step = RooflineModel::try_new(&llama, &sets::H100, single, options)?;
    /// let decode = [DecodeGroup::uniform(64, 1_000)?];
    /// let time = step.step_time(&StepBatch { prefill: &[], decode: &decode });
    /// assert!(time.fitted_share() > 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fitted_share(&self) -> f64 {
        let fitted = self.parts().map(|part| part.time * part.source.fitted_share());
        let fitted: Seconds = fitted.sum();
        if self.total > Seconds::ZERO { fitted.0 / self.total.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Class;

    #[test]
    fn a_part_has_the_binding_of_its_longest_addition_and_the_worst_source() {
        let mut time = StepTime::ZERO;
        assert_eq!(time.provenance(), None);
        for (us, binding, provenance) in
            [(2.0, Binding::Memory, Class::Measured.outside()), (1.0, Binding::Latency, Class::Transferred.inside())]
        {
            time.add(Part::Down, Seconds::from_us(us), binding, provenance.into());
        }
        let qkv = Class::Interpolated.inside();
        time.add(Part::Qkv, Seconds::from_us(4.0), Binding::Compute, qkv.into());
        let parts: std::vec::Vec<PartTime> = time.parts().collect();
        assert_eq!(parts[0].source, qkv.into());
        assert_eq!(parts[1].part, Part::Down);
        assert_eq!(parts[1].binding, Binding::Memory);
        assert_eq!(parts[1].source, Class::Transferred.outside().into());
        assert_eq!(time.provenance(), Some(Class::Transferred.outside()));
    }

    #[test]
    #[allow(clippy::float_cmp)] // Powers of two: exact.
    fn fitted_time_has_no_provenance_and_a_share() {
        let mut time = StepTime::ZERO;
        assert_eq!(time.fitted_share(), 0.0);
        time.add(Part::Host, Seconds(1.0), Binding::Latency, TimeSource::FITTED);
        assert_eq!((time.provenance(), time.fitted_share()), (None, 1.0));
        let smoothed = Class::Smoothed.inside();
        time.add(Part::Qkv, Seconds(3.0), Binding::Memory, smoothed.into());
        assert_eq!((time.provenance(), time.fitted_share()), (Some(smoothed), 0.25));
        // A part may have both; its looked-up share keeps its provenance.
        time.add(Part::Qkv, Seconds(1.0), Binding::Memory, TimeSource::FITTED);
        let source = time.parts().next().map(|part| part.source);
        assert_eq!(source.map(TimeSource::fitted_share), Some(0.25));
        assert_eq!(source.and_then(TimeSource::provenance), Some(smoothed));
        assert_eq!((time.provenance(), time.fitted_share()), (Some(smoothed), 0.4));
    }
}
