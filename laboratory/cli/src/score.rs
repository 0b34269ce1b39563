//! `rooflut-lab tables score`: compares a table set with measured kernels.

use std::collections::BTreeSet;
use std::path::Path;

use rooflut::op::Estimate;
use rooflut::table::{Class, Extent, Provenance, TableSet};
use rooflut_codegen::{ErrorKind, MeasuredRow, MeasuredRows, OperationKind};
use rooflut_inspect::family_name;
use rooflut_predecessors::leave_one_out::predict;
use rooflut_validation::{Remark, Summary, Tallies, Tally, signed_percent, summarize};

use crate::args::ScoreArgs;
use crate::error::Error;
use crate::tallied;
use rooflut_report::fields::{self, Fields};

/// The name of all metrics, or of all provenances, together.
const ALL: &str = "all";

/// Compares the set with the file and returns the text to print.
pub(crate) fn run(args: &ScoreArgs, set: &TableSet, json: bool) -> Result<String, Error> {
    let measured = rooflut_codegen::read_rows(&args.file, args.op, set.gpu())?;
    let score = Score::new(&args.file, set, measured);
    if score.rows.is_empty() {
        let reasons = tallied::reasons(None, &score.skipped);
        let problem = format!(
            "expected a row that table set {} can be compared with, found none: {}",
            set.name(),
            reasons.collect::<Vec<_>>().join("; ")
        );
        return Err(Error::in_file(&args.file, None, problem));
    }
    if json { score.json() } else { Ok(score.text()) }
}

/// A table set compared with a file.
pub(crate) struct Score<'f> {
    pub(crate) file: &'f Path,
    pub(crate) set: TableSet,
    pub(crate) operation: OperationKind,
    /// The rows, in the order of the file.
    pub(crate) rows: Vec<Scored>,
    /// Rows that cannot be compared by reason, in the order of their first lines.
    pub(crate) skipped: Vec<Tally>,
    /// A note on columns that were ignored.
    pub(crate) note: Option<String>,
}

/// A row that was compared.
pub(crate) struct Scored {
    pub(crate) line: u64,
    pub(crate) kernel: Fields,
    /// The operation and its formats.
    pub(crate) metric: String,
    /// Microseconds.
    pub(crate) predicted: f64,
    /// Microseconds.
    pub(crate) actual: f64,
    /// Percent.
    pub(crate) signed: f64,
    pub(crate) provenance: Provenance,
}

/// The errors of some rows.
pub(crate) struct Group<'s> {
    /// Their metric, or [`ALL`].
    pub(crate) metric: &'s str,
    /// Their provenance, if errors are grouped by it.
    pub(crate) provenance: Option<Provenance>,
    pub(crate) errors: Summary,
}

/// Whether errors are grouped by the provenance of the prediction.
#[derive(Clone, Copy)]
pub(crate) enum Split {
    /// All provenances together.
    None,
    /// Each provenance separately.
    ByProvenance,
}

impl<'f> Score<'f> {
    fn new(file: &'f Path, set: &TableSet, measured: MeasuredRows) -> Score<'f> {
        let mut rows = Vec::new();
        let refused = measured.refused.iter();
        let mut unscored: Vec<(u64, Remark)> = refused.map(|row| (row.line, refusal(&row.error))).collect();
        for row in &measured.rows {
            match predict(set, &row.kernel) {
                Ok(estimate) => rows.push(Scored::new(row, &estimate)),
                Err(error) => unscored.push((row.line, Remark::new(error.to_string()))),
            }
        }
        Score {
            file,
            set: set.clone(),
            operation: measured.operation,
            rows,
            skipped: by_reason(unscored),
            note: not_used(&measured.ignored),
        }
    }

    /// Returns the number of rows of the file, scored or not.
    pub(crate) fn rows_in_file(&self) -> usize {
        let skipped = self.skipped.iter().map(Tally::rows);
        self.rows.len() + skipped.sum::<usize>()
    }

    /// Returns the errors of each metric, in order of their names, and of all rows if there are several metrics.
    pub(crate) fn groups(&self, split: Split) -> Vec<Group<'_>> {
        let metrics: BTreeSet<&str> = self.rows.iter().map(|row| row.metric.as_str()).collect();
        let split: Vec<_> = match split {
            Split::None => vec![None],
            Split::ByProvenance => provenances().map(Some).collect(),
        };
        let mut groups = Vec::new();
        let all = (metrics.len() > 1).then_some(ALL);
        for metric in metrics.into_iter().chain(all) {
            for &provenance in &split {
                groups.extend(self.group(metric, provenance));
            }
        }
        groups
    }

