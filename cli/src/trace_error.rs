//! Why a trace cannot be replayed.

use std::collections::BTreeSet;
use std::fmt;

use csv::StringRecord;

use crate::suggest::nearest;

/// The column that tells the runs of a file apart.
pub(crate) const EXPERIMENT: &str = "experiment";
/// The columns that mean something.
const KNOWN: [&str; 5] = [
    "arrival_ms",
    "prompt_tokens",
    "output_tokens",
    "cached_prompt_tokens",
    EXPERIMENT,
];
/// The columns that a message asks for.
const EXPECTED: &str = "arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens]";
/// Characters that separate columns in other files, and what they are called.
const SEPARATORS: [(char, &str); 3] = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
/// The most values that a message lists.
const MOST_VALUES: usize = 8;

/// Why a trace cannot be replayed. Messages follow the name of the file.
#[derive(Debug)]
pub(crate) enum TraceError {
    /// A line is not what it should be.
    Line { line: u64, what: String },
    /// It is not CSV.
    Csv(csv::Error),
    /// A column is missing.
    NoColumn {
        line: u64,
        column: &'static str,
        found: Vec<String>,
    },
    /// A condition is on a column that does not exist.
    NoConditionColumn { column: String, found: Vec<String> },
    /// A column occurs more than once.
    SeveralColumns { line: u64, column: String },
    /// Something else than a comma separates the columns.
    Separator { line: u64, found: &'static str },
    /// The file has several experiments.
    SeveralExperiments { values: BTreeSet<String> },
    /// No row fulfils the conditions.
    NoMatch {
        column: String,
        values: BTreeSet<String>,
    },
    /// The file has nothing at all.
    EmptyFile,
    /// The file has no rows.
    NoRows,
}

impl TraceError {
    /// That `header`, on `line`, has no `column`, or the reason for it.
    pub(crate) fn no_column(line: u64, column: &'static str, header: &StringRecord) -> TraceError {
        let separator = SEPARATORS.into_iter().find(|(separator, _)| {
            header.len() == 1 && header.iter().any(|c| c.contains(*separator))
        });
        match separator {
            Some((_, found)) => TraceError::Separator { line, found },
            None => TraceError::NoColumn {
                line,
                column,
                found: header.iter().map(str::to_owned).collect(),
            },
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Line { line, what } => write!(f, ":{line}: {what}; correct this line"),
            TraceError::Csv(error) => write!(f, ": {error}; expected comma-separated UTF-8"),
            TraceError::NoColumn {
                line,
                column,
                found,
            } => {
                let others = found.iter().map(String::as_str);
                let others = others.filter(|name| !KNOWN.contains(name));
                match nearest(column, others).first() {
                    Some(near) => write!(f, ":{line}: no column {column}; rename {near}?"),
                    None => write!(
                        f,
                        ":{line}: no column {column}, found {}; expected {EXPECTED}",
                        found.join(", ")
                    ),
                }
            }
            TraceError::NoConditionColumn { column, found } => {
                write!(f, ": --where: no column {column}")?;
                if let Some(near) = nearest(column, found.iter().map(String::as_str)).first() {
                    write!(f, " (nearest: {near})")?;
                }
                write!(f, "; use one of {}", found.join(", "))
            }
            TraceError::SeveralColumns { line, column } => write!(
                f,
                ":{line}: expected one column {column}, found several; rename or remove the others"
            ),
            TraceError::Separator { line, found } => write!(
                f,
                ":{line}: expected columns separated by commas, found {found}; replace them"
            ),
            TraceError::SeveralExperiments { values } => write!(
                f,
                ": column {EXPERIMENT} has {} values ({}); pick one with --where {EXPERIMENT}=NAME",
                values.len(),
                list(values)
            ),
            TraceError::NoMatch { column, values } => write!(
                f,
                ": no row fulfils every --where; column {column} has {}",
                list(values)
            ),
            TraceError::EmptyFile => write!(
                f,
                ": the file is empty; expected a header ({EXPECTED}) and one line per request"
            ),
            TraceError::NoRows => write!(f, ": no rows; expected one line per request"),
        }
    }
}

fn list(values: &BTreeSet<String>) -> String {
    let first: Vec<&str> = values
        .iter()
        .take(MOST_VALUES)
        .map(String::as_str)
        .collect();
    let more = if values.len() > MOST_VALUES {
        ", ..."
    } else {
        ""
    };
    first.join(", ") + more
}
