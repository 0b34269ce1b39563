//! The JSON output of `rooflut tables score`.

use rooflut_report::Provenance;
use rooflut_validation::Summary;
use serde::Serialize;

use crate::error::Error;
use crate::fields::Fields;
use crate::output::json;
use crate::score::{Group, Score, Scored, Split};
use crate::tallied::{NoteJson, SkippedJson};
use crate::validate::base_name;

/// Errors are in percent, latencies in microseconds.
#[derive(Serialize)]
struct ScoreJson<'s> {
    /// By metric, and of all rows if there are several metrics.
    summary: Vec<SummaryJson<'s>>,
    /// By class and extent.
    by_provenance: Vec<PartJson<'s>>,
    skipped: Vec<SkippedJson<'s>>,
    notes: Vec<NoteJson<'s>>,
    rows: Vec<RowJson<'s>>,
}

#[derive(Serialize)]
struct SummaryJson<'s> {
    file: &'s str,
    gpu: &'s str,
    metric: &'s str,
    #[serde(flatten)]
    errors: Summary,
}

#[derive(Serialize)]
struct PartJson<'s> {
    #[serde(flatten)]
    summary: SummaryJson<'s>,
    #[serde(flatten)]
    provenance: Provenance,
}

#[derive(Serialize)]
struct RowJson<'s> {
    file: &'s str,
    line: u64,
    op: &'static str,
    #[serde(flatten)]
    kernel: &'s Fields,
    predicted: f64,
    actual: f64,
    ape: f64,
    signed: f64,
    #[serde(flatten)]
    provenance: Provenance,
}

impl Score<'_> {
    /// Returns the JSON output.
    pub(crate) fn json(&self) -> Result<String, Error> {
        let file = &base_name(self.file);
        let whole = self.groups(Split::None);
        let parts = self.groups(Split::ByProvenance);
        json(&ScoreJson {
            summary: whole
                .iter()
                .map(|group| self.summary(file, group))
                .collect(),
            by_provenance: parts
                .iter()
                .map(|part| PartJson {
                    summary: self.summary(file, part),
                    provenance: part.provenance.into(),
                })
                .collect(),
            skipped: self
                .skipped
                .iter()
                .map(|tally| SkippedJson::new(file, tally))
                .collect(),
            notes: self
                .note
                .iter()
                .map(|note| NoteJson {
                    file,
                    note,
                    rows: self.rows_in_file(),
                })
                .collect(),
            rows: self.rows.iter().map(|row| self.row(file, row)).collect(),
        })
    }

    fn summary<'s>(&'s self, file: &'s str, group: &Group<'s>) -> SummaryJson<'s> {
        SummaryJson {
            file,
            gpu: self.set.name(),
            metric: group.metric,
            errors: group.errors,
        }
    }

    fn row<'s>(&self, file: &'s str, row: &'s Scored) -> RowJson<'s> {
        RowJson {
            file,
            line: row.line,
            op: self.operation.name(),
            kernel: &row.kernel,
            predicted: row.predicted,
            actual: row.actual,
            ape: row.signed.abs(),
            signed: row.signed,
            provenance: row.provenance.into(),
        }
    }
}
