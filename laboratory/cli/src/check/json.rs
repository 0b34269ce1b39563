//! The JSON output of `rooflut-lab tables check`.

use rooflut_inspect::{Excluded, Row};
use rooflut_report::fields;
use serde_json::{Value, json};

use super::warning::Warning;
use super::{Check, Checked};
use crate::coverage::{Cover, Coverage};
use crate::error::Error;
use crate::output::{joined, to_json};

impl Check<'_> {
    /// Returns the JSON output: errors in percent, latencies in microseconds, efficiencies as shares.
    pub(super) fn json(&self) -> Result<String, Error> {
        let set = &self.inspection.set;
        to_json(&json!({
            "set": set.name(),
            "gpu": set.gpu().name.as_str(),
            "rows": self.inspection.rows(),
            "excluded": self.inspection.excluded.iter().map(excluded).collect::<Value>(),
            "kernels": self.families.iter().map(kernels).collect::<Value>(),
            "warnings": self.warnings.iter().map(warning).collect::<Value>(),
            "coverage": self.coverage.iter().map(coverage).collect::<Value>(),
        }))
    }
}

fn excluded(excluded: &Excluded) -> Value {
    json!({
        "file": excluded.file,
        "reason": excluded.reason,
        "rows": excluded.rows,
        // In place of those of the rows; empty if these are left out.
        "latency_us": excluded.latency_us,
    })
}

fn kernels(checked: &Checked<'_>) -> Value {
    json!({
        "kernels": checked.family.name,
        "rows": checked.family.rows.len(),
        "outliers": checked.outliers.len(),
        "dips": checked.dip_count(),
        "suspects": checked.suspect_count(),
        // Null if no row has neighbours on all sides.
        "left_out": checked.errors.map(|errors| json!({
            "rows": errors.rows,
            "median_ape": 100.0 * errors.median,
            "p95_ape": 100.0 * errors.p95,
        })),
    })
}

fn warning(warning: &Warning<'_>) -> Value {
    json!({
        "kind": warning.kind(),
        "kernels": warning.kernels(),
        "message": warning.message(),
        // Latency of an outlier over the one that its neighbours suggest.
        "ratio": match warning {
            Warning::Outlier { ratio, .. } => Some(*ratio),
            Warning::Dips { .. } | Warning::Suspect { .. } => None,
        },
        // For dips, each faster row before the slower one.
        "rows": warning.rows().into_iter().map(row).collect::<Value>(),
    })
}

fn row(row: &Row) -> Value {
    // Rows of a built-in set have no location.
    let location = row.location.as_ref();
    joined([
        json!({
            "file": location.map(|location| location.file.as_str()),
            "line": location.map(|location| location.line),
            "op": row.kernel.operation().name(),
        }),
        json!(fields::measured(&row.kernel)),
        json!({"latency_us": row.latency_us, "efficiency": row.efficiency()}),
    ])
}

fn coverage(coverage: &Coverage) -> Value {
    let (class, part, refused) = match &coverage.cover {
        Cover::Answers { class, part } => (Some(class.name()), part.as_ref().map(ToString::to_string), None),
        Cover::Uneven(error) => (None, None, Some(error.to_string())),
        Cover::Refused(error) => (None, None, Some(error.to_string())),
    };
    json!({
        "model": coverage.model.name,
        "tp": coverage.tp,
        "class": class,
        // The first kernel of that class, null where all are measured.
        "part": part,
        // The reason why there is no answer.
        "refused": refused,
    })
}
