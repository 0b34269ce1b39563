//! Kernels of gated delta nets.

use super::blend::squared_log;
use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::{DeltaShape, OperationKind, Reference, Work};
use crate::math::{exp_short, larger};
use crate::table::{
    Class, Curve, ErrorGroup, Grid, Held, KernelTable, Points, Reading, Table, TableSet,
};

/// A resolved kernel of a gated delta net over whole prompts.
///
/// ```
/// use rooflut::hardware::{DeltaKernel, DeltaShape};
/// use rooflut::op::DeltaPrefill;
/// use rooflut::table::{Class, sets};
///
/// let shape = DeltaShape { kernel: DeltaKernel::Rule, k_heads: 16, v_heads: 32, head_dim: 128 };
/// let rule = DeltaPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(rule.at(4, 1024).provenance, Class::Measured.inside());
/// // The heads of two ranks were not measured: the nearest ones answer.
/// let half = DeltaPrefill::resolve(&sets::H100, DeltaShape { k_heads: 8, v_heads: 16, ..shape })?;
/// assert_eq!(half.class(), Class::Transferred);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeltaPrefill {
    found: Found,
}

/// A resolved kernel of a gated delta net for one new token per request.
///
/// ```
/// use rooflut::hardware::{DeltaKernel, DeltaShape};
/// use rooflut::op::DeltaDecode;
/// use rooflut::table::{Class, sets};
///
/// let shape = DeltaShape { kernel: DeltaKernel::Rule, k_heads: 16, v_heads: 32, head_dim: 128 };
/// let rule = DeltaDecode::resolve(&sets::H100, shape)?;
/// assert_eq!(rule.at(64).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeltaDecode {
    found: Found,
}

impl TableSet {
    /// Returns the kernels of gated delta nets by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn delta_prefill(&self) -> Option<KernelTable<'_, DeltaShape, Grid<'_>>> {
        self.table(OperationKind::DeltaPrefill).map(Table::typed)
    }

    /// Returns the kernels of gated delta nets by shape over requests, or `None` if the set has none.
    pub fn delta_decode(&self) -> Option<KernelTable<'_, DeltaShape, Curve<'_>>> {
        self.table(OperationKind::DeltaDecode).map(Table::typed)
    }
}

