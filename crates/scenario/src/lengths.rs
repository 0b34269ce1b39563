//! Distributions of lengths as text.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rooflut::sim::load::Lengths;
use rooflut_error::Error;

use crate::number::{invalid, real, whole};
use crate::range::LengthRange;

/// A distribution of lengths: `512`, `uniform:100..900`, `normal:512,100`, `lognormal:512,0.6@16..4096` or
/// `file:lengths.txt`.
///
/// ```
/// use rooflut_scenario::LengthDistribution;
/// let chat: LengthDistribution = "lognormal:512,0.6@16..4096".parse()?;
/// assert_eq!(chat.to_string(), "lognormal:512,0.6@16..4096");
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum LengthDistribution {
    /// A distribution with parameters.
    Formula(Formula),
    /// The lengths of a file: `LENGTH` or `LENGTH,WEIGHT` on each line.
    File {
        /// Its path.
        path: PathBuf,
        /// Range that lengths are clamped to.
        within: Option<LengthRange>,
    },
}

/// A distribution of lengths with parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Formula {
    /// Always the same.
    Fixed(u32),
    /// Every length of a range equally often.
    Uniform(LengthRange),
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
        /// Range that lengths are clamped to.
        within: Option<LengthRange>,
    },
    /// Lognormally distributed.
    Lognormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Range that lengths are clamped to.
        within: Option<LengthRange>,
    },
}

const EXPECTED: &str = "expected a whole number of at least 1, uniform:MIN..MAX, normal:MEAN,SD, \
                        lognormal:MEDIAN,SIGMA or file:PATH, the last three optionally followed by @MIN..MAX";

impl LengthDistribution {
    /// Always `length`.
    pub const fn fixed(length: u32) -> LengthDistribution {
        LengthDistribution::Formula(Formula::Fixed(length))
    }

    /// The path of its file, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            LengthDistribution::Formula(_) => None,
            LengthDistribution::File { path, .. } => Some(path),
        }
    }
}

impl Formula {
    /// The distribution to draw from.
    pub(crate) fn lengths(self) -> Result<Lengths, Error> {
        let inside = |within: Option<LengthRange>| within.unwrap_or(LengthRange::ANY).inclusive();
        let lengths = match self {
            Formula::Fixed(length) => Lengths::try_fixed(length),
            Formula::Uniform(range) => Lengths::try_uniform(range.inclusive()),
            Formula::Normal { mean, sd, within } => Lengths::try_normal(mean, sd, inside(within)),
            Formula::Lognormal { median, sigma, within } => Lengths::try_lognormal(median, sigma, inside(within)),
        };
        lengths.map_err(|error| invalid(error.to_string()))
    }

    /// The shortest length that may be drawn.
    pub(crate) fn shortest(self) -> u32 {
        match self {
            Formula::Fixed(length) => length,
            Formula::Uniform(range) => range.min,
            Formula::Normal { within, .. } | Formula::Lognormal { within, .. } => {
                within.unwrap_or(LengthRange::ANY).min
            }
        }
    }
}

impl FromStr for LengthDistribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<LengthDistribution, Error> {
        let formula = match text.split_once(':') {
            None if text.contains(',') => Some(whole(text).map(Formula::Fixed)?),
            None => whole(text).map(Formula::Fixed).ok(),
            Some(("uniform", range)) => Some(uniform(range)?),
            Some(("normal", rest)) => Some(normal(rest)?),
            Some(("lognormal", rest)) => Some(lognormal(rest)?),
            Some(("file", rest)) => return file(rest),
            Some(_) => None,
        };
        let formula = formula.ok_or(invalid(EXPECTED))?;
        match formula.lengths() {
            Ok(_) => Ok(LengthDistribution::Formula(formula)),
            Err(_) if matches!(formula, Formula::Fixed(_)) => Err(invalid(EXPECTED)),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for LengthDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = match self {
            LengthDistribution::Formula(formula) => return formula.fmt(f),
            LengthDistribution::File { path, within } => {
                write!(f, "file:{}", path.display())?;
                within
            }
        };
        write_within(f, *within)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Formula::Fixed(length) => length.fmt(f),
            Formula::Uniform(range) => write!(f, "uniform:{range}"),
            Formula::Normal { mean, sd, within } => {
                write!(f, "normal:{mean},{sd}")?;
                write_within(f, within)
            }
            Formula::Lognormal { median, sigma, within } => {
                write!(f, "lognormal:{median},{sigma}")?;
                write_within(f, within)
            }
        }
    }
}

