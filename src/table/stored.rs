//! Storage of a set, used by generated code and by sets in memory.

use core::ops::Range;

use rooflut_roofline::operation::Codes;
use rooflut_roofline::{AxisPoint, Gpu, OperationKind, Timing};

use super::error_group::ErrorGroups;
use super::{Axis, Index, Origin};

/// A set that is compiled in.
pub struct StaticSet {
    /// Name of the set.
    pub name: &'static str,
    /// The GPU that was measured.
    pub gpu: &'static Gpu,
    /// Source of the measurements.
    pub origin: Origin,
    /// The coordinates of all axes, concatenated.
    pub axis_values: &'static [u32],
    /// One point per coordinate.
    pub axis_points: &'static [AxisPoint],
    /// The tables, in the order of their operations.
    pub tables: &'static [StaticTable],
    /// The set with the rows of other engine versions, by their names.
    pub versions: &'static [(&'static str, StaticSet)],
}

/// A table that is compiled in.
pub struct StaticTable {
    /// The data of the table apart from its points.
    pub head: TableHead,
    /// The codes of the shapes in ascending order; each shape has one code per column of the operation.
    pub shapes: &'static [u32],
    /// The place of each shape's points.
    pub entries: &'static [EntryPlace],
    /// Latencies, microseconds, the last axis fastest; NaN where nothing was measured.
    pub latency_us: &'static [f32],
    /// Logarithms of latency over reference time, in the same order. A hole has the value of the cell that answers
    /// for it.
    pub ln_slowdown: &'static [f32],
}

/// The data of a table apart from its points.
pub struct TableHead {
    /// The measured operation.
    pub operation: OperationKind,
    /// Timing constants of the operation.
    pub timing: Timing,
    /// Time of the smallest call, microseconds.
    pub floor_us: f64,
    /// Error groups by format, of measured shapes and of others.
    pub error_groups: ErrorGroups,
    /// Index from the key of a shape to its place.
    pub index: Index,
}

/// The place of a shape's points.
#[derive(Clone, Copy)]
pub struct EntryPlace {
    /// First value and number of values of each axis; the second is empty for a curve.
    axes: [(u32, u32); 2],
    /// Place of the first point.
    start: u32,
}

impl EntryPlace {
    /// Creates a place from the first value and number of values of each axis, and the place of the first point.
    pub const fn from_generated(axes: [(u32, u32); 2], start: u32) -> EntryPlace {
        EntryPlace { axes, start }
    }

    /// Returns the places of the points.
    #[inline]
    pub(super) fn cells(&self) -> Range<usize> {
        let [(_, rows), (_, columns)] = self.axes;
        let start = self.start as usize;
        start..start + rows as usize * columns.max(1) as usize
    }
}

/// A table with either kind of storage.
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub(super) head: &'a TableHead,
    pub(super) shapes: &'a [u32],
    pub(super) entries: &'a [EntryPlace],
    pub(super) latency_us: &'a [f32],
    pub(super) ln_slowdown: &'a [f32],
    pub(super) axis_values: &'a [u32],
    pub(super) axis_points: &'a [AxisPoint],
}

/// The measured points of a shape of any operation: a [`Curve`](super::Curve) or a [`Grid`](super::Grid).
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    pub(super) axes: [Axis<'a>; 2],
    pub(super) latency_us: &'a [f32],
    pub(super) ln_slowdown: &'a [f32],
}

impl Points<'_> {
    /// No points.
    pub(super) const NONE: Points<'static> =
        Points { axes: [Axis::new(&[], &[]); 2], latency_us: &[], ln_slowdown: &[] };
}

impl<'a> Points<'a> {
    /// Returns the axes of the operation; the second is empty for a curve.
    pub const fn axes(&self) -> [Axis<'a>; 2] {
        self.axes
    }

    /// Returns the number of measured points.
    pub fn measured(&self) -> usize {
        let latencies = self.latency_us.iter();
        latencies.filter(|latency| !latency.is_nan()).count()
    }
}

impl<'a> Stored<'a> {
    /// Returns the codes of the shape at `place`; empty if there is none.
    #[inline]
    pub(super) fn codes(&self, place: usize) -> &'a [u32] {
        let width = self.head.operation.shape_columns();
        let start = place * width;
        self.shapes.get(start..start + width).unwrap_or_default()
    }

    /// Returns the shape at `place`; zeros if there is none.
    #[inline]
    pub(super) fn shape(&self, place: usize) -> Codes {
        let mut shape = Codes::default();
        for (code, stored) in shape.iter_mut().zip(self.codes(place)) {
            *code = *stored;
        }
        shape
    }

    /// Returns the points of the shape at `place`; none if there is no such shape.
    #[inline]
    pub(super) fn points(&self, place: usize) -> Points<'a> {
        let none = EntryPlace::from_generated([(0, 0); 2], 0);
        let entry = self.entries.get(place).copied().unwrap_or(none);
        let axes = entry.axes.map(|(start, count)| {
            let span = start as usize..(start + count) as usize;
            Axis::new(
                self.axis_values.get(span.clone()).unwrap_or_default(),
                self.axis_points.get(span).unwrap_or_default(),
            )
        });
        let cells = entry.cells();
        Points {
            axes,
            latency_us: self.latency_us.get(cells.clone()).unwrap_or_default(),
            ln_slowdown: self.ln_slowdown.get(cells).unwrap_or_default(),
        }
    }
}
