//! The JSON output of `rooflut tables check`.

use rooflut_inspect::{Cover, Coverage, Row};
use serde::Serialize;

use super::warning::Warning;
use super::{Check, Checked};
use crate::error::Error;
use crate::fields::{self, Fields};
use crate::output::json;

/// Errors are in percent, latencies in microseconds, efficiencies shares.
#[derive(Serialize)]
struct CheckJson<'c> {
    set: &'c str,
    gpu: &'c str,
    rows: usize,
    kernels: Vec<KernelsJson<'c>>,
    warnings: Vec<WarningJson<'c>>,
    coverage: Vec<CoverageJson>,
}

#[derive(Serialize)]
struct KernelsJson<'c> {
    kernels: &'c str,
    rows: usize,
    outliers: usize,
    dips: usize,
    /// None if no row has neighbours on all sides.
    left_out: Option<LeftOutJson>,
}

#[derive(Serialize)]
struct LeftOutJson {
    rows: usize,
    median_ape: f64,
    p95_ape: f64,
}

#[derive(Serialize)]
struct WarningJson<'c> {
    kind: &'static str,
    kernels: &'c str,
    message: String,
    /// Latency of an outlier over the one that its neighbours suggest.
    ratio: Option<f64>,
    /// For dips, each faster row before the slower one.
    rows: Vec<RowJson<'c>>,
}

#[derive(Serialize)]
struct RowJson<'c> {
    /// None in a built-in set.
    file: Option<&'c str>,
    line: Option<u64>,
    op: &'static str,
    #[serde(flatten)]
    kernel: Fields,
    latency_us: f64,
    efficiency: f64,
}

#[derive(Serialize)]
struct CoverageJson {
    model: &'static str,
    tp: u32,
    /// None if there is no answer.
    class: Option<&'static str>,
    /// The first kernel of that class, none where all are measured.
    part: Option<String>,
    /// The reason why there is no answer.
    refused: Option<String>,
}

impl Check<'_> {
    /// Returns the JSON output.
    pub(super) fn json(&self) -> Result<String, Error> {
        let set = &self.inspection.set;
        json(&CheckJson {
            set: set.name(),
            gpu: set.gpu().name.as_str(),
            rows: self.inspection.rows(),
            kernels: self.families.iter().map(KernelsJson::new).collect(),
            warnings: self.warnings.iter().map(WarningJson::new).collect(),
            coverage: self.coverage.iter().map(CoverageJson::new).collect(),
        })
    }
}

impl<'c> KernelsJson<'c> {
    fn new(checked: &Checked<'c>) -> KernelsJson<'c> {
        KernelsJson {
            kernels: &checked.family.name,
            rows: checked.family.rows.len(),
            outliers: checked.outliers.len(),
            dips: checked.dip_count(),
            left_out: checked.errors.map(|errors| LeftOutJson {
                rows: errors.rows,
                median_ape: 100.0 * errors.median,
                p95_ape: 100.0 * errors.p95,
            }),
        }
    }
}

impl<'c> WarningJson<'c> {
    fn new(warning: &'c Warning<'_>) -> WarningJson<'c> {
        WarningJson {
            kind: warning.kind(),
            kernels: warning.kernels(),
            message: warning.message(),
            ratio: match warning {
                Warning::Outlier { ratio, .. } => Some(*ratio),
                Warning::Dips { .. } => None,
            },
            rows: warning.rows().into_iter().map(RowJson::new).collect(),
        }
    }
}

impl<'c> RowJson<'c> {
    fn new(row: &'c Row) -> RowJson<'c> {
        let location = row.location.as_ref();
        RowJson {
            file: location.map(|location| location.file.as_str()),
            line: location.map(|location| location.line),
            op: row.kernel.operation().name(),
            kernel: fields::measured(&row.kernel),
            latency_us: row.latency_us,
            efficiency: row.efficiency(),
        }
    }
}

impl CoverageJson {
    fn new(coverage: &Coverage) -> CoverageJson {
        let (class, part, refused) = match &coverage.cover {
            Cover::Answers { class, part } => {
                (Some(class.name()), part.map(|part| part.to_string()), None)
            }
            Cover::Uneven(error) => (None, None, Some(error.to_string())),
            Cover::Refused(error) => (None, None, Some(error.to_string())),
        };
        CoverageJson {
            model: coverage.model.name,
            tp: coverage.tp,
            class,
            part,
            refused,
        }
    }
}
