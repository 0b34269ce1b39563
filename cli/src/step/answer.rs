//! The time of a step.

use rooflut::interval::{Coverage, Interval};
use rooflut::step::{Binding, PartTime, StepKernel, StepTime, TimeSource};
use rooflut::table::Provenance;
use rooflut::units::Seconds;
use rooflut_report::{FlaggedRow, KernelWork};
use serde::Serialize;

/// A step's time, whichever model gave it.
pub struct Answer {
    /// The whole time.
    pub total: Seconds,
    /// The times that are shown one by one.
    pub parts: Vec<Part>,
    /// Returns the resource that binds the step, if the model reports it.
    pub binding: Option<Binding>,
    /// The worst of what was looked up, if anything was.
    pub provenance: Option<Provenance>,
    /// Fitted share of the time, if the model reports it.
    pub fitted_share: Option<f64>,
    /// The range of measurements, if the model's errors are known.
    pub interval: Option<(Coverage, Interval)>,
    /// The time of each pipeline stage, if the model knows the stages.
    pub stages: Vec<Seconds>,
    /// The kernels, if the model lists them.
    pub kernels: Vec<StepKernel>,
    /// Rows of the tables that stand out and on which the time depends.
    pub flagged: Vec<FlaggedRow>,
}

/// A part of a step.
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its time.
    pub time: Seconds,
    /// The resource that binds it, if the model reports it.
    pub binding: Option<Binding>,
    /// Where it comes from, where the model says so.
    pub source: Option<TimeSource>,
    /// The set whose rows show the errors of the lookups, if there were lookups.
    pub errors_set: Option<&'static str>,
}

impl From<StepTime> for Answer {
    fn from(time: StepTime) -> Answer {
        let part = |part: PartTime| Part {
            name: part.part.name(),
            time: part.time,
            binding: Some(part.binding),
            source: Some(part.source),
            errors_set: part.source.provenance().map(|it| part.errors.set(it.extent)),
        };
        Answer {
            total: time.total(),
            parts: time.parts().map(part).collect(),
            binding: Some(time.binding()),
            provenance: time.provenance(),
            fitted_share: Some(time.fitted_share()),
            interval: None,
            stages: Vec::new(),
            kernels: Vec::new(),
            flagged: Vec::new(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// A part of a step; null for what the latency model does not say.
pub(super) struct PartJson {
    ms: f64,
    /// The resource that binds it.
    binding: Option<&'static str>,
    /// `tables`, `fitted` or `both`.
    source: Option<&'static str>,
    fitted_share: Option<f64>,
    #[serde(flatten)]
    provenance: rooflut_report::Provenance,
    #[serde(flatten)]
    work: KernelWork,
}

impl PartJson {
    pub(super) fn new(part: &Part, kernels: &[StepKernel]) -> PartJson {
        let source = part.source.map(|source| match (source.provenance(), source.fitted_share()) {
            (None, _) => "fitted",
            (Some(_), 0.0) => "tables",
            (Some(_), _) => "both",
        });
        let provenance = part.source.and_then(TimeSource::provenance);
        PartJson {
            ms: part.time.ms(),
            binding: part.binding.map(Binding::name),
            source,
            fitted_share: part.source.map(TimeSource::fitted_share),
            provenance: rooflut_report::Provenance::from(provenance),
            work: KernelWork::of_part(part.name, kernels),
        }
    }
}
