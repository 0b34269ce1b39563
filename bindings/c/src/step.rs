//! Times of steps.

use rooflut::interval::Coverage;
use rooflut::step::{self as library, LatencyModel, StepBatch, StepModel};
use rooflut::table::{self, Extent};
use rooflut::units::Seconds;
use rooflut_report::StepKernels;
use rooflut_scenario::Run;

use crate::Handle;
use crate::batch::Batch;
use crate::border::call;
use crate::error::{Code, Error, Failure};
use crate::pointer::{Out, input};
use crate::registry::REGISTRY;
use crate::text::json;

/// A time.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Duration {
    /// Seconds.
    pub seconds: f64,
    /// Whole nanoseconds, halves rounded up.
    pub nanoseconds: u64,
}

impl From<Seconds> for Duration {
    #[inline]
    fn from(time: Seconds) -> Duration {
        Duration { seconds: time.0, nanoseconds: time.to_nanos() }
    }
}

/// A part of a step.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Fused query, key and value projection.
    Qkv = 0,
    /// Attention over new prompt tokens.
    PrefillAttention = 1,
    /// Attention of decoding requests over their KV cache.
    DecodeAttention = 2,
    /// Output projection of the attention.
    OProj = 3,
    /// Fused gate and up projection.
    GateUp = 4,
    /// Down projection.
    Down = 5,
    /// Router of mixture-of-experts layers.
    Router = 6,
    /// Experts.
    Moe = 7,
    /// All-gathers and reduce-scatters between data-parallel ranks.
    Exchange = 8,
    /// All-reduces of tensor parallelism.
    AllReduce = 9,
    /// Hidden states sent to the next pipeline stage.
    Transfer = 10,
    /// Norms, rotary embedding, activation, residual, KV write and gaps.
    SmallKernels = 11,
    /// Projection to the vocabulary.
    LmHead = 12,
    /// Sampling.
    Sampling = 13,
    /// Waiting of the GPU for the host.
    Host = 14,
    /// A part that this version of the interface does not know.
    Unknown = 15,
}

impl From<library::Part> for Part {
    fn from(part: library::Part) -> Part {
        match part {
            library::Part::Qkv => Part::Qkv,
            library::Part::PrefillAttention => Part::PrefillAttention,
            library::Part::DecodeAttention => Part::DecodeAttention,
            library::Part::OProj => Part::OProj,
            library::Part::GateUp => Part::GateUp,
            library::Part::Down => Part::Down,
            library::Part::Router => Part::Router,
            library::Part::Moe => Part::Moe,
            library::Part::Exchange => Part::Exchange,
            library::Part::AllReduce => Part::AllReduce,
            library::Part::Transfer => Part::Transfer,
            library::Part::SmallKernels => Part::SmallKernels,
            library::Part::LmHead => Part::LmHead,
            library::Part::Sampling => Part::Sampling,
            library::Part::Host => Part::Host,
            _ => Part::Unknown,
        }
    }
}

/// The resource that limits the speed of a part.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Matrix math.
    Compute = 0,
    /// Device memory bandwidth.
    Memory = 1,
    /// Launches and waiting.
    Latency = 2,
    /// The link between GPUs.
    Link = 3,
    /// A resource that this version of the interface does not know.
    Unknown = 4,
}

impl From<library::Binding> for Binding {
    fn from(binding: library::Binding) -> Binding {
        match binding {
            library::Binding::Compute => Binding::Compute,
            library::Binding::Memory => Binding::Memory,
            library::Binding::Latency => Binding::Latency,
            library::Binding::Link => Binding::Link,
            _ => Binding::Unknown,
        }
    }
}

/// The kind of data that an answer was computed from, from the most to the least certain.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A row of a table.
    Measured = 0,
    /// Rows of the same shape.
    Interpolated = 1,
    /// A summary of many rows.
    Smoothed = 2,
    /// The efficiency of another shape.
    Transferred = 3,
    /// No measurement: the roofline bound.
    Bound = 4,
    /// Constants that were fitted to servers; no table.
    Fitted = 5,
    /// A class that this version of the interface does not know.
    Unknown = 6,
}

impl From<table::Class> for Class {
    fn from(class: table::Class) -> Class {
        match class {
            table::Class::Measured => Class::Measured,
            table::Class::Interpolated => Class::Interpolated,
            table::Class::Smoothed => Class::Smoothed,
            table::Class::Transferred => Class::Transferred,
            table::Class::Bound => Class::Bound,
            _ => Class::Unknown,
        }
    }
}

/// One part of a step, over all layers.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct PartTime {
    /// Seconds.
    pub seconds: f64,
    /// Share of the time that comes from constants fitted to servers, 0 to 1.
    pub fitted_share: f64,
    /// A `RooflutPart`.
    pub part: u32,
    /// A `RooflutBinding`.
    pub binding: u32,
    /// A `RooflutClass`.
    pub class_: u32,
    /// 1 if the query lies outside of the measured axes, else 0.
    pub is_outside: u32,
}

