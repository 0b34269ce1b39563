//! Attention within a window of keys.

use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::{OperationKind, Reference, WindowShape, Work};
use crate::math::{exp_short, ln};
use crate::table::{Class, ErrorGroup, Grid, Held, KernelTable, Table, TableSet};

/// Resolved prefill attention within a window.
///
/// ```
/// use rooflut::hardware::{Dtype, WindowShape};
/// use rooflut::op::WindowPrefill;
/// use rooflut::table::{Class, sets};
///
/// let shape = WindowShape {
///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 2, kv_heads: 1, head_dim: 256, window: 1024,
/// };
/// let attention = WindowPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(attention.at(1, 128).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct WindowPrefill {
    found: Found,
}

/// Resolved decode attention within a window.
///
/// ```
/// use rooflut::hardware::{Dtype, WindowShape};
/// use rooflut::op::WindowDecode;
/// use rooflut::table::{Class, sets};
///
/// let shape = WindowShape {
///     dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 2, kv_heads: 1, head_dim: 256, window: 1024,
/// };
/// let attention = WindowDecode::resolve(&sets::H100, shape)?;
/// assert_eq!(attention.at(1, 4096).provenance, Class::Measured.inside());
/// // No table has this window, so the nearest one with the same heads answers.
/// let wider = WindowDecode::resolve(&sets::H100, WindowShape { window: 2000, ..shape })?;
/// assert_eq!(wider.class(), Class::Transferred);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct WindowDecode {
    found: Found,
}

impl TableSet {
    /// Returns prefill attention within a window by shape over (prompts, prompt length), or `None` if the set has
    /// none.
    ///
    /// ```
    /// use rooflut::table::sets;
    /// let shapes = sets::H100.window_prefill().map_or(0, |table| table.len());
    /// assert!(shapes > 0);
    /// ```
    pub fn window_prefill(&self) -> Option<KernelTable<'_, WindowShape, Grid<'_>>> {
        self.table(OperationKind::WindowPrefill).map(Table::typed)
    }

    /// Returns decode attention within a window by shape over (requests, KV length), or `None` if the set has none.
    pub fn window_decode(&self) -> Option<KernelTable<'_, WindowShape, Grid<'_>>> {
        self.table(OperationKind::WindowDecode).map(Table::typed)
    }
}

impl WindowPrefill {
    /// Looks up the shape in `set`, or else the nearest window, in logarithms, with the same formats and heads
    /// (`Transferred`). No window counts as the widest.
    ///
    /// # Errors
    /// The set has no such table or none with these formats and heads, or the GPU has no peak for the dtype.
    pub fn resolve(set: &TableSet, shape: WindowShape) -> Result<WindowPrefill, ResolveError> {
        let found = Found::resolve(set, OperationKind::WindowPrefill, shape)?;
        Ok(WindowPrefill { found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured
    /// grid the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        let (batch, length) = (f64::from(batch.max(1)), f64::from(seq_len.max(1)));
        let Found {
            shape, reference, ..
        } = &self.found;
        let reference_s = shape.prefill_reference_s(batch, length, reference);
        let work = shape.prefill_work(batch, length);
        self.found.answer(batch, length, reference_s, &work)
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> WindowShape {
        self.found.matched
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

impl WindowDecode {
    /// Looks up the shape in `set`, as [`WindowPrefill::resolve`].
    ///
    /// # Errors
    /// As [`WindowPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: WindowShape) -> Result<WindowDecode, ResolveError> {
        let found = Found::resolve(set, OperationKind::WindowDecode, shape)?;
        Ok(WindowDecode { found })
    }

    /// Returns the time of one token for each of `batch` requests of `kv_len` tokens, the new one included, as in the
    /// benchmark; zeros are treated as 1. Beyond the measured grid the efficiency is held.
    pub fn at(&self, batch: u32, kv_len: u32) -> Estimate {
        let (batch, length) = (f64::from(batch.max(1)), f64::from(kv_len.max(1)));
        let Found {
            shape, reference, ..
        } = &self.found;
        let reference_s = shape.decode_reference_s(batch, length, reference);
        let work = shape.decode_work(batch, length);
        self.found.answer(batch, length, reference_s, &work)
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> WindowShape {
        self.found.matched
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
    shape: WindowShape,
    matched: WindowShape,
    reference: Reference,
    /// Errors of measured shapes, and of others.
    errors: [ErrorGroup; 2],
    points: Held,
}

impl Found {
    fn resolve(
        set: &TableSet,
        operation: OperationKind,
        shape: WindowShape,
    ) -> Result<Found, ResolveError> {
        let table = set.required(operation)?;
        let table = table.typed::<WindowShape, Grid<'_>>();
        let nearest = || {
            let apart = |other: &WindowShape| (ln_window(other) - ln_window(&shape)).abs();
            let same_heads = |other: &WindowShape| {
                let window = shape.window;
                WindowShape { window, ..*other } == shape
            };
            let entries = table.entries().filter(|entry| same_heads(&entry.shape));
            entries.min_by(|a, b| apart(&a.shape).total_cmp(&apart(&b.shape)))
        };
        let entry = table.find(&shape).or_else(nearest);
        let entry = entry.ok_or_else(|| ResolveError::NoHeads {
            set: set.clone(),
            operation: operation.name(),
            q_heads: shape.q_heads,
            kv_heads: shape.kv_heads,
            head_dim: shape.head_dim,
        })?;
        Ok(Found {
            shape,
            matched: entry.shape,
            reference: set.reference(&table, shape.dtype)?,
            errors: table.error_groups(shape.dtype),
            points: table.hold(&entry),
        })
    }

    fn answer(&self, batch: f64, length: f64, reference_s: f64, work: &Work) -> Estimate {
        let grid = self.points.grid();
        let (batch, length) = (
            grid.batch().locate_from_1(batch),
            grid.length().locate_from_1(length),
        );
        let mut reading = grid.read(batch, length);
        if self.class() > Class::Measured {
            reading.latency_us = None;
        }
        let seconds = reference_s * exp_short(reading.ln_slowdown);
        let at_peak = work.flops * self.reference.rates.s_per_flop;
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

/// Returns the logarithm of a window; no window counts as the widest.
fn ln_window(shape: &WindowShape) -> f64 {
    match shape.window {
        0 => ln(f64::from(u32::MAX)),
        window => ln(f64::from(window)),
    }
}
