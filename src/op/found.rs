//! A measured shape that answers for itself or for another one.

use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::operation::Codes;
use crate::hardware::{Dtype, Reference};
use crate::table::{Class, Entry, ErrorGroup, Held, KernelTable, Points, Reading, TableSet};

/// A measured shape that answers for itself or for another one.
#[derive(Debug, Clone)]
pub(super) struct Found<S> {
    /// The measured shape.
    pub(super) matched: S,
    pub(super) points: Held,
    pub(super) reference: Reference,
    /// Best class that an answer can have.
    pub(super) class: Class,
    pub(super) errors: ErrorGroup,
    /// Time of the smallest call of the table, seconds.
    pub(super) floor_s: f64,
}

impl<S> Found<S> {
    /// Returns an entry of a table of `set`, which matches the requested shape as `class` says.
    ///
    /// # Errors
    /// The GPU has no peak for `dtype`.
    #[inline]
    pub(super) fn try_new<'t, P>(
        set: &TableSet,
        table: KernelTable<'t, S, P>,
        entry: &Entry<S, P>,
        dtype: Dtype,
        class: Class,
    ) -> Result<Found<S>, ResolveError>
    where
        S: From<Codes> + Into<Codes> + Copy,
        P: From<Points<'t>>,
    {
        let class = class.max(table.class());
        let [measured, other] = table.error_groups(dtype);
        Ok(Found {
            matched: entry.shape,
            points: table.hold(entry),
            reference: set.reference(&table, dtype)?,
            class,
            errors: match class {
                Class::Measured => measured,
                _ => other,
            },
            floor_s: table.floor_us() * 1e-6,
        })
    }

    /// Returns the answer of a reading: the latency, if it was measured on the requested shape, or else `seconds`, but not
    /// less than the `at_peak` seconds that the FLOPs take at the peak.
    #[inline]
    pub(super) fn answer(&self, mut reading: Reading, seconds: f64, at_peak: f64) -> Estimate {
        if self.class > Class::Measured {
            reading.latency_us = None;
        }
        Estimate::new(&reading, seconds, at_peak).at_best(self.class)
    }
}

/// Adds the methods that all resolved kernels with a field `found` have.
macro_rules! found_answers {
    ($($kernel:ident),*) => {$(
        impl $kernel {
            /// Returns the errors of lookups like this one; see [`Estimate::interval`].
            pub fn errors(&self) -> ErrorGroup {
                self.found.errors
            }

            /// Returns the best class that an answer can have.
            pub fn class(&self) -> Class {
                self.found.class
            }
        }
    )*};
}

pub(super) use found_answers;
