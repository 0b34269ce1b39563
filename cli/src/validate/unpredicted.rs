//! Why none of the rows can be predicted.

use std::fmt;

use rooflut_validation::{FileReport, Tally};

use crate::tallied;

/// Why none of the rows can be predicted: files and reasons.
#[derive(Debug)]
pub(crate) struct Unpredicted(Vec<(String, Tally)>);

impl Unpredicted {
    /// All reasons of all files.
    pub(super) fn new(reports: &[FileReport]) -> Unpredicted {
        let reasons = reports.iter().flat_map(|report| {
            let skipped = report.skipped.iter();
            skipped.map(|tally| (report.file.clone(), tally.clone()))
        });
        Unpredicted(reasons.collect())
    }
}

impl fmt::Display for Unpredicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no row can be predicted")?;
        for (index, (file, tally)) in self.0.iter().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            let rows = tallied::rows(tally);
            write!(f, "{separator}{rows} of {file}: {}", tally.text)?;
        }
        write!(f, "; correct the rows, or use others")
    }
}
