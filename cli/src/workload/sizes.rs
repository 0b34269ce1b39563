//! A distribution of lengths with what its file says.

use std::path::Path;

use rooflut::sim::load::Lengths;

use super::lengths::{Formula, LengthsArg};
use super::lengths_file::{self, FileLengths};
use super::range::Range;
use crate::error::Error;

/// A distribution of lengths, ready to be drawn from.
pub(super) enum Sizes<'a> {
    /// One that needs no file.
    Formula(Formula, Lengths),
    /// That of a file.
    File(&'a Path, FileLengths),
}

impl<'a> Sizes<'a> {
    /// Reads the file, if there is one.
    pub(super) fn read(arg: &'a LengthsArg) -> Result<Sizes<'a>, Error> {
        match arg {
            LengthsArg::Formula(formula) => {
                let lengths = formula.lengths()?;
                Ok(Sizes::Formula(*formula, lengths))
            }
            LengthsArg::File { path, within } => {
                let file = lengths_file::read(path, within.unwrap_or(Range::ANY))?;
                Ok(Sizes::File(path, file))
            }
        }
    }

    /// What to draw from.
    pub(super) fn lengths(&self) -> &Lengths {
        match self {
            Sizes::Formula(_, lengths) => lengths,
            Sizes::File(_, file) => &file.lengths,
        }
    }

    /// The shortest length that may be drawn.
    pub(super) fn shortest(&self) -> u32 {
        match self {
            Sizes::Formula(Formula::Fixed(length), _) => *length,
            Sizes::Formula(Formula::Uniform(range), _) => range.min,
            Sizes::Formula(
                Formula::Normal { within, .. } | Formula::Lognormal { within, .. },
                _,
            ) => within.unwrap_or(Range::ANY).min,
            Sizes::File(_, file) => file.shortest,
        }
    }

    /// Whether there is anything to draw.
    pub(super) fn is_drawn(&self) -> bool {
        !matches!(self, Sizes::Formula(Formula::Fixed(_), _))
    }
}