impl From<library::PartTime> for PartTime {
    fn from(time: library::PartTime) -> PartTime {
        let provenance = time.source.provenance();
        let class = provenance.map_or(Class::Fitted, |it| it.class.into());
        PartTime {
            seconds: time.time.0,
            fitted_share: time.source.fitted_share(),
            part: Part::from(time.part) as u32,
            binding: Binding::from(time.binding) as u32,
            class_: class as u32,
            is_outside: provenance.is_some_and(|it| it.extent == Extent::Outside).into(),
        }
    }
}

/// The time of a step by part.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct StepTime {
    /// The whole step.
    pub total: Duration,
    /// Seconds that physics demands: FLOPs at the peak, bytes at the bandwidth.
    pub bound_seconds: f64,
    /// Number of parts.
    pub parts_length: usize,
    /// The parts that take time.
    pub parts: [PartTime; 16],
}

impl From<library::StepTime> for StepTime {
    fn from(time: library::StepTime) -> StepTime {
        let mut written = StepTime { total: time.total().into(), bound_seconds: time.bound().0, ..StepTime::default() };
        for (place, part) in written.parts.iter_mut().zip(time.parts()) {
            *place = part.into();
            written.parts_length += 1;
        }
        written
    }
}

/// Predicts the time of a step of one server of the scenario.
///
/// An empty batch takes no time. Costs little more than the library's `total_time`; a batch of up to 1024 entries of
/// each kind is not copied to the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_step_time(
    scenario: Handle,
    batch: *const Batch,
    time: *mut Duration,
    error: *mut Error,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { answer(scenario, batch, (time, "time"), error, |run, batch| Ok(total_time(run, batch))) }
}

/// Predicts the time of a step by part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_step_parts(
    scenario: Handle,
    batch: *const Batch,
    time: *mut StepTime,
    error: *mut Error,
) -> u32 {
    let parts = |run: &Run, batch: &StepBatch<'_>| Ok(run.deployment().step_model().step_time(batch).into());
    // SAFETY: the caller's promise.
    unsafe { answer(scenario, batch, (time, "time"), error, parts) }
}

/// A range of times.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its low end, seconds.
    pub low_seconds: f64,
    /// Its high end, seconds.
    pub high_seconds: f64,
}

/// Predicts the interval that is expected to contain `coverage` of the measurements of such steps, a share between 0
/// and 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_step_interval(
    scenario: Handle,
    batch: *const Batch,
    coverage: f64,
    interval: *mut Interval,
    error: *mut Error,
) -> u32 {
    let within = |run: &Run, batch: &StepBatch<'_>| {
        let coverage = Coverage::try_new(coverage).map_err(|error| Failure::new(Code::Value, error))?;
        let interval = run.deployment().step_model().step_time(batch).interval(coverage);
        Ok(Interval { low_seconds: interval.low.0, high_seconds: interval.high.0 })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(scenario, batch, (interval, "interval"), error, within) }
}

/// Lists the kernels of a step with their work and times, and the peaks of the GPU, and returns a text of JSON: the keys
/// `kernels` and `peaks` of what `rooflut step --json` prints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_step_kernels(
    scenario: Handle,
    batch: *const Batch,
    kernels: *mut Handle,
    error: *mut Error,
) -> u32 {
    let list = |run: &Run, batch: &StepBatch<'_>| {
        let kernels = run.deployment().step_model().step_kernels(batch);
        json(&StepKernels::new(&kernels, run.deployment().tables().gpu()))
    };
    // SAFETY: the caller's promise.
    unsafe { answer(scenario, batch, (kernels, "kernels"), error, list) }
}

#[inline]
pub(crate) fn total_time(run: &Run, batch: &StepBatch<'_>) -> Duration {
    run.deployment().step_model().total_time(batch).into()
}

/// Writes the answer to a question about a step.
///
/// # Safety
/// The pointers are null or valid.
#[inline]
unsafe fn answer<T>(
    scenario: Handle,
    batch: *const Batch,
    (out, name): (*mut T, &str),
    error: *mut Error,
    ask: impl FnOnce(&Run, &StepBatch<'_>) -> Result<T, Failure>,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let (batch, out) = unsafe { (input(batch, "batch")?, Out::new(out, name)?) };
        REGISTRY.scenarios.read(scenario, |run| {
            // SAFETY: the caller's promise.
            let answer = unsafe { batch.with(|batch| ask(run, batch)) };
            out.set(answer?);
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_binding_and_class_has_a_number_of_its_own() {
        for (index, part) in library::Part::ALL.into_iter().enumerate() {
            assert_eq!(Part::from(part) as usize, index);
        }
        for (index, binding) in library::Binding::ALL.into_iter().enumerate() {
            assert_eq!(Binding::from(binding) as usize, index);
        }
        for (index, class) in table::Class::ALL.into_iter().enumerate() {
            assert_eq!(Class::from(class) as usize, index);
        }
        assert!(library::Part::ALL.len() <= StepTime::default().parts.len());
    }
}
