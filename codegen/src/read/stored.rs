//! A checked set as the library stores it. The emitted source and a set read at run time hold exactly these
//! numbers.

use std::collections::BTreeMap;

use rooflut_roofline::operation::{Codes, key};
use rooflut_roofline::{
    AxisPoint, Dtype, Gpu, MeasuredKernel, OperationKind, Reference, Timing, axis_points, filled, math,
};

use super::set::TableSet;
use super::table::Table;

/// A checked set of tables.
#[derive(Debug)]
pub struct StoredSet {
    /// Name of the set.
    pub name: String,
    /// The measured GPU.
    pub gpu: Gpu,
    /// Engine stack and kernels.
    pub engine: String,
    /// How a kernel was timed.
    pub timing: String,
    /// Where the measurements come from.
    pub source: String,
    /// Licence of the measurements.
    pub license: String,
    /// Day of the measurements, ISO 8601.
    pub date: String,
    /// The axes of all entries.
    pub axes: StoredAxes,
    /// The tables, in order of their operations.
    pub tables: Vec<StoredTable>,
    /// The set with the rows of other engine versions, by their names. Tables without such rows are those above.
    pub versions: Vec<(String, StoredSet)>,
}

/// The distinct axes of a set, concatenated; most shapes share theirs.
#[derive(Debug, Clone, Default)]
pub struct StoredAxes {
    /// The coordinates, ascending within an axis.
    pub values: Vec<u32>,
    /// A point for each coordinate.
    pub points: Vec<AxisPoint>,
    /// Where each axis starts.
    starts: BTreeMap<Vec<u32>, u32>,
}

/// All measured shapes of an operation.
#[derive(Debug)]
pub struct StoredTable {
    /// The measured operation.
    pub operation: OperationKind,
    /// The timing constants of the operation.
    pub timing: Timing,
    /// Time of the smallest call, microseconds.
    pub floor_us: f64,
    /// The shapes in ascending order; each has one code per column of the operation's shape.
    pub shapes: Vec<u32>,
    /// The hash key of each shape; distinct within a table.
    pub keys: Vec<u64>,
    /// Where the points of each shape are.
    pub entries: Vec<StoredEntry>,
    /// Latencies, microseconds, over the grid of the axes, the last axis fastest; NaN at points that were not
    /// measured.
    pub latency_us: Vec<f32>,
    /// Logarithms of latency over reference time, in the same order; an unmeasured point has the value of the
    /// cell that answers for it.
    pub ln_slowdown: Vec<f32>,
}

/// Where the points of one shape are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredEntry {
    /// First value and number of values of each axis in [`StoredAxes`]; a curve's second is empty.
    pub axes: [(u32, u32); 2],
    /// Index of the first point in [`StoredTable::latency_us`].
    pub start: u32,
}

impl StoredAxes {
    /// Index of the first value and number of values of the axis with these coordinates, added where it is
    /// new.
    fn place(&mut self, values: Vec<u32>) -> (u32, u32) {
        let count = values.len() as u32;
        if let Some(start) = self.starts.get(&values) {
            return (*start, count);
        }
        let start = self.values.len() as u32;
        self.points.extend(axis_points(&values));
        self.values.extend(&values);
        self.starts.insert(values, start);
        (start, count)
    }
}

impl TableSet {
    /// Returns the set as the library stores it, with the shapes of the operations and formats that are `wanted`.
    pub fn stored(&self, wanted: impl Fn(OperationKind, Dtype) -> bool) -> StoredSet {
        self.stored_after(StoredAxes::default(), &wanted)
    }

    /// Returns the set with axes that follow those of another.
    fn stored_after(&self, mut axes: StoredAxes, wanted: &impl Fn(OperationKind, Dtype) -> bool) -> StoredSet {
        let header = &self.header;
        let tables = self.tables.iter();
        let tables = tables.filter_map(|table| stored(table, &header.gpu, &mut axes, wanted)).collect();
        let versions = self.versions.iter();
        StoredSet {
            name: header.name.clone(),
            gpu: header.gpu.clone(),
            engine: header.engine.clone(),
            timing: header.timing.clone(),
            source: header.source.clone(),
            license: header.license.clone(),
            date: header.date.clone(),
            tables,
            versions: versions.map(|(name, set)| (name.clone(), set.stored_after(axes.clone(), wanted))).collect(),
            axes,
        }
    }
}

/// Returns the shapes of a table that are `wanted`, or `None` if there are none.
fn stored(
    table: &Table,
    gpu: &Gpu,
    axes: &mut StoredAxes,
    wanted: impl Fn(OperationKind, Dtype) -> bool,
) -> Option<StoredTable> {
    let operation = table.operation;
    let declared = operation.declared();
    let mut stored = StoredTable {
        operation,
        timing: table.timing,
        floor_us: table.floor_us(),
        shapes: Vec::new(),
        keys: Vec::new(),
        entries: Vec::new(),
        latency_us: Vec::new(),
        ln_slowdown: Vec::new(),
    };
    let shapes = table.shapes.iter();
    for (shape, points) in shapes.filter(|(shape, _)| wanted(operation, (declared.dtype)(shape))) {
        let codes = shape.get(..declared.shape.len()).unwrap_or_default();
        stored.shapes.extend(codes);
        stored.keys.push(key(codes));
        let [first, second] = Table::axes(points);
        let point = |row: usize, column: usize| Some([*first.get(row)?, *second.get(column)?]);
        let latency = |at: [u32; 2]| points.get(&at).copied();
        let slowdown = |[row, column]: [usize; 2]| {
            let at = point(row, column)?;
            ln_slowdown(operation, shape, at, latency(at)?, table.timing, gpu)
        };
        let columns = |row: usize| (0..second.len()).map(move |column| [row, column]);
        let start = stored.latency_us.len() as u32;
        for cell in (0..first.len()).flat_map(columns) {
            let [row, column] = cell;
            let latency_us = point(row, column).and_then(latency);
            stored.latency_us.push(latency_us.unwrap_or(f32::NAN));
            let slowdown = filled(cell, &first, slowdown);
            stored.ln_slowdown.push(slowdown.unwrap_or(0.0));
        }
        let is_curve = declared.axes.len() == 1;
        let second = if is_curve { Vec::new() } else { second };
        stored.entries.push(StoredEntry { axes: [axes.place(first), axes.place(second)], start });
    }
    (!stored.entries.is_empty()).then_some(stored)
}

/// The logarithm of latency over reference time; `None` where the GPU has no peak for the dtype.
fn ln_slowdown(
    operation: OperationKind,
    shape: &Codes,
    at: [u32; 2],
    latency_us: f32,
    timing: Timing,
    gpu: &Gpu,
) -> Option<f32> {
    let kernel = MeasuredKernel::new(operation, *shape, at);
    let rates = gpu.rates(kernel.dtype())?;
    let reference = Reference::new(gpu, rates, timing);
    let reference_s = kernel.reference_s(&reference);
    Some(math::ln(f64::from(latency_us) * 1e-6 / reference_s) as f32)
}