    /// Returns the errors of `metric` and, if given, `provenance`; `None` if there are no rows.
    fn group<'s>(&self, metric: &'s str, provenance: Option<Provenance>) -> Option<Group<'s>> {
        let belongs = |row: &&Scored| {
            (metric == ALL || row.metric == metric) && provenance.is_none_or(|provenance| row.provenance == provenance)
        };
        let signed: Vec<f64> = self.rows.iter().filter(belongs).map(|row| row.signed).collect();
        Some(Group { metric, provenance, errors: summarize(&signed)? })
    }
}

impl Group<'_> {
    pub(crate) fn origin(&self) -> String {
        self.provenance.map_or(ALL.to_owned(), |provenance| provenance.to_string())
    }
}

impl Scored {
    fn new(row: &MeasuredRow, estimate: &Estimate) -> Scored {
        let predicted = estimate.time.us();
        Scored {
            line: row.line,
            kernel: fields::measured(&row.kernel),
            metric: family_name(&row.kernel),
            predicted,
            actual: row.latency_us,
            signed: signed_percent(predicted, row.latency_us),
            provenance: estimate.provenance,
        }
    }
}

/// Every provenance, the better classes first.
fn provenances() -> impl Iterator<Item = Provenance> {
    let classes = Class::ALL.into_iter();
    classes.flat_map(|class| Extent::ALL.map(|extent| Provenance::new(class, extent)))
}

/// Counts rows by reason, in the order of their first lines.
fn by_reason(mut rows: Vec<(u64, Remark)>) -> Vec<Tally> {
    rows.sort_by_key(|(line, _)| *line);
    let mut tallies = Tallies::default();
    for (line, reason) in rows {
        tallies.count(line, reason);
    }
    let mut list = tallies.list();
    list.sort_by_key(|tally| tally.lines.first().copied());
    list
}

/// Lists the ignored columns that have a name.
fn not_used(columns: &[String]) -> Option<String> {
    let columns: BTreeSet<&str> = columns.iter().map(String::as_str).collect();
    let names: Vec<&str> = columns.into_iter().filter(|name| !name.is_empty()).collect();
    let text = format!("columns that are not used: {}", names.join(", "));
    (!names.is_empty()).then_some(text)
}

/// Returns why a row cannot be compared, in the same words for all rows of one cause.
fn refusal(error: &rooflut_codegen::Error) -> Remark {
    let expected = error.expected();
    match error.kind() {
        ErrorKind::Impossible { limit } => Remark::new(format!(
            "faster than {limit} allows; use the set of the GPU that was measured, or {}",
            error.hint()
        )),
        ErrorKind::MfuDisagrees => Remark::new(
            "mfu does not follow from latency_us, FLOPs and the GPU's peak; check the dtype, or remove \
             the column",
        ),
        ErrorKind::WarmUp => Remark::new("a warm-up run (warmup is 1)"),
        // A whole row is too long to show.
        ErrorKind::Row => Remark::new(format!("expected {expected}, found more or fewer")),
        ErrorKind::Value => {
            let before = format!("{}: expected {expected}, found", error.field());
            Remark::naming([&before, &before], error.found(), "")
        }
        _ => Remark::new(error.to_string()),
    }
}
