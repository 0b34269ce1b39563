//! Requests from a CSV file.

use std::collections::BTreeSet;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use rooflut::sim::Request;
use rooflut::units::Seconds;

use crate::clock::{LATEST_ARRIVAL_MS, LATEST_ARRIVAL_NS};
use crate::error::Error;
use crate::trace_error::{EXPERIMENT, TraceError};
use crate::value::Condition;

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
    let refused = |error| from_csv(bytes, error);
    let header = reader.headers().map_err(refused)?.clone();
    if header.is_empty() || bytes.trim_ascii().is_empty() {
        return Err(TraceError::EmptyFile);
    }
    let columns = Columns::find(&header, line_of(bytes, header.position()), conditions)?;
    let mut requests = Vec::new();
    let mut experiments = BTreeSet::new();
    // The values of the first condition's column, to say what there is if nothing fulfils it.
    let mut values = BTreeSet::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(refused)? {
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
        let request = columns.request(&record).map_err(|what| TraceError::Line {
            line: line_of(bytes, record.position()),
            what,
        })?;
        requests.push(request);
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
        (true, _) => Err(TraceError::NoRows),
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
    /// The columns of `header`, which is on `line`.
    fn find(
        header: &StringRecord,
        line: u64,
        conditions: &'c [Condition],
    ) -> Result<Columns<'c>, TraceError> {
        let mut names = BTreeSet::new();
        // Several columns without a name, as trailing commas make them, do no harm.
        let mut twice = header
            .iter()
            .filter(|name| !name.is_empty() && !names.insert(*name));
        if let Some(column) = twice.next() {
            return Err(TraceError::SeveralColumns {
                line,
                column: column.to_owned(),
            });
        }
        let place = |name: &str| header.iter().position(|column| column == name);
        let required = |name| place(name).ok_or_else(|| TraceError::no_column(line, name, header));
        let columns = Columns {
            arrival_ms: required("arrival_ms")?,
            prompt_tokens: required("prompt_tokens")?,
            output_tokens: required("output_tokens")?,
            cached_prompt_tokens: place("cached_prompt_tokens"),
            experiment: place(EXPERIMENT),
            conditions: Vec::new(),
        };
        let conditions = conditions.iter().map(|condition| {
            let column = place(&condition.column);
            let column = column.ok_or_else(|| TraceError::NoConditionColumn {
                column: condition.column.clone(),
                found: header.iter().map(str::to_owned).collect(),
            })?;
            Ok((column, condition.value.as_str()))
        });
        Ok(Columns {
            conditions: conditions.collect::<Result<_, _>>()?,
            ..columns
        })
    }

    /// The request of a row, or what is wrong with the row.
    fn request(&self, record: &StringRecord) -> Result<Request, String> {
        let bad = |column: &str, expected: &str, found: &str| {
            format!("{column}: expected {expected}, found \"{found}\"")
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
        let arrival_ns = Seconds::from_us(arrival_ms * 1e3).to_nanos();
        if arrival_ns > LATEST_ARRIVAL_NS {
            let expected = format!("at most {LATEST_ARRIVAL_MS} milliseconds");
            return Err(bad("arrival_ms", &expected, arrival));
        }
        let prompt_tokens = tokens("prompt_tokens", self.prompt_tokens)?;
        let cached_prompt_tokens = match self.cached_prompt_tokens {
            Some(column) => tokens("cached_prompt_tokens", column)?,
            None => 0,
        };
        if cached_prompt_tokens > prompt_tokens {
            let expected = format!("at most prompt_tokens ({prompt_tokens})");
            let found = cached_prompt_tokens.to_string();
            return Err(bad("cached_prompt_tokens", &expected, &found));
        }
        Ok(Request {
            arrival_ns,
            prompt_tokens,
            output_tokens: tokens("output_tokens", self.output_tokens)?,
            cached_prompt_tokens,
            ..Request::default()
        })
    }
}

fn field(record: &StringRecord, column: usize) -> &str {
    record.get(column).unwrap_or_default()
}

/// An error of the reader, with its line where it has one.
fn from_csv(bytes: &[u8], error: csv::Error) -> TraceError {
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("expected {expected_len} fields, found {len}"),
        csv::ErrorKind::Utf8 { .. } => "expected UTF-8 text, found other bytes".to_owned(),
        _ => return TraceError::Csv(error),
    };
    TraceError::Line {
        line: line_of(bytes, error.position()),
        what,
    }
}

