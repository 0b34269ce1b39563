//! All-reduce over the GPUs of a node.

use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::{AllReduceShape, Dtype, OperationKind, Reference, Work};
use crate::math::{exp_short, ln_of_normal};
use crate::table::{Class, Curve, ErrorGroup, Held, KernelTable, Table, TableSet};

/// A resolved all-reduce.
///
/// ```
/// use rooflut::hardware::AllReduceShape;
/// use rooflut::op::AllReduce;
/// use rooflut::table::sets;
///
/// let all_reduce = AllReduce::resolve(&sets::H100, AllReduceShape { ranks: 4 })?;
/// assert!(all_reduce.at(1 << 20).time.us() > 1.0);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AllReduce {
    shape: AllReduceShape,
    matched: AllReduceShape,
    reference: Reference,
    /// Errors of measured shapes, and of others.
    errors: [ErrorGroup; 2],
    class: Class,
    points: Held,
}

impl TableSet {
    /// Returns the all-reduces by ranks over message bytes, or `None` if the set has none.
    pub fn all_reduce(&self) -> Option<KernelTable<'_, AllReduceShape, Curve<'_>>> {
        self.table(OperationKind::AllReduce).map(Table::typed)
    }
}

impl AllReduce {
    /// Looks up the number of ranks in `set`. A number between measured ones takes the efficiency of the next larger
    /// one (`Transferred`).
    ///
    /// # Errors
    /// The set has no all-reduce table, or none over this many ranks or more; fewer than two ranks.
    pub fn resolve(set: &TableSet, shape: AllReduceShape) -> Result<AllReduce, ResolveError> {
        let table = set.required(OperationKind::AllReduce)?;
        let table = table.typed::<AllReduceShape, Curve<'_>>();
        if shape.ranks < 2 {
            return Err(ResolveError::TooFewRanks { ranks: shape.ranks });
        }
        let reference = set.reference(&table, Dtype::Bf16)?;
        let larger = || {
            table
                .entries()
                .find(|entry| entry.shape.ranks > shape.ranks)
        };
        let too_many = || ResolveError::TooManyRanks {
            set: set.clone(),
            ranks: shape.ranks,
            most: table
                .entries()
                .map(|entry| entry.shape.ranks)
                .max()
                .unwrap_or(1),
        };
        let entry = table.find(&shape).or_else(larger).ok_or_else(too_many)?;
        Ok(AllReduce {
            shape,
            matched: entry.shape,
            reference,
            errors: table.error_groups(Dtype::Bf16),
            class: match entry.shape == shape {
                true => table.class(),
                false => Class::Transferred,
            },
            points: table.hold(&entry),
        })
    }

    /// Returns the time of a message of `bytes` (the whole message, as each rank holds it); 0 is treated as 1.
    pub fn at(&self, bytes: u64) -> Estimate {
        self.answer((bytes as f64).max(1.0))
    }

    /// Returns [`at`](Self::at) for a message size of at least one byte.
    pub(crate) fn answer(&self, bytes: f64) -> Estimate {
        let mut reading = self.curve().read(bytes, ln_of_normal(bytes));
        if self.class > Class::Measured {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(self.class);
        }
        let seconds =
            self.shape.reference_s(bytes, &self.reference) * exp_short(reading.ln_slowdown);
        let at_peak = self.shape.work(bytes).flops * self.reference.rates.s_per_flop;
        Estimate::new(&reading, seconds, at_peak)
    }

    /// Returns the work of one rank for a message of `bytes`.
    pub(crate) fn work(&self, bytes: f64) -> Work {
        self.shape.work(bytes)
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the matched measured number of ranks.
    pub fn matched(&self) -> AllReduceShape {
        self.matched
    }

    /// Returns the matched measured points.
    pub fn curve(&self) -> Curve<'_> {
        self.points.curve()
    }

    /// Returns the errors of lookups like this one; see [`Estimate::interval`].
    pub fn errors(&self) -> ErrorGroup {
        let [measured, other] = self.errors;
        match self.class > Class::Measured {
            false => measured,
            true => other,
        }
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        self.class
    }
}
