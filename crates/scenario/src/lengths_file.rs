//! Files of lengths.

use rooflut::Invalid;
use rooflut::sim::load::Lengths;
use rooflut_error::{Error, Kind, not_text};

use crate::range::LengthRange;
use crate::value::shortened;

/// The lengths of a file, and figures of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileLengths {
    /// The distribution of the lengths.
    pub lengths: Lengths,
    /// Number of lengths.
    pub values: usize,
    /// Their mean by weight.
    pub mean: f64,
    /// The shortest.
    pub shortest: u32,
    /// The longest.
    pub longest: u32,
}

impl FileLengths {
    /// Reads `LENGTH` or `LENGTH,WEIGHT` of each line and clamps the lengths to `within`. Empty lines are skipped.
    ///
    /// # Errors
    /// Text that is not as described, with its line where it is one; no length, and weights that cannot be drawn by.
    ///
    /// ```
    /// use rooflut_scenario::{FileLengths, LengthRange};
    /// let file = FileLengths::read(b"100,3\n2000,1\n", LengthRange::ANY).expect("lengths");
    /// assert_eq!((file.values, file.shortest, file.longest), (2, 100, 2_000));
    /// ```
    pub fn read(bytes: &[u8], within: LengthRange) -> Result<FileLengths, Error> {
        let wrong = |text: String| Error::new(Kind::Contents, text);
        let empty = || wrong("expected a length on each line, found none; write some".to_owned());
        let text = str::from_utf8(bytes).map_err(|_| not_text())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rows = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
            let (length, weight) = row(text).ok_or_else(|| {
                let expected = "a whole number of at least 1 and a number of at least 0";
                let found = shortened(text);
                wrong(format!("expected LENGTH or LENGTH,WEIGHT, {expected}, found {found:?}; correct it"))
                    .at_line(line)
            })?;
            rows.push((within.nearest(length), weight));
        }
        if rows.is_empty() {
            return Err(empty());
        }
        let lengths = drawn(&rows).map_err(|error| wrong(format!("{error}; correct the weights")))?;
        // Rows of weight 0 are never drawn.
        let possible = rows.iter().filter(|(_, weight)| *weight > 0.0).map(|(length, _)| *length);
        let (Some(shortest), Some(longest)) = (possible.clone().min(), possible.max()) else {
            return Err(empty());
        };
        Ok(FileLengths { lengths, values: rows.len(), mean: mean(&rows), shortest, longest })
    }
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
fn drawn(rows: &[(u32, f64)]) -> Result<Lengths, Invalid> {
    if rows.iter().all(|(_, weight)| weight.total_cmp(&1.0).is_eq()) {
        Lengths::try_empirical(rows.iter().map(|(length, _)| *length))
    } else {
        Lengths::try_weighted(rows.iter().copied())
    }
}

fn mean(rows: &[(u32, f64)]) -> f64 {
    let weights: f64 = rows.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = rows.iter().map(|(l, weight)| f64::from(*l) * weight).sum();
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FileLengths {
        FileLengths::read(text.as_bytes(), LengthRange::ANY).unwrap()
    }

    #[test]
    fn lengths_and_weights_are_read() {
        let plain = read("\u{feff}10\r\n\n 20\n30");
        assert_eq!((plain.values, plain.shortest, plain.longest), (3, 10, 30));
        assert_eq!(plain.lengths, Lengths::try_empirical([10, 20, 30]).unwrap());
        assert!((plain.mean - 20.0).abs() < 1e-9);
        let weighted = read("10,3\n50, 1\n");
        let expected = Lengths::try_weighted([(10, 3.0), (50, 1.0)]).unwrap();
        assert_eq!(weighted.lengths, expected);
        assert!((weighted.mean - 20.0).abs() < 1e-9);
        let within = FileLengths::read(b"10\n50", LengthRange { min: 20, max: 40 }).unwrap();
        assert_eq!((within.shortest, within.longest), (20, 40));
        // A length of weight 0 is never drawn.
        let weighted = read("5,0\n100,1\n300,2\n");
        assert_eq!((weighted.shortest, weighted.longest), (100, 300));
    }
}
