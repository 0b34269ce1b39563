//! Requests from a CSV file.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use rooflut::sim::Request;
use rooflut::units::Seconds;

use crate::error::Error;
use crate::suggest::nearest;
use crate::value::Condition;

/// The column that tells the runs of a file apart.
const EXPERIMENT: &str = "experiment";
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
    NoColumn { column: String, found: Vec<String> },
    /// The file has several experiments.
    SeveralExperiments { values: BTreeSet<String> },
    /// No row fulfils the conditions.
    NoMatch {
        column: String,
        values: BTreeSet<String>,
    },
    /// The file has no rows.
    Empty,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Line { line, what } => write!(f, ":{line}: {what}; correct this line"),
            TraceError::Csv(error) => write!(f, ": {error}; expected comma-separated UTF-8"),
            TraceError::NoColumn { column, found } => {
                let found_names = found.iter().map(String::as_str);
                match nearest(column, found_names).first() {
                    Some(near) => write!(f, ":1: no column {column}; rename {near}?"),
                    None => write!(
                        f,
                        ":1: no column {column}, found {}; expected arrival_ms, prompt_tokens, \
                         output_tokens[, cached_prompt_tokens]",
                        found.join(", ")
                    ),
                }
            }
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
            TraceError::Empty => write!(f, ": no rows; expected one line per request"),
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

/// The requests of the rows that fulfil all `conditions`, in the order of the file.
pub(crate) fn read(path: &Path, conditions: &[Condition]) -> Result<Vec<Request>, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::Read {
        path: path.to_owned(),
        error,
    })?;
    parse(&bytes, conditions).map_err(|error| Error::Trace {
        path: path.to_owned(),
        error,
    })
}

fn parse(bytes: &[u8], conditions: &[Condition]) -> Result<Vec<Request>, TraceError> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(line_of)?.clone();
    let columns = Columns::find(&header, conditions)?;
    let mut requests = Vec::new();
    let mut experiments = BTreeSet::new();
    // The values of the first condition's column, to say what there is if nothing fulfils it.
    let mut values = BTreeSet::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(line_of)? {
        if let Some((column, _)) = columns.conditions.first() {
            remember(&mut values, field(&record, *column));
        }
        let fulfils = |(column, value): &(usize, &str)| field(&record, *column) == *value;
        if !columns.conditions.iter().all(fulfils) {
            continue;
        }
        if let Some(column) = columns.experiment {
            remember(&mut experiments, field(&record, column));
        }
        requests.push(columns.request(&record)?);
    }
    if experiments.len() > 1 {
        return Err(TraceError::SeveralExperiments {
            values: experiments,
        });
    }
    match (requests.is_empty(), conditions.first()) {
        (false, _) => Ok(requests),
        (true, Some(condition)) if !values.is_empty() => Err(TraceError::NoMatch {
            column: condition.column.clone(),
            values,
        }),
        (true, _) => Err(TraceError::Empty),
    }
}

fn remember(values: &mut BTreeSet<String>, value: &str) {
    if !values.contains(value) {
        values.insert(value.to_owned());
    }
}

/// Where the columns are.
struct Columns<'c> {
    arrival_ms: usize,
    prompt_tokens: usize,
    output_tokens: usize,
    cached_prompt_tokens: Option<usize>,
    experiment: Option<usize>,
    conditions: Vec<(usize, &'c str)>,
}

