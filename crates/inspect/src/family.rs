//! The rows of a set, by operation and formats.

use std::collections::BTreeMap;

use rooflut::hardware::{Dtype, MeasuredKernel, OperationKind};
use rooflut::table::{Curve, Entry, Grid, LoadedTable, TableSet};
use rooflut_roofline::operation::Codes;

use crate::line::Line;
use crate::row::{Location, Row};

/// A set with its rows, ordered for comparison with their neighbours.
pub struct Inspection {
    /// The set.
    pub set: TableSet,
    /// The families, by operation, then by formats.
    pub families: Vec<Family>,
    /// Rows of the files that the set does not use as they are; empty for a built-in set.
    pub excluded: Vec<Excluded>,
}

/// Rows of a file that a set does not use as they are.
pub struct Excluded {
    /// The file, as messages name it.
    pub file: String,
    /// The reason.
    pub reason: String,
    /// The rows, in the words of the file.
    pub rows: Vec<String>,
    /// The latencies that another measurement has in place of theirs, microseconds; empty if the rows are left out.
    pub latency_us: Vec<f64>,
}

/// The rows of one operation and formats. These rows can be compared with each other.
pub struct Family {
    /// The measured operation.
    pub operation: OperationKind,
    /// The operation and its formats.
    pub name: String,
    /// The rows, by shape, then along the axes.
    pub rows: Vec<Row>,
}

impl Inspection {
    /// Inspects a built-in set. Its rows have no locations.
    pub fn of(set: &TableSet) -> Inspection {
        Inspection::of_kernels(set, |_| true)
    }

    /// Inspects the families of a built-in set with some of `kernels`, which must be the same for all of a family.
    pub(crate) fn of_kernels(set: &TableSet, kernels: impl Fn(&MeasuredKernel) -> bool) -> Inspection {
        let rows = compiled(set, kernels)
            .into_iter()
            .filter_map(|(kernel, latency_us)| Row::new(set, kernel, written(latency_us), None));
        Inspection::new(set, rows.collect())
    }

    /// Inspects a set that was read from `tables`.
    pub fn of_files(set: &TableSet, tables: Vec<LoadedTable>) -> Inspection {
        let mut excluded = Vec::new();
        let rows = tables
            .into_iter()
            .flat_map(|table| {
                let LoadedTable { file, rows, .. } = table;
                excluded.extend(table.excluded.into_iter().map(|entry| Excluded {
                    file: file.clone(),
                    reason: entry.reason,
                    rows: entry.rows,
                    latency_us: entry.latency_us,
                }));
                rows.into_iter().map(move |row| {
                    let location = Location { file: file.clone(), line: row.line };
                    (row, location)
                })
            })
            .filter_map(|(row, location)| Row::new(set, row.kernel, row.latency_us, Some(location)))
            .collect();
        Inspection { excluded, ..Inspection::new(set, rows) }
    }

    fn new(set: &TableSet, rows: Vec<Row>) -> Inspection {
        let mut families = BTreeMap::<(OperationKind, [Dtype; 2]), Vec<Row>>::new();
        for row in rows {
            let key = (row.kernel.operation(), formats(&row.kernel));
            families.entry(key).or_default().push(row);
        }
        let families = families.into_iter().map(|((operation, _), mut rows)| {
            rows.sort_by_key(|row| (row.shape, row.point));
            let name = rows.first().map(|row| family_name(&row.kernel));
            Family { operation, name: name.unwrap_or_default(), rows }
        });
        Inspection { set: set.clone(), families: families.collect(), excluded: Vec::new() }
    }

    /// Returns the number of rows of the set.
    pub fn rows(&self) -> usize {
        self.families.iter().map(|family| family.rows.len()).sum()
    }
}

impl Family {
    /// Returns the lines of the family: for each axis, rows that differ in that coordinate alone.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let axes = 0..self.operation.declared().axes.len();
        axes.flat_map(|axis| Line::along(axis, &self.rows)).collect()
    }
}

/// Returns the operation of a kernel and its formats: `gemm fp8`, `decode bf16 with fp8 KV`.
pub fn family_name(kernel: &MeasuredKernel) -> String {
    let operation = kernel.operation();
    match (operation, formats(kernel)) {
        (OperationKind::AllReduce | OperationKind::AllGather | OperationKind::ReduceScatter, _) => {
            operation.to_string()
        }
        (_, [dtype, kv_dtype]) if dtype != kv_dtype => {
            format!("{operation} {dtype} with {kv_dtype} KV")
        }
        (_, [dtype, _]) => format!("{operation} {dtype}"),
    }
}

/// Returns the formats of the math and of KV entries; twice the former if there are no KV entries.
fn formats(kernel: &MeasuredKernel) -> [Dtype; 2] {
    let kv_dtype = kernel.code("kv_dtype").and_then(|code| Dtype::ALL.get(code as usize).copied());
    [kernel.dtype(), kv_dtype.unwrap_or(kernel.dtype())]
}

/// Returns the shortest decimal number that rounds to `stored`.
fn written(stored: f32) -> f64 {
    stored.to_string().parse().unwrap_or(f64::from(stored))
}

/// Returns the rows of a set whose shapes are of `kernels`, with latencies in microseconds.
fn compiled(set: &TableSet, kernels: impl Fn(&MeasuredKernel) -> bool) -> Vec<(MeasuredKernel, f32)> {
    let mut rows = Vec::new();
    for table in set.tables() {
        let operation = table.operation();
        let kernel = |shape: Codes, point| MeasuredKernel::new(operation, shape, point);
        let is_wanted = |shape: Codes| kernels(&kernel(shape, [1, 1]));
        if operation.declared().axes.len() == 1 {
            let entries = table.typed::<Codes, Curve<'_>>().entries();
            for Entry { shape, points, .. } in entries.filter(|entry| is_wanted(entry.shape)) {
                let points = points.axis().values().iter().zip(points.latency_us());
                rows.extend(points.map(|(&x, &us)| (kernel(shape, [x, 1]), us)));
            }
        } else {
            let entries = table.typed::<Codes, Grid<'_>>().entries();
            for Entry { shape, points, .. } in entries.filter(|entry| is_wanted(entry.shape)) {
                let cells = cells(points).map(|(point, us)| (kernel(shape, point), us));
                rows.extend(cells);
            }
        }
    }
    rows
}

/// Returns the measured points of a grid.
fn cells(grid: Grid<'_>) -> impl Iterator<Item = ([u32; 2], f32)> {
    let batches = grid.batch().values().iter().enumerate();
    batches.flat_map(move |(row, &batch)| {
        let lengths = grid.length().values().iter().enumerate();
        lengths.filter_map(move |(column, &length)| Some(([batch, length], grid.latency_us(row, column)?)))
    })
}
