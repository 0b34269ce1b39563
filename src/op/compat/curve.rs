//! Points along one axis, in the form of the published MFU column.

use super::reading::published_mfu;
use super::{Row, TableKey};
use crate::hardware::{AttentionShape, GemmShape, Gpu, Prompts};
use crate::table::{Axis, Class, Curve, Entry, Grid, Held, KernelTable, Provenance};

/// Measured points of one GEMM over m, or of prefill attention over the prompt length, as MFU rounded to three
/// decimals.
///
/// FLOPs are `2 m k n` and `2 heads head_dim S^2`; the peak is that of the rows' dtype.
#[derive(Debug, Clone)]
pub struct MfuCurve {
    points: Points,
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

#[derive(Debug, Clone)]
enum Points {
    Gemm(GemmShape, Held),
    /// The row of the grid where the batch is 1.
    Prefill(AttentionShape, Held, usize),
}

impl MfuCurve {
    /// Returns the points of a GEMM of `table`, or `None` if `gpu` has no peak for its dtype.
    pub fn gemm<'t>(
        table: KernelTable<'t, GemmShape, Curve<'t>>,
        entry: &Entry<GemmShape, Curve<'t>>,
        gpu: &Gpu,
    ) -> Option<MfuCurve> {
        Some(MfuCurve {
            points: Points::Gemm(entry.shape, table.hold(entry)),
            peak_flops_per_s: gpu.peak_flops_per_s(entry.shape.dtype)?,
            transferred: table.class() > Class::Measured,
        })
    }

    /// Returns the points of prefill attention of `table` with one prompt, or `None` if there are none or `gpu` has
    /// no peak for the dtype.
    pub fn prefill<'t>(
        table: KernelTable<'t, AttentionShape, Grid<'t>>,
        entry: &Entry<AttentionShape, Grid<'t>>,
        gpu: &Gpu,
    ) -> Option<MfuCurve> {
        let mut batches = entry.points.batch().values().iter();
        let single = batches.position(|&batch| batch == 1)?;
        Some(MfuCurve {
            points: Points::Prefill(entry.shape, table.hold(entry), single),
            peak_flops_per_s: gpu.peak_flops_per_s(entry.shape.dtype)?,
            transferred: table.class() > Class::Measured,
        })
    }

    /// Returns the curve, which answers for another shape if `transferred`.
    pub(super) fn transferred(self, transferred: bool) -> MfuCurve {
        MfuCurve {
            transferred: self.transferred || transferred,
            ..self
        }
    }

    /// Returns the peak that the MFU is relative to, FLOP/s.
    pub(crate) fn peak_flops_per_s(&self) -> f64 {
        self.peak_flops_per_s
    }

    /// Returns the table.
    pub fn table(&self) -> TableKey {
        match self.points {
            Points::Gemm(shape, _) => TableKey::Gemm(shape),
            Points::Prefill(shape, ..) => TableKey::Prefill(shape),
        }
    }

    /// Returns the points, in ascending order.
    pub fn points(&self) -> impl Iterator<Item = MfuPoint> + Clone + '_ {
        let places = 0..self.axis().values().len();
        places.filter_map(|place| self.point(place))
    }

    /// Returns the row of a point.
    pub(super) fn row(&self, point: MfuPoint) -> Row {
        Row {
            table: self.table(),
            batch: 1,
            at: point.at,
        }
    }

    /// Returns the provenance of an answer, given that of its place on the curve.
    pub(super) fn provenance(&self, place: Provenance) -> Provenance {
        if self.transferred {
            place.at_best(Class::Transferred)
        } else {
            place
        }
    }

    fn axis(&self) -> Axis<'_> {
        match &self.points {
            Points::Gemm(_, held) => held.curve().axis(),
            Points::Prefill(_, held, _) => held.grid().length(),
        }
    }

    fn point(&self, place: usize) -> Option<MfuPoint> {
        let at = *self.axis().values().get(place)?;
        let x = f64::from(at);
        let (flops, latency_us) = match &self.points {
            Points::Gemm(shape, held) => {
                (shape.work(x).flops, *held.curve().latency_us().get(place)?)
            }
            Points::Prefill(shape, held, row) => (
                shape.on_rank().prefill_work(&Prompts::equal(1.0, x)).flops,
                held.grid().latency_us(*row, place)?,
            ),
        };
        Some(MfuPoint {
            at,
            mfu: published_mfu(flops, latency_us, self.peak_flops_per_s),
        })
    }
}
