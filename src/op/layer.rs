//! Whole layers of attention with their projections: the measured numbers of heads that answer for others.

use super::blend::Neighbour;
use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::operation::Codes;
use crate::hardware::{Dtype, OperationKind, Reference, Work};
use crate::math::{exp_short, ln};
use crate::table::{Class, Entry, ErrorGroup, Grid, Held, KernelTable, Reading, Table, TableSet};

/// The shape of a layer on one rank.
pub(super) trait LayerShape: Copy + PartialEq + From<Codes> + Into<Codes> {
    /// Returns the format of the projections.
    fn dtype(&self) -> Dtype;

    /// Returns the query heads of one rank.
    fn q_heads(&self) -> u32;

    /// Returns the shape with what may differ in a layer that answers for it: `dtype`, and the heads and sizes of the
    /// measured layer.
    fn like(&self, measured: &Self, dtype: Dtype) -> Self;

    /// Returns whether a measured layer is of the same model and format, whatever its heads.
    fn is_same(&self, measured: &Self) -> bool;

    /// Returns the error of a set that has no layer like this one.
    fn missing(&self, set: &TableSet, operation: OperationKind) -> ResolveError;
}

/// Measured shapes that answer for a shape.
#[derive(Debug, Clone)]
pub(super) struct FoundLayer<S> {
    pub(super) shape: S,
    pub(super) reference: Reference,
    pub(super) errors: ErrorGroup,
    /// The shape itself, or those with fewer and with more heads.
    rows: [Option<(Neighbour<S>, Held)>; 2],
    pub(super) class: Class,
}

/// Returns the measured layers with as many heads or fewer, and with more, of the same dimensions of heads. Those of the
/// same model and format come first.
fn around<'t, S: LayerShape>(table: KernelTable<'t, S, Grid<'t>>, shape: &S) -> [Option<Entry<S, Grid<'t>>>; 2] {
    let like = |dtype| table.entries().filter(move |entry| entry.shape == shape.like(&entry.shape, dtype));
    let dtype = match shape.dtype() {
        Dtype::Bf16 if like(Dtype::Bf16).next().is_none() => Dtype::Fp8Block,
        own => own,
    };
    let own = shape.like(shape, dtype);
    let rank = |entry: &Entry<S, Grid<'_>>| (entry.shape.q_heads(), own.is_same(&entry.shape));
    let fewer = like(dtype).filter(|entry| entry.shape.q_heads() <= shape.q_heads()).max_by_key(rank);
    let more = like(dtype).filter(|entry| entry.shape.q_heads() > shape.q_heads()).min_by_key(|entry| {
        let (q_heads, is_same) = rank(entry);
        (q_heads, !is_same)
    });
    let is_exact = fewer.is_some_and(|entry| entry.shape.q_heads() == shape.q_heads());
    [fewer, more.filter(|_| !is_exact)]
}

impl<S: LayerShape> FoundLayer<S> {
    pub(super) fn resolve(set: &TableSet, operation: OperationKind, shape: S) -> Result<FoundLayer<S>, ResolveError> {
        let table = set.required(operation).map(Table::typed::<S, Grid<'_>>)?;
        let [fewer, more] = around(table, &shape);
        let share = match (&fewer, &more) {
            (Some(fewer), Some(more)) => {
                let [low, at, high] = [fewer.shape, shape, more.shape].map(|shape| ln(f64::from(shape.q_heads())));
                (at - low) / (high - low)
            }
            (Some(_), None) => 0.0,
            (None, Some(_)) => 1.0,
            (None, None) => return Err(shape.missing(set, operation)),
        };
        let mut found = [fewer, more].into_iter().flatten();
        let class = if fewer.is_some_and(|entry| entry.shape == shape) {
            Class::Measured
        } else if fewer.is_some() && more.is_some() && found.all(|entry| shape.is_same(&entry.shape)) {
            Class::Interpolated
        } else {
            Class::Transferred
        }
        .max(table.class());
        let [measured, other] = table.error_groups(shape.dtype());
        let hold = |entry: Entry<S, Grid<'_>>, share| {
            let shape = entry.shape;
            (Neighbour { shape, share }, table.hold(&entry))
        };
        Ok(FoundLayer {
            shape,
            reference: set.reference(&table, shape.dtype())?,
            errors: match class {
                Class::Measured => measured,
                _ => other,
            },
            rows: [fewer.map(|entry| hold(entry, 1.0 - share)), more.map(|entry| hold(entry, share))],
            class,
        })
    }

    /// Returns the efficiency at a point of the grids.
    #[inline]
    pub(super) fn read(&self, batch: f64, length: f64) -> Reading {
        let mut mean = Reading { latency_us: None, ln_slowdown: 0.0, provenance: self.class.inside() };
        for (Neighbour { share, .. }, held) in self.rows.iter().flatten() {
            let grid = held.grid();
            let row = grid.batch().locate_from_1(batch);
            let reading = grid.read(row, grid.length().locate_from_1(length));
            mean.ln_slowdown += share * reading.ln_slowdown;
            mean.provenance = mean.provenance.worst(reading.provenance);
            mean.latency_us = reading.latency_us.filter(|_| self.class == Class::Measured);
        }
        mean
    }

    /// Returns the time of `work` with this efficiency of its reference time.
    #[inline]
    pub(super) fn answer(&self, reading: &Reading, reference_s: f64, work: &Work) -> Estimate {
        let at_peak = work.flops * self.reference.rates.s_per_flop;
        Estimate::new(reading, reference_s * exp_short(reading.ln_slowdown), at_peak)
    }

    pub(super) fn matched(&self) -> impl Iterator<Item = Neighbour<S>> + '_ {
        self.rows.iter().flatten().map(|(neighbour, _)| *neighbour)
    }
}

/// Adds the methods that all resolved layers of a shape with a field `found` have.
macro_rules! layer_answers {
    ($shape:ty: $($layer:ident),*) => {
        $crate::op::found::found_answers!($($layer),*);
        $(
            impl $layer {
                /// Returns the requested shape.
                pub(crate) fn shape(&self) -> $shape {
                    self.found.shape
                }

                /// Returns the reference of the layer.
                pub(crate) fn reference(&self) -> &Reference {
                    &self.found.reference
                }

                /// Returns the matched measured shapes with their shares.
                pub fn matched(&self) -> impl Iterator<Item = Neighbour<$shape>> + '_ {
                    self.found.matched()
                }
            }
        )*
    };
}

pub(super) use layer_answers;
