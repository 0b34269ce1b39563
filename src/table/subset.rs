//! A table with replaced points, for leaving rows out.

use alloc::vec::Vec;

use rooflut_roofline::operation::{Codes, key};
use rooflut_roofline::{answering_cell, axis_points};

use super::owned::{OwnedSet, OwnedTable};
use super::stored::{EntryPlace, TableHead};
use super::table::Table;
use super::{Index, TableSet};

/// The points of a shape.
pub(crate) struct OwnedPoints {
    pub(crate) shape: Codes,
    /// The coordinates, ascending; the second axis of a curve is empty.
    pub(crate) axes: [Vec<u32>; 2],
    pub(crate) latency_us: Vec<f32>,
    pub(crate) ln_slowdown: Vec<f32>,
}

impl OwnedPoints {
    /// Returns the slowdowns, with those of the answering cells in holes.
    fn filled(&self) -> impl Iterator<Item = f32> {
        let [rows, columns] = self.axes.each_ref().map(|axis| axis.len().max(1));
        let is_measured = move |row: usize, column: usize| {
            let latency = self.latency_us.get(row * columns + column);
            latency.is_some_and(|latency| !latency.is_nan())
        };
        let cells = (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]));
        cells.map(move |cell| {
            let answers = answering_cell(cell, rows, is_measured);
            let slowdown = answers
                .and_then(|[row, column]| self.ln_slowdown.get(row * columns + column).copied());
            slowdown.unwrap_or_default()
        })
    }
}

impl OwnedSet {
    /// Appends an axis; returns its first value and number of values.
    fn axis(&mut self, values: &[u32]) -> (u32, u32) {
        let start = self.axis_values.len() as u32;
        self.axis_points.extend(axis_points(values));
        self.axis_values.extend(values);
        (start, values.len() as u32)
    }
}

impl Table<'_> {
    /// Returns a set of this table alone with other `points`, at most 65,536 shapes in ascending order.
    pub(crate) fn with_points(self, points: impl IntoIterator<Item = OwnedPoints>) -> TableSet {
        let (set, head) = (self.set(), self.head());
        let mut owned = OwnedSet {
            name: set.name_text(),
            gpu: set.gpu().clone(),
            origin: set.origin().clone(),
            axis_values: Vec::new(),
            axis_points: Vec::new(),
            tables: Vec::new(),
        };
        let width = head.operation.shape_columns();
        let (mut shapes, mut entries) = (Vec::new(), Vec::new());
        let (mut latency_us, mut ln_slowdown) = (Vec::new(), Vec::new());
        for points in points {
            let axes = points.axes.each_ref().map(|axis| owned.axis(axis));
            let start = latency_us.len() as u32;
            entries.push(EntryPlace::from_generated(axes, start));
            shapes.extend(points.shape.into_iter().take(width));
            ln_slowdown.extend(points.filled());
            latency_us.extend(points.latency_us);
        }
        owned.tables.push(OwnedTable {
            head: TableHead {
                operation: head.operation,
                t0_us: head.t0_us,
                floor_us: head.floor_us,
                hot_read: head.hot_read,
                references: head.references,
                index: Index::sorted(shapes.chunks(width).map(key)),
            },
            shapes,
            entries,
            latency_us,
            ln_slowdown,
        });
        TableSet::shared(owned)
    }
}
