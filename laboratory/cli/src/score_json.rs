//! The JSON output of `rooflut-lab tables score`.

use rooflut_report::Provenance;
use rooflut_validation::{FlatNote, FlatSkipped};
use serde_json::{Value, json};

use crate::error::Error;
use crate::output::{joined, to_json};
use crate::score::{Group, Score, Scored, Split};
use crate::validate::base_name;

impl Score<'_> {
    /// Returns the JSON output: errors in percent, latencies in microseconds.
    pub(crate) fn json(&self) -> Result<String, Error> {
        let file = &base_name(self.file);
        let whole = self.groups(Split::None);
        let parts = self.groups(Split::ByProvenance);
        let part = |part: &Group<'_>| {
            let provenance = json!(Provenance::from(part.provenance));
            joined([self.group_json(file, part), provenance])
        };
        let skipped = self.skipped.iter().map(|tally| json!(FlatSkipped::new(file, tally)));
        let notes = self.note.iter().map(|note| json!(FlatNote::new(file, note, self.rows_in_file())));
        to_json(&json!({
            "summary": whole.iter().map(|group| self.group_json(file, group)).collect::<Value>(),
            "by_provenance": parts.iter().map(part).collect::<Value>(),
            "skipped": skipped.collect::<Value>(),
            "notes": notes.collect::<Value>(),
            "rows": self.rows.iter().map(|row| self.row_json(file, row)).collect::<Value>(),
        }))
    }

    fn group_json(&self, file: &str, group: &Group<'_>) -> Value {
        joined([json!({"file": file, "gpu": self.set.name(), "metric": group.metric}), json!(group.errors)])
    }

    fn row_json(&self, file: &str, row: &Scored) -> Value {
        joined([
            json!({"file": file, "line": row.line, "op": self.operation.name()}),
            json!(row.kernel),
            json!({
                "predicted": row.predicted,
                "actual": row.actual,
                "ape": row.signed.abs(),
                "signed": row.signed,
            }),
            json!(Provenance::from(row.provenance)),
        ])
    }
}
