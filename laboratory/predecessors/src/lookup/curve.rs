//! Points along one axis, in the form of the published MFU column.

use super::reading::published_mfu;
use super::{Row, TableKey, at_best};
use rooflut::hardware::{AttentionShape, GemmShape, Gpu};
use rooflut::table::{Class, Curve, Entry, Grid, Provenance};
use rooflut_roofline::Prompts;

/// Measured points of one GEMM over m, or of prefill attention over the prompt length, as MFU rounded to three
/// decimals.
///
/// FLOPs are `2 m k n` and `2 heads head_dim S^2`; the peak belongs to the rows' dtype.
#[derive(Debug, Clone)]
pub struct MfuCurve {
    table: TableKey,
    /// In ascending order.
    points: Vec<MfuPoint>,
    peak_flops_per_s: f64,
    transferred: bool,
}

/// A point of an [`MfuCurve`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MfuPoint {
    /// Rows m of a GEMM, prompt length of prefill.
    pub at: u32,
    /// MFU, three decimals.
    pub mfu: f64,
}

impl MfuCurve {
    /// Returns the points of a GEMM entry, or `None` if `gpu` has no peak for its dtype.
    pub fn gemm<'t>(entry: &Entry<GemmShape, Curve<'t>>, gpu: &Gpu) -> Option<MfuCurve> {
        let (shape, points) = (entry.shape, entry.points);
        let peak_flops_per_s = gpu.peak_flops_per_s(shape.dtype)?;
        let rows = points.axis().values().iter().zip(points.latency_us()).map(|(&at, &latency_us)| {
            let flops = shape.work(f64::from(at)).flops;
            let mfu = published_mfu(flops, latency_us, peak_flops_per_s);
            MfuPoint { at, mfu }
        });
        Some(MfuCurve { table: TableKey::Gemm(shape), points: rows.collect(), peak_flops_per_s, transferred: false })
    }

    /// Returns the points of an entry of prefill attention with one prompt, or `None` if there are none or `gpu` has
    /// no peak for the dtype.
    pub fn prefill<'t>(entry: &Entry<AttentionShape, Grid<'t>>, gpu: &Gpu) -> Option<MfuCurve> {
        let mut batches = entry.points.batch().values().iter();
        let single = batches.position(|&batch| batch == 1)?;
        let (shape, points) = (entry.shape, entry.points);
        let peak_flops_per_s = gpu.peak_flops_per_s(shape.dtype)?;
        let lengths = points.length().values().iter().enumerate();
        let rows = lengths.filter_map(|(place, &at)| {
            let prompts = Prompts::equal(1.0, f64::from(at));
            let flops = shape.on_rank().prefill_work(&prompts).flops;
            let latency_us = points.latency_us(single, place)?;
            let mfu = published_mfu(flops, latency_us, peak_flops_per_s);
            Some(MfuPoint { at, mfu })
        });
        Some(MfuCurve { table: TableKey::Prefill(shape), points: rows.collect(), peak_flops_per_s, transferred: false })
    }

    /// Returns the curve, which answers for another shape if `transferred`.
    pub(super) fn transferred(self, transferred: bool) -> MfuCurve {
        MfuCurve { transferred, ..self }
    }

    /// Returns the peak that the MFU is relative to, FLOP/s.
    pub(crate) fn peak_flops_per_s(&self) -> f64 {
        self.peak_flops_per_s
    }

    /// Returns the table.
    pub fn table(&self) -> TableKey {
        self.table
    }

    /// Returns the points, in ascending order.
    pub fn points(&self) -> impl Iterator<Item = MfuPoint> + Clone + '_ {
        self.points.iter().copied()
    }

    /// Returns the row of a point.
    pub(super) fn row(&self, point: MfuPoint) -> Row {
        Row { table: self.table, batch: 1, at: point.at }
    }

    /// Returns the provenance of an answer, given that of its place on the curve.
    pub(super) fn provenance(&self, place: Provenance) -> Provenance {
        if self.transferred { at_best(place, Class::Transferred) } else { place }
    }
}
