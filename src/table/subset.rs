//! Tables with replaced points, for leaving rows out or correcting them.

use alloc::vec::Vec;

use rooflut_roofline::math::ln;
use rooflut_roofline::operation::{Codes, MeasuredKernel, key};
use rooflut_roofline::{axis_points, filled};

use super::owned::{OwnedSet, OwnedTable};
use super::stored::{EntryPlace, TableHead};
use super::table::Table;
use super::{Curve, Entry, Grid, Index, TableSet};

/// The points of a shape, on the heap.
#[derive(Debug, Clone)]
pub struct OwnedPoints {
    /// The shape.
    pub shape: Codes,
    /// The coordinates, ascending; the second axis of a curve is empty.
    pub axes: [Vec<u32>; 2],
    /// Latencies row by row, NaN in holes.
    pub latency_us: Vec<f32>,
    /// Natural logarithms of the latencies over the reference times.
    pub ln_slowdown: Vec<f32>,
}

impl OwnedPoints {
    /// Returns the slowdowns, computed anew in holes.
    fn filled(&self) -> impl Iterator<Item = f32> {
        let [rows, columns] = &self.axes;
        let width = columns.len().max(1);
        let slowdown = move |[row, column]: [usize; 2]| {
            let place = row * width + column;
            let is_measured = !self.latency_us.get(place)?.is_nan();
            is_measured.then(|| self.ln_slowdown.get(place).copied())?
        };
        let cells = (0..rows.len()).flat_map(move |row| (0..width).map(move |column| [row, column]));
        cells.map(move |cell| filled(cell, rows, slowdown).unwrap_or_default())
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

impl TableSet {
    /// Returns the set with the latency of each of `rows` multiplied by its factor, on the heap.
    pub fn with_scaled(&self, rows: &[(MeasuredKernel, f64)]) -> TableSet {
        if let Some(base) = self.base() {
            return base.with_scaled(rows).transferred(self.name_text(), self.gpu().clone());
        }
        let mut owned = OwnedSet::without_tables(self);
        for table in self.tables() {
            let stored = table.stored();
            // All tables share one reason.
            if owned.tables.is_empty() {
                owned.axis_values = stored.axis_values.to_vec();
                owned.axis_points = stored.axis_points.to_vec();
            }
            let mut copy = OwnedTable {
                head: with_sorted_index(stored.head, stored.shapes),
                shapes: stored.shapes.to_vec(),
                entries: stored.entries.to_vec(),
                latency_us: stored.latency_us.to_vec(),
                ln_slowdown: stored.ln_slowdown.to_vec(),
            };
            let scaled = rows.iter().filter(|(row, _)| row.operation() == table.operation());
            for (row, factor) in scaled {
                copy.scale(table, row, *factor);
            }
            owned.tables.push(copy);
        }
        TableSet::shared(owned)
    }
}

impl OwnedTable {
    /// Multiplies the latency of a row by a factor; `table` is the table that this one is a copy of.
    fn scale(&mut self, table: Table<'_>, row: &MeasuredKernel, factor: f64) {
        let (stored, shape) = (table.stored(), row.shape::<Codes>());
        let place = (0..table.len()).find(|&place| stored.shape(place) == shape);
        let Some((place, entry)) = place.and_then(|place| Some((place, self.entries.get(place)?))) else {
            return;
        };
        let latency_us = self.latency_us.get_mut(entry.cells());
        let ln_slowdown = self.ln_slowdown.get_mut(entry.cells());
        let Some((latency_us, ln_slowdown)) = latency_us.zip(ln_slowdown) else {
            return;
        };
        let axes = stored.points(place).axes();
        let mut points = OwnedPoints {
            shape,
            axes: axes.map(|axis| axis.values().to_vec()),
            latency_us: latency_us.to_vec(),
            ln_slowdown: ln_slowdown.to_vec(),
        };
        points.scale(row.point(), factor);
        latency_us.copy_from_slice(&points.latency_us);
        for (slot, filled) in ln_slowdown.iter_mut().zip(points.filled()) {
            *slot = filled;
        }
    }
}

/// Returns the description of a table whose index is searched.
fn with_sorted_index(head: &TableHead, shapes: &[u32]) -> TableHead {
    let width = head.operation.shape_columns();
    TableHead {
        operation: head.operation,
        timing: head.timing,
        floor_us: head.floor_us,
        error_groups: head.error_groups,
        index: Index::sorted(shapes.chunks(width).map(key)),
    }
}

impl OwnedPoints {
    fn scale(&mut self, [first, second]: [u32; 2], factor: f64) {
        let [rows, columns] = &self.axes;
        let row = rows.iter().position(|&value| value == first);
        let column = if columns.is_empty() { Some(0) } else { columns.iter().position(|&value| value == second) };
        let Some((row, column)) = row.zip(column) else {
            return;
        };
        let place = row * columns.len().max(1) + column;
        if let Some(latency_us) = self.latency_us.get_mut(place) {
            *latency_us *= factor as f32;
        }
        if let Some(ln_slowdown) = self.ln_slowdown.get_mut(place) {
            *ln_slowdown += ln(factor) as f32;
        }
    }
}

impl Table<'_> {
    /// Returns a set of this table alone with other `points`, at most 65,536 shapes in ascending order.
    pub fn with_points(self, points: impl IntoIterator<Item = OwnedPoints>) -> TableSet {
        let mut owned = OwnedSet::without_tables(self.set());
        owned.push(self.stored().head, points);
        TableSet::shared(owned)
    }

    /// Returns the points of all shapes.
    pub fn all_points(self) -> Vec<OwnedPoints> {
        if self.operation().declared().axes.len() == 1 {
            let entries = self.typed::<Codes, Curve<'_>>();
            let points = |entry: Entry<Codes, Curve<'_>>| OwnedPoints {
                shape: entry.shape,
                axes: [entry.points.axis().values().to_vec(), Vec::new()],
                latency_us: entry.points.latency_us().to_vec(),
                ln_slowdown: entry.points.ln_slowdown().to_vec(),
            };
            return entries.entries().map(points).collect();
        }
        let entries = self.typed::<Codes, Grid<'_>>();
        let points = |entry: Entry<Codes, Grid<'_>>| {
            let grid = entry.points;
            let (latency_us, ln_slowdown) = grid.arrays();
            OwnedPoints {
                shape: entry.shape,
                axes: [grid.batch(), grid.length()].map(|axis| axis.values().to_vec()),
                latency_us: latency_us.to_vec(),
                ln_slowdown: ln_slowdown.to_vec(),
            }
        };
        entries.entries().map(points).collect()
    }
}

