//! All-reduce over the GPUs of a node.

use super::estimate::{Estimate, OpTime};
use crate::error::ResolveError;
use crate::hardware::{AllReduceShape, Dtype, Reference};
use crate::math::{exp, ln};
use crate::table::{Class, Curve, TableSet};

/// An all-reduce whose number of ranks has been looked up.
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
#[derive(Debug, Clone, Copy)]
pub struct AllReduce<'t> {
    shape: AllReduceShape,
    matched: AllReduceShape,
    reference: &'t Reference,
    curve: &'t Curve<'t>,
}

impl AllReduce<'static> {
    /// Looks the ranks up in `set`; a number between measured ones takes the efficiency of the next
    /// larger (`Transferred`).
    ///
    /// # Errors
    /// The set has no all-reduce table, or none over so many ranks; fewer than two ranks.
    pub fn resolve(
        set: &'static TableSet,
        shape: AllReduceShape,
    ) -> Result<AllReduce<'static>, ResolveError> {
        let operation = "allreduce";
        let table = set
            .allreduce
            .as_ref()
            .ok_or(ResolveError::NoTable { set, operation })?;
        if shape.ranks < 2 {
            return Err(ResolveError::TooFewRanks { ranks: shape.ranks });
        }
        let reference = table.reference(Dtype::Bf16).ok_or(ResolveError::NoPeak {
            set,
            dtype: Dtype::Bf16,
        })?;
        let larger = || {
            table
                .entries
                .iter()
                .find(|entry| entry.shape.ranks > shape.ranks)
        };
        let most = table
            .entries
            .iter()
            .map(|entry| entry.shape.ranks)
            .max()
            .unwrap_or(1);
        let entry = table
            .find(&shape)
            .or_else(larger)
            .ok_or(ResolveError::TooManyRanks {
                set,
                ranks: shape.ranks,
                most,
            })?;
        Ok(AllReduce {
            shape,
            matched: entry.shape,
            reference,
            curve: &entry.points,
        })
    }
}

impl<'t> AllReduce<'t> {
    /// An all-reduce of `shape` measured along `curve`.
    #[cfg(feature = "alloc")] // leave_one_out
    pub(crate) fn measured(
        shape: AllReduceShape,
        reference: &'t Reference,
        curve: &'t Curve<'t>,
    ) -> Self {
        AllReduce {
            shape,
            matched: shape,
            reference,
            curve,
        }
    }

    /// Time of a message of `bytes` (the whole message, as each rank holds it); 0 is read as 1.
    pub fn at(&self, bytes: u64) -> Estimate {
        self.answer((bytes as f64).max(1.0))
    }

    fn answer(&self, bytes: f64) -> Estimate {
        let mut reading = self.curve.read(bytes, ln(bytes));
        let class = self.class();
        if class > Class::Measured {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(class);
        }
        let seconds = self.shape.reference_s(bytes, self.reference) * exp(reading.ln_slowdown);
        Estimate::new(
            &reading,
            seconds,
            &self.shape.work(bytes),
            &self.reference.rates,
        )
    }

    /// The same inside a step.
    pub(crate) fn in_step(&self, bytes: f64) -> OpTime {
        self.answer(bytes)
            .in_step(&self.shape.work(bytes), self.reference)
    }

    /// The measured ranks that answer.
    pub fn matched(&self) -> AllReduceShape {
        self.matched
    }

    /// The measured points that answer.
    pub fn curve(&self) -> &'t Curve<'t> {
        self.curve
    }

    /// The best class that an answer can have.
    pub fn class(&self) -> Class {
        if self.matched == self.shape {
            Class::Measured
        } else {
            Class::Transferred
        }
    }
}
