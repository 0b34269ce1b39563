//! Distributions of lengths, as the command line has them.

use std::path::{Path, PathBuf};

use rooflut::sim::SimError;
use rooflut::sim::load::Lengths;

use super::range::Range;

/// A distribution of lengths: `512`, `uniform:100..900`, `normal:512,100`, `lognormal:512,0.6@16..4096`
/// or `file:lengths.txt`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LengthsArg {
    /// One that needs no file.
    Formula(Formula),
    /// The lengths of a file.
    File {
        /// Where they are.
        path: PathBuf,
        /// What shorter and longer ones are set into.
        within: Option<Range>,
    },
}

impl LengthsArg {
    /// The file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            LengthsArg::Formula(_) => None,
            LengthsArg::File { path, .. } => Some(path),
        }
    }
}

/// A distribution with parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Formula {
    /// Always the same.
    Fixed(u32),
    /// Every length of a range equally often.
    Uniform(Range),
    /// Normally distributed.
    Normal {
        mean: f64,
        sd: f64,
        within: Option<Range>,
    },
    /// Lognormally distributed.
    Lognormal {
        median: f64,
        sigma: f64,
        within: Option<Range>,
    },
}

impl Formula {
    /// The distribution of the library.
    pub(super) fn lengths(&self) -> Result<Lengths, SimError> {
        let inside = |within: Option<Range>| within.unwrap_or(Range::ANY).inclusive();
        match *self {
            Formula::Fixed(length) => Lengths::try_fixed(length),
            Formula::Uniform(range) => Lengths::try_uniform(range.inclusive()),
            Formula::Normal { mean, sd, within } => Lengths::try_normal(mean, sd, inside(within)),
            Formula::Lognormal {
                median,
                sigma,
                within,
            } => Lengths::try_lognormal(median, sigma, inside(within)),
        }
    }
}

const EXPECTED: &str = "expected a whole number of at least 1, uniform:MIN..MAX, normal:MEAN,SD, \
                        lognormal:MEDIAN,SIGMA or file:PATH, the last three with @MIN..MAX behind \
                        if wanted";

/// Reads a distribution.
pub(crate) fn lengths(text: &str) -> Result<LengthsArg, String> {
    let formula = match text.split_once(':') {
        None => text.parse().map(Formula::Fixed).ok(),
        Some(("uniform", range)) => Some(uniform(range)?),
        Some(("normal", rest)) => Some(normal(rest)?),
        Some(("lognormal", rest)) => Some(lognormal(rest)?),
        Some(("file", rest)) => return file(rest),
        Some(_) => None,
    };
    let formula = formula.ok_or(EXPECTED)?;
    match formula.lengths() {
        Ok(_) => Ok(LengthsArg::Formula(formula)),
        Err(_) if matches!(formula, Formula::Fixed(_)) => Err(EXPECTED.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn uniform(range: &str) -> Result<Formula, String> {
    let range = Range::read(range).map(Formula::Uniform);
    range.ok_or_else(|| "expected uniform:MIN..MAX, as in uniform:100..900".to_owned())
}

fn normal(rest: &str) -> Result<Formula, String> {
    let (parameters, within) = limited(rest);
    let (mean, sd) = pair(parameters)
        .ok_or("expected normal:MEAN,SD, as in normal:512,100 or normal:512,100@16..4096")?;
    Ok(Formula::Normal { mean, sd, within })
}

fn lognormal(rest: &str) -> Result<Formula, String> {
    let (parameters, within) = limited(rest);
    let (median, sigma) = pair(parameters).ok_or(
        "expected lognormal:MEDIAN,SIGMA, as in lognormal:512,0.6 or lognormal:512,0.6@16..4096",
    )?;
    Ok(Formula::Lognormal {
        median,
        sigma,
        within,
    })
}

fn file(rest: &str) -> Result<LengthsArg, String> {
    let (path, within) = limited(rest);
    if path.is_empty() {
        return Err("expected file:PATH, as in file:lengths.txt".to_owned());
    }
    if let Some(within) = within {
        // Checks the range.
        let checked = Lengths::try_uniform(within.inclusive());
        checked.map_err(|error| error.to_string())?;
    }
    let path = PathBuf::from(path);
    Ok(LengthsArg::File { path, within })
}

/// What is before `@MIN..MAX`, and this range. Without one an `@` is part of what is before.
fn limited(text: &str) -> (&str, Option<Range>) {
    match text.rsplit_once('@') {
        Some((before, range)) => match Range::read(range) {
            Some(range) => (before, Some(range)),
            None => (text, None),
        },
        None => (text, None),
    }
}

fn pair(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.split_once(',')?;
    Some((first.trim().parse().ok()?, second.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: u32, max: u32) -> Range {
        Range { min, max }
    }

    #[test]
    fn distributions_are_read_as_documented() {
        let formula = |text: &str| match lengths(text).unwrap() {
            LengthsArg::Formula(formula) => formula,
            other => panic!("{other:?}"),
        };
        assert_eq!(formula("512"), Formula::Fixed(512));
        assert_eq!(
            formula("uniform:100..900"),
            Formula::Uniform(range(100, 900))
        );
        let (mean, sd) = (512.0, 100.0);
        let within = None;
        assert_eq!(
            formula("normal:512,100"),
            Formula::Normal { mean, sd, within }
        );
        let (median, sigma) = (512.0, 0.6);
        let within = Some(range(16, 4096));
        assert_eq!(
            formula("lognormal:512, 0.6@16..4096"),
            Formula::Lognormal {
                median,
                sigma,
                within
            }
        );
    }

    #[test]
    fn a_file_may_have_any_name() {
        for (text, path, within) in [
            ("file:lengths.txt", "lengths.txt", None),
            ("file:a:b@c", "a:b@c", None),
            ("file:a@1..9", "a", Some(range(1, 9))),
        ] {
            let path = PathBuf::from(path);
            assert_eq!(lengths(text), Ok(LengthsArg::File { path, within }));
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_what_would() {
        for (wrong, words) in [
            ("", EXPECTED),
            ("0", EXPECTED),
            ("-1", EXPECTED),
            ("1.5", EXPECTED),
            ("4294967296", EXPECTED),
            ("gamma:1,2", EXPECTED),
            ("512@1..9", EXPECTED),
            ("uniform:100", "uniform:MIN..MAX"),
            ("uniform:100..900@1..5", "uniform:MIN..MAX"),
            ("uniform:900..100", "found 900 to 100"),
            ("uniform:0..100", "found 0 to 100"),
            ("normal:512", "normal:MEAN,SD"),
            ("normal:512,100@900", "normal:MEAN,SD"),
            ("normal:0,100", "mean: expected a positive, finite number"),
            ("normal:512,-1", "standard deviation"),
            ("normal:512,100@9..3", "found 9 to 3"),
            ("lognormal:512", "lognormal:MEDIAN,SIGMA"),
            ("lognormal:NaN,1", "median"),
            ("lognormal:512,inf", "sigma"),
            ("file:", "file:PATH"),
            ("file:a@0..3", "found 0 to 3"),
        ] {
            let message = lengths(wrong).unwrap_err();
            assert!(message.contains(words), "{wrong}: {message}");
        }
    }
}