impl OwnedSet {
    fn without_tables(set: &TableSet) -> OwnedSet {
        OwnedSet {
            name: set.name_text(),
            gpu: set.gpu().clone(),
            origin: set.origin().clone(),
            axis_values: Vec::new(),
            axis_points: Vec::new(),
            tables: Vec::new(),
            versions: Vec::new(),
        }
    }

    /// Adds a table with the description of another and `points`, at most 65,536 shapes in ascending order.
    fn push(&mut self, head: &TableHead, points: impl IntoIterator<Item = OwnedPoints>) {
        let width = head.operation.shape_columns();
        let (mut shapes, mut entries) = (Vec::new(), Vec::new());
        let (mut latency_us, mut ln_slowdown) = (Vec::new(), Vec::new());
        for points in points {
            let axes = points.axes.each_ref().map(|axis| self.axis(axis));
            let start = latency_us.len() as u32;
            entries.push(EntryPlace::from_generated(axes, start));
            shapes.extend(points.shape.into_iter().take(width));
            ln_slowdown.extend(points.filled());
            latency_us.extend(points.latency_us);
        }
        self.tables.push(OwnedTable {
            head: with_sorted_index(head, &shapes),
            shapes,
            entries,
            latency_us,
            ln_slowdown,
        });
    }
}