/// The line on which the record at `position` begins.
///
/// The position is that of the blank lines before the record, so its own line number is too small.
fn line_of(bytes: &[u8], position: Option<&csv::Position>) -> u64 {
    let start = position.map_or(0, |position| position.byte() as usize);
    let blank = bytes.iter().skip(start);
    let blank = blank.take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let before = bytes.get(..start + blank.count()).unwrap_or(bytes);
    let after = before.iter().skip(1).chain([&0]);
    let ends = before.iter().zip(after);
    let ends = ends.filter(|&(&byte, &next)| byte == b'\n' || byte == b'\r' && next != b'\n');
    1 + ends.count() as u64
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
            ..Request::default()
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
        assert!(
            message.ends_with(
                "no column experment (nearest: experiment); use one of experiment, arrival_ms, \
                 prompt_tokens, output_tokens"
            ),
            "{message}"
        );
    }

    const HEADER: &str = "arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens";

    #[test]
    fn blank_lines_count_in_line_numbers() {
        for [end, line] in [["\n", "5"], ["\r\n", "5"], ["\r", "5"]] {
            for row in ["10,100", "10,x,5,0"] {
                let lines = [HEADER, "0,100,5,0", "", "", row];
                let message = requests(&lines.join(end), &[]).unwrap_err();
                assert!(message.starts_with(&format!(":{line}: ")), "{message}");
            }
        }
        let message = requests("\n\nfirst,second\n1,2\n", &[]).unwrap_err();
        assert!(message.starts_with(":3: no column"), "{message}");
        let quoted = "note,arrival_ms,prompt_tokens,output_tokens\n\"a\nb\",0,1,1\n\nc,0,x,1\n";
        let message = requests(quoted, &[]).unwrap_err();
        assert!(message.starts_with(":5: prompt_tokens"), "{message}");
    }

    #[test]
    fn a_missing_column_is_not_one_that_is_needed_for_something_else() {
        let message = requests("arrival_ms,prompt_tokens\n0,1\n", &[]).unwrap_err();
        assert_eq!(
            message,
            ":1: no column output_tokens, found arrival_ms, prompt_tokens; expected arrival_ms, \
             prompt_tokens, output_tokens[, cached_prompt_tokens]"
        );
        let message = requests("arrival_ms,prompt_tokens,output\n0,1,1\n", &[]).unwrap_err();
        assert_eq!(message, ":1: no column output_tokens; rename output?");
    }

    #[test]
    fn a_file_without_a_header_or_rows_is_refused() {
        let rowless = format!("{HEADER}\n");
        assert!(requests(&rowless, &[]).unwrap_err().contains("no rows"));
        for empty in ["", "\n\r\n", " \n", "\u{feff}"] {
            let message = requests(empty, &[]).unwrap_err();
            assert!(message.starts_with(": the file is empty"), "{message}");
        }
    }

    #[test]
    fn other_separators_are_named() {
        for (separator, name) in [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")] {
            let text = format!("{HEADER}\n0,1,1,0\n").replace(',', separator);
            let message = requests(&text, &[]).unwrap_err();
            let expected = format!(":1: expected columns separated by commas, found {name}");
            assert!(message.starts_with(&expected), "{message}");
        }
    }

    #[test]
    fn a_column_that_occurs_twice_is_refused() {
        let message = requests(&format!("{HEADER},arrival_ms\n0,1,1,0,5\n"), &[]).unwrap_err();
        assert!(
            message.starts_with(":1: expected one column arrival_ms, found several"),
            "{message}"
        );
        let nameless = requests(&format!("{HEADER},,\n0,1,1,0,,\n"), &[]);
        assert_eq!(nameless.map(|requests| requests.len()), Ok(1));
    }

    #[test]
    fn more_cached_than_there_is_and_arrivals_beyond_the_clock_are_refused() {
        let message = |row: &str| requests(&format!("{HEADER}\n{row}\n"), &[]).unwrap_err();
        assert_eq!(
            message("0,100,5,101"),
            ":2: cached_prompt_tokens: expected at most prompt_tokens (100), found \"101\"; correct \
             this line"
        );
        for arrival in ["9223372036855", "1e300"] {
            assert_eq!(
                message(&format!("{arrival},100,5,0")),
                format!(
                    ":2: arrival_ms: expected at most 9223372036854 milliseconds, found \
                     \"{arrival}\"; correct this line"
                )
            );
        }
        let most = format!("{HEADER}\n9223372036854,100,5,100\n");
        assert!(requests(&most, &[]).is_ok());
    }
}