impl<'c> Columns<'c> {
    fn find(header: &StringRecord, conditions: &'c [Condition]) -> Result<Columns<'c>, TraceError> {
        let place = |name: &str| header.iter().position(|column| column == name);
        let required = |name: &str| {
            place(name).ok_or_else(|| TraceError::NoColumn {
                column: name.to_owned(),
                found: header.iter().map(str::to_owned).collect(),
            })
        };
        let conditions = conditions.iter().map(|condition| {
            let column = required(&condition.column)?;
            Ok((column, condition.value.as_str()))
        });
        Ok(Columns {
            arrival_ms: required("arrival_ms")?,
            prompt_tokens: required("prompt_tokens")?,
            output_tokens: required("output_tokens")?,
            cached_prompt_tokens: place("cached_prompt_tokens"),
            experiment: place(EXPERIMENT),
            conditions: conditions.collect::<Result<_, _>>()?,
        })
    }

    fn request(&self, record: &StringRecord) -> Result<Request, TraceError> {
        let line = record.position().map_or(0, csv::Position::line);
        let bad = |column: &str, expected: &str, found: &str| TraceError::Line {
            line,
            what: format!("{column}: expected {expected}, found \"{found}\""),
        };
        let tokens = |name: &str, column: usize| {
            let text = field(record, column);
            let parsed = text.parse::<u32>();
            parsed.map_err(|_| bad(name, "a whole number of tokens", text))
        };
        let arrival = field(record, self.arrival_ms);
        let arrival_ms = arrival.parse::<f64>().ok();
        let arrival_ms = arrival_ms
            .filter(|ms| *ms >= 0.0 && ms.is_finite())
            .ok_or_else(|| bad("arrival_ms", "milliseconds, 0 or more", arrival))?;
        Ok(Request {
            arrival_ns: Seconds::from_us(arrival_ms * 1e3).to_nanos(),
            prompt_tokens: tokens("prompt_tokens", self.prompt_tokens)?,
            output_tokens: tokens("output_tokens", self.output_tokens)?,
            cached_prompt_tokens: match self.cached_prompt_tokens {
                Some(column) => tokens("cached_prompt_tokens", column)?,
                None => 0,
            },
        })
    }
}

fn field(record: &StringRecord, column: usize) -> &str {
    record.get(column).unwrap_or_default()
}

/// An error of the reader, with its line where it has one.
fn line_of(error: csv::Error) -> TraceError {
    let Some(line) = error.position().map(csv::Position::line) else {
        return TraceError::Csv(error);
    };
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("expected {expected_len} fields, found {len}")
        }
        csv::ErrorKind::Utf8 { .. } => "expected UTF-8 text, found other bytes".to_owned(),
        _ => return TraceError::Csv(error),
    };
    TraceError::Line { line, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(text: &str, conditions: &[&str]) -> Result<Vec<Request>, String> {
        let conditions: Vec<Condition> = conditions
            .iter()
            .map(|text| crate::value::condition(text).unwrap())
            .collect();
        parse(text.as_bytes(), &conditions).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_are_found_by_name_and_others_ignored() {
        let text = "output_tokens,user,arrival_ms, prompt_tokens\n7,a, 1.5,100\n";
        let expected = Request {
            arrival_ns: 1_500_000,
            prompt_tokens: 100,
            output_tokens: 7,
            cached_prompt_tokens: 0,
        };
        assert_eq!(requests(text, &[]), Ok(vec![expected]));
        let text = "arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens\n0,100,7,64\n";
        assert_eq!(requests(text, &[]).unwrap()[0].cached_prompt_tokens, 64);
    }

    #[test]
    fn bad_lines_are_named_by_their_number() {
        let message = |line: &str| {
            let text = format!("arrival_ms,prompt_tokens,output_tokens\n0,1,1\n{line}\n");
            requests(&text, &[]).unwrap_err()
        };
        assert_eq!(
            message("1,x,3"),
            ":3: prompt_tokens: expected a whole number of tokens, found \"x\"; correct this line"
        );
        for line in [
            "-1,2,3", "NaN,2,3", "inf,2,3", "1,-2,3", "1,2,3.5", "1,,3", "1,2", "1,2,3,4",
        ] {
            assert!(message(line).starts_with(":3: "), "{}", message(line));
        }
    }

    #[test]
    fn one_experiment_is_picked() {
        let text = "experiment,arrival_ms,prompt_tokens,output_tokens\na,0,1,1\nb,0,2,1\na,1,3,1\n";
        let message = requests(text, &[]).unwrap_err();
        assert!(message.contains("2 values (a, b)"), "{message}");
        assert_eq!(requests(text, &["experiment=a"]).unwrap().len(), 2);
        let message = requests(text, &["experiment=c"]).unwrap_err();
        assert!(message.ends_with("column experiment has a, b"), "{message}");
        let message = requests(text, &["experment=a"]).unwrap_err();
        assert!(message.contains("rename experiment?"), "{message}");
    }

    #[test]
    fn a_missing_column_and_an_empty_file_are_refused() {
        let message = requests("arrival_ms,prompt_tokens\n0,1\n", &[]).unwrap_err();
        assert!(
            message.starts_with(":1: no column output_tokens"),
            "{message}"
        );
        let header = "arrival_ms,prompt_tokens,output_tokens\n";
        assert!(requests(header, &[]).unwrap_err().contains("no rows"));
        assert!(requests("", &[]).is_err());
    }
}