impl DeltaPrefill {
    /// Looks up the shape in `set`, or else the nearest heads, in logarithms, of the same kernel and head dimension
    /// (`Transferred`).
    ///
    /// # Errors
    /// The set has no such table or none with this head dimension, or a dimension is zero.
    pub fn resolve(set: &TableSet, shape: DeltaShape) -> Result<DeltaPrefill, ResolveError> {
        let found = Found::resolve(set, OperationKind::DeltaPrefill, shape)?;
        Ok(DeltaPrefill { found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured grid
    /// the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        self.at_mean(f64::from(batch.max(1)), f64::from(seq_len.max(1)))
    }

    /// Returns [`at`](Self::at) for a number and a length, at least 1, that need not be whole.
    pub(crate) fn at_mean(&self, batch: f64, seq_len: f64) -> Estimate {
        let Found {
            shape, reference, ..
        } = &self.found;
        let grid = self.found.points.grid();
        let (row, column) = (
            grid.batch().locate_from_1(batch),
            grid.length().locate_from_1(seq_len),
        );
        let reference_s = shape.prefill_reference_s(batch, seq_len, reference);
        let work = self.work(batch, seq_len);
        self.found
            .answer(grid.read(row, column), reference_s, &work)
    }

    /// Returns the work of `batch` prompts of `seq_len` tokens.
    pub(crate) fn work(&self, batch: f64, seq_len: f64) -> Work {
        self.found.shape.prefill_work(batch, seq_len)
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> DeltaShape {
        self.found.matched
    }

    /// Returns the matched measured points.
    pub fn grid(&self) -> Grid<'_> {
        self.found.points.grid()
    }

    /// Returns the errors of lookups like this one; see [`Estimate::interval`].
    pub fn errors(&self) -> ErrorGroup {
        self.found.errors()
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        self.found.class()
    }
}

impl DeltaDecode {
    /// Looks up the shape in `set`, as [`DeltaPrefill::resolve`].
    ///
    /// # Errors
    /// As [`DeltaPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: DeltaShape) -> Result<DeltaDecode, ResolveError> {
        let found = Found::resolve(set, OperationKind::DeltaDecode, shape)?;
        Ok(DeltaDecode { found })
    }

    /// Returns the time of one new token for each of `batch` requests, without an effect of their lengths; 0 is treated
    /// as 1. Beyond the measured batches the efficiency is held. States that fit into the L2 cache were found there.
    pub fn at(&self, batch: u32) -> Estimate {
        self.at_mean(f64::from(batch.max(1)))
    }

    /// Returns [`at`](Self::at) for a caller that counts in `f64`, at least 1.
    pub(crate) fn at_mean(&self, batch: f64) -> Estimate {
        let Found {
            shape, reference, ..
        } = &self.found;
        let curve = self.found.points.curve();
        let reading = curve.read_at(curve.axis().locate_from_1(batch));
        let reference_s = shape.decode_reference_s(batch, reference);
        self.found.answer(reading, reference_s, &self.work(batch))
    }

    /// Returns the work of `batch` requests.
    pub(crate) fn work(&self, batch: f64) -> Work {
        self.found.shape.decode_work(batch)
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> DeltaShape {
        self.found.matched
    }

    /// Returns the matched measured points.
    pub fn curve(&self) -> Curve<'_> {
        self.found.points.curve()
    }

    /// Returns the errors of lookups like this one; see [`Estimate::interval`].
    pub fn errors(&self) -> ErrorGroup {
        self.found.errors()
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        self.found.class()
    }
}

/// A measured shape that answers for itself or for another shape.
#[derive(Debug, Clone)]
struct Found {
    shape: DeltaShape,
    matched: DeltaShape,
    reference: Reference,
    /// Errors of measured shapes, and of others.
    errors: [ErrorGroup; 2],
    points: Held,
}

impl Found {
    fn resolve(
        set: &TableSet,
        operation: OperationKind,
        shape: DeltaShape,
    ) -> Result<Found, ResolveError> {
        let table = set.required(operation)?;
        let table = table.typed::<DeltaShape, Points<'_>>();
        if [shape.k_heads, shape.v_heads, shape.head_dim].contains(&0) {
            let operation = operation.name();
            return Err(ResolveError::ZeroDimension { operation });
        }
        let apart = |other: &DeltaShape| {
            squared_log(other.v_heads, shape.v_heads) + squared_log(other.k_heads, shape.k_heads)
        };
        let is_like =
            |other: &DeltaShape| (other.kernel, other.head_dim) == (shape.kernel, shape.head_dim);
        let like = table.entries().filter(|entry| is_like(&entry.shape));
        let entry = like.min_by(|a, b| apart(&a.shape).total_cmp(&apart(&b.shape)));
        let entry = entry.ok_or_else(|| ResolveError::NoHeads {
            set: set.clone(),
            operation: operation.name(),
            q_heads: shape.k_heads,
            kv_heads: shape.v_heads,
            head_dim: shape.head_dim,
        })?;
        let dtype = (operation.declared().dtype)(&shape.into());
        Ok(Found {
            shape,
            matched: entry.shape,
            reference: set.reference(&table, dtype)?,
            errors: table.error_groups(dtype),
            points: table.hold(&entry),
        })
    }

    fn answer(&self, mut reading: Reading, reference_s: f64, work: &Work) -> Estimate {
        if self.class() > Class::Measured {
            reading.latency_us = None;
        }
        let seconds = reference_s * exp_short(reading.ln_slowdown);
        let rates = &self.reference.rates;
        // Between rows, and of other shapes, no answer is faster than memory.
        let seconds = larger(seconds, work.bytes * rates.s_per_byte);
        let at_peak = work.flops * rates.s_per_flop;
        Estimate::new(&reading, seconds, at_peak).at_best(self.class())
    }

    fn errors(&self) -> ErrorGroup {
        let [measured, other] = self.errors;
        match self.class() > Class::Measured {
            false => measured,
            true => other,
        }
    }

    fn class(&self) -> Class {
        if self.matched == self.shape {
            Class::Measured
        } else {
            Class::Transferred
        }
    }
}