fn write_within(f: &mut fmt::Formatter<'_>, within: Option<LengthRange>) -> fmt::Result {
    within.map_or(Ok(()), |within| write!(f, "@{within}"))
}

fn uniform(range: &str) -> Result<Formula, Error> {
    let range = LengthRange::read(range).map(Formula::Uniform);
    range.ok_or(invalid("expected uniform:MIN..MAX, as in uniform:100..900"))
}

fn normal(rest: &str) -> Result<Formula, Error> {
    let (parameters, within) = limited(rest);
    let (mean, sd) =
        pair(parameters).ok_or(invalid("expected normal:MEAN,SD, as in normal:512,100 or normal:512,100@16..4096"))?;
    Ok(Formula::Normal { mean, sd, within })
}

fn lognormal(rest: &str) -> Result<Formula, Error> {
    let (parameters, within) = limited(rest);
    let (median, sigma) = pair(parameters)
        .ok_or(invalid("expected lognormal:MEDIAN,SIGMA, as in lognormal:512,0.6 or lognormal:512,0.6@16..4096"))?;
    Ok(Formula::Lognormal { median, sigma, within })
}

fn file(rest: &str) -> Result<LengthDistribution, Error> {
    let (path, within) = limited(rest);
    if path.is_empty() {
        return Err(invalid("expected file:PATH, as in file:lengths.txt"));
    }
    if let Some(within) = within {
        // Checks the range.
        Lengths::try_uniform(within.inclusive()).map_err(|error| invalid(error.to_string()))?;
    }
    let path = PathBuf::from(path);
    Ok(LengthDistribution::File { path, within })
}

/// Splits at `@MIN..MAX`. An `@` before anything else is part of the text.
fn limited(text: &str) -> (&str, Option<LengthRange>) {
    let split = text.rsplit_once('@');
    let limited = split.and_then(|(before, range)| Some((before, LengthRange::read(range)?)));
    limited.map_or((text, None), |(before, range)| (before, Some(range)))
}

fn pair(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.split_once(',')?;
    Some((real(first.trim()).ok()?, real(second.trim()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: u32, max: u32) -> LengthRange {
        LengthRange { min, max }
    }

    #[test]
    fn distributions_are_read_as_documented_and_written_as_they_are_read() {
        let file = |path: &str, within| LengthDistribution::File { path: path.into(), within };
        for (text, expected) in [
            ("512", LengthDistribution::fixed(512)),
            ("uniform:100..900", LengthDistribution::Formula(Formula::Uniform(range(100, 900)))),
            ("normal:512,100", LengthDistribution::Formula(Formula::Normal { mean: 512.0, sd: 100.0, within: None })),
            (
                "lognormal:512, 0.6@16..4096",
                LengthDistribution::Formula(Formula::Lognormal {
                    median: 512.0,
                    sigma: 0.6,
                    within: Some(range(16, 4096)),
                }),
            ),
            // A file may have any name.
            ("file:lengths.txt", file("lengths.txt", None)),
            ("file:a:b@c", file("a:b@c", None)),
            ("file:a@1..9", file("a", Some(range(1, 9)))),
        ] {
            let read: LengthDistribution = text.parse().unwrap();
            assert_eq!(read, expected);
            assert_eq!(read.to_string(), text.replace(' ', ""));
        }
    }
}
