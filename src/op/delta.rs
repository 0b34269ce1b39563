//! Kernels of gated delta nets.

use super::blend::squared_log;
use super::estimate::Estimate;
use super::found::{Found, found_answers};
use crate::error::ResolveError;
use crate::hardware::{DeltaShape, OperationKind, Reference, Work};
use crate::math::{exp_short, larger};
use crate::table::{Class, Curve, ErrorGroup, Grid, KernelTable, Points, Reading, Table, TableSet};

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
    shape: DeltaShape,
    found: Found<DeltaShape>,
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
    shape: DeltaShape,
    found: Found<DeltaShape>,
}

found_answers!(DeltaPrefill, DeltaDecode);

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
        let found = find(set, OperationKind::DeltaPrefill, shape)?;
        Ok(DeltaPrefill { shape, found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured grid
    /// the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        self.at_mean(f64::from(batch.max(1)), f64::from(seq_len.max(1)))
    }

    /// Returns [`at`](Self::at) for a number and a length, at least 1, that need not be whole.
    pub(crate) fn at_mean(&self, batch: f64, seq_len: f64) -> Estimate {
        let grid = self.grid();
        let row = grid.batch().locate_from_1(batch);
        let reading = grid.read(row, grid.length().locate_from_1(seq_len));
        let reference_s = (self.shape).prefill_reference_s(batch, seq_len, self.reference());
        answer(&self.found, reading, reference_s, &self.work(batch, seq_len))
    }

    /// Returns the work of `batch` prompts of `seq_len` tokens.
    pub(crate) fn work(&self, batch: f64, seq_len: f64) -> Work {
        self.shape.prefill_work(batch, seq_len)
    }

    /// Returns the requested shape.
    pub(crate) fn shape(&self) -> DeltaShape {
        self.shape
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
}

impl DeltaDecode {
    /// Looks up the shape in `set`, as [`DeltaPrefill::resolve`].
    ///
    /// # Errors
    /// As [`DeltaPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: DeltaShape) -> Result<DeltaDecode, ResolveError> {
        let found = find(set, OperationKind::DeltaDecode, shape)?;
        Ok(DeltaDecode { shape, found })
    }

    /// Returns the time of one new token for each of `batch` requests, without an effect of their lengths; 0 is treated
    /// as 1. Beyond the measured batches the efficiency is held. States that fit into the L2 cache were found there.
    pub fn at(&self, batch: u32) -> Estimate {
        self.at_mean(f64::from(batch.max(1)))
    }

    /// Returns [`at`](Self::at) for a caller that counts in `f64`, at least 1.
    pub(crate) fn at_mean(&self, batch: f64) -> Estimate {
        let curve = self.curve();
        let reading = curve.read_at(curve.axis().locate_from_1(batch));
        let reference_s = self.shape.decode_reference_s(batch, self.reference());
        answer(&self.found, reading, reference_s, &self.work(batch))
    }

    /// Returns the work of `batch` requests.
    pub(crate) fn work(&self, batch: f64) -> Work {
        self.shape.decode_work(batch)
    }

    /// Returns the requested shape.
    pub(crate) fn shape(&self) -> DeltaShape {
        self.shape
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
}

fn find(set: &TableSet, operation: OperationKind, shape: DeltaShape) -> Result<Found<DeltaShape>, ResolveError> {
    let table = set.required(operation)?.typed::<DeltaShape, Points<'_>>();
    if [shape.k_heads, shape.v_heads, shape.head_dim].contains(&0) {
        let operation = operation.name();
        return Err(ResolveError::ZeroDimension { operation });
    }
    let apart =
        |other: &DeltaShape| squared_log(other.v_heads, shape.v_heads) + squared_log(other.k_heads, shape.k_heads);
    let is_like = |other: &DeltaShape| (other.kernel, other.head_dim) == (shape.kernel, shape.head_dim);
    let like = table.entries().filter(|entry| is_like(&entry.shape));
    let entry =
        like.min_by(|a, b| apart(&a.shape).total_cmp(&apart(&b.shape))).ok_or_else(|| ResolveError::NoHeads {
            set: set.clone(),
            operation: operation.name(),
            q_heads: shape.k_heads,
            kv_heads: shape.v_heads,
            head_dim: shape.head_dim,
        })?;
    let class = if entry.shape == shape { Class::Measured } else { Class::Transferred };
    let dtype = (operation.declared().dtype)(&shape.into());
    Found::try_new(set, table, &entry, dtype, class)
}

/// Returns the time of a kernel that takes `reference_s` seconds at the roofline.
fn answer(found: &Found<DeltaShape>, reading: Reading, reference_s: f64, work: &Work) -> Estimate {
    let rates = &found.reference.rates;
    let seconds = reference_s * exp_short(reading.ln_slowdown);
    // Between rows, and of other shapes, no answer is faster than memory.
    let seconds = larger(seconds, work.bytes * rates.s_per_byte);
    found.answer(reading, seconds, work.flops * rates.s_per_flop)
}
