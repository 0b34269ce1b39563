//! Two reports side by side.

mod causes;
mod error;
mod figures;
mod read;
mod settings;

pub use causes::{Cause, Term};
pub use error::CompareError;
pub use figures::Figure;
pub use read::ReadReport;
pub use settings::Setting;

use serde::Serialize;

/// Two reports side by side: what was given, what was predicted, and which terms the differences consist of.
///
/// ```
/// use rooflut_report::compare::{Comparison, ReadReport};
/// let error = ReadReport::read(b"{\"model\": \"llama-3.1-8b\"}").unwrap_err();
/// assert!(error.to_string().contains("missing field `gpu`"), "{error}");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What was given and differs.
    pub settings: Vec<Setting>,
    /// Figures of both, in the order of a report.
    pub figures: Vec<Figure>,
    /// Differences with their terms.
    pub causes: Vec<Cause>,
    /// Remarks on queues, batches and memory.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// Compares two reports.
    pub fn of(a: &ReadReport, b: &ReadReport) -> Comparison {
        Comparison {
            settings: settings::differing(a, b),
            figures: figures::of(&a.figures, &b.figures),
            causes: causes::of(&a.figures, &b.figures),
            remarks: causes::remarks(a, b),
        }
    }
}
