//! Files of lengths.

use std::fmt;
use std::path::Path;

use rooflut::sim::SimError;
use rooflut::sim::load::Lengths;

use super::range::Range;
use crate::error::Error;

/// The lengths of a file, and figures of them.
#[derive(Debug)]
pub(crate) struct FileLengths {
    pub(super) lengths: Lengths,
    pub(super) values: usize,
    /// By weight.
    pub(super) mean: f64,
    pub(super) shortest: u32,
    pub(super) longest: u32,
}

/// A file of lengths that cannot be drawn from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LengthsError {
    /// From 1, if it is one line.
    pub(crate) line: Option<u64>,
    pub(crate) problem: LengthsProblem,
}

/// What is wrong with a file of lengths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LengthsProblem {
    NotText,
    /// A line, as it is.
    Line(String),
    Empty,
    Sim(SimError),
}

impl fmt::Display for LengthsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LengthsProblem::NotText => f.write_str("expected UTF-8 text; save the file as such"),
            LengthsProblem::Line(found) => write!(
                f,
                "expected LENGTH or LENGTH,WEIGHT, a whole number of at least 1 and a number of at \
                 least 0, found {found:?}; correct it"
            ),
            LengthsProblem::Empty => {
                f.write_str("expected a length on each line, found none; write some")
            }
            LengthsProblem::Sim(error) => write!(f, "{error}; correct the weights"),
        }
    }
}

/// The lengths of the file at `path`, set into `within`.
pub(super) fn read(path: &Path, within: Range) -> Result<FileLengths, Error> {
    let bytes = std::fs::read(path).map_err(Error::reading(path))?;
    parse(&bytes, within).map_err(|error| Error::in_file(path, error.line, error.problem))
}

fn parse(bytes: &[u8], within: Range) -> Result<FileLengths, LengthsError> {
    let whole = |problem| LengthsError {
        line: None,
        problem,
    };
    let text = str::from_utf8(bytes).map_err(|_| whole(LengthsProblem::NotText))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rows = Vec::new();
    for (line, text) in (1..)
        .zip(text.lines())
        .filter(|(_, l)| !l.trim().is_empty())
    {
        let (length, weight) = row(text).ok_or_else(|| LengthsError {
            line: Some(line),
            problem: LengthsProblem::Line(shortened(text)),
        })?;
        rows.push((within.nearest(length), weight));
    }
    let lengths = || rows.iter().map(|(length, _)| *length);
    let (Some(shortest), Some(longest)) = (lengths().min(), lengths().max()) else {
        return Err(whole(LengthsProblem::Empty));
    };
    Ok(FileLengths {
        lengths: drawn(&rows).map_err(|error| whole(LengthsProblem::Sim(error)))?,
        values: rows.len(),
        mean: mean(&rows),
        shortest,
        longest,
    })
}

/// `LENGTH` or `LENGTH,WEIGHT`; the weight is 1 where there is none.
fn row(text: &str) -> Option<(u32, f64)> {
    let (length, weight) = match text.split_once(',') {
        Some((length, weight)) => (length, weight.trim().parse().ok()?),
        None => (text, 1.0),
    };
    let length = length.trim().parse().ok().filter(|length| *length > 0)?;
    (weight >= 0.0 && f64::is_finite(weight)).then_some((length, weight))
}

/// Without weights there is no search.
fn drawn(rows: &[(u32, f64)]) -> Result<Lengths, SimError> {
    match rows
        .iter()
        .all(|(_, weight)| weight.total_cmp(&1.0).is_eq())
    {
        true => Lengths::try_empirical(rows.iter().map(|(length, _)| *length)),
        false => Lengths::try_weighted(rows.iter().copied()),
    }
}

fn mean(rows: &[(u32, f64)]) -> f64 {
    let weights: f64 = rows.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = rows.iter().map(|(l, weight)| f64::from(*l) * weight).sum();
    sum / weights
}

/// The most characters of a line that a message shows.
const SHOWN: usize = 40;

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FileLengths, String> {
        parse(text.as_bytes(), Range::ANY).map_err(|LengthsError { line, problem }| {
            let line = line.map_or(String::new(), |line| format!("{line}: "));
            format!("{line}{problem}")
        })
    }

    #[test]
    fn lengths_and_weights_are_read() {
        let plain = read("\u{feff}10\r\n\n 20\n30").unwrap();
        assert_eq!((plain.values, plain.shortest, plain.longest), (3, 10, 30));
        assert_eq!(plain.lengths, Lengths::try_empirical([10, 20, 30]).unwrap());
        assert!((plain.mean - 20.0).abs() < 1e-9);
        let weighted = read("10,3\n50, 1\n").unwrap();
        let expected = Lengths::try_weighted([(10, 3.0), (50, 1.0)]).unwrap();
        assert_eq!(weighted.lengths, expected);
        assert!((weighted.mean - 20.0).abs() < 1e-9);
        let within = parse(b"10\n50", Range { min: 20, max: 40 }).unwrap();
        assert_eq!((within.shortest, within.longest), (20, 40));
    }

    #[test]
    fn a_line_that_is_no_length_is_named() {
        for (text, line) in [
            ("x", 1),
            ("5\n0", 2),
            ("5,-1", 1),
            ("5\n\n5,inf", 3),
            ("5,", 1),
        ] {
            let message = read(text).unwrap_err();
            let start = format!("{line}: expected LENGTH or LENGTH,WEIGHT");
            assert!(message.starts_with(&start), "{message}");
        }
        assert!(read(&"x".repeat(99)).unwrap_err().contains("xxx...\""));
        assert!(read(" \n").unwrap_err().contains("found none"));
        assert!(read("5,0").unwrap_err().contains("weights of lengths"));
        let error = parse(b"\xff", Range::ANY).unwrap_err();
        assert_eq!((error.line, error.problem), (None, LengthsProblem::NotText));
    }
}
