//! A checked set as the library stores it: whoever emits it or keeps it in memory takes these numbers
//! over as they are.

use std::collections::BTreeMap;

use rooflut_roofline::{AllReduceShape, AttentionShape, GemmShape, Gpu, MoeShape, Reference, math};

use crate::TableSet;
use crate::operation::Operation;
use crate::table::Table;

/// A checked set of tables.
#[derive(Debug)]
pub struct StoredSet {
    /// Name of the set.
    pub name: String,
    /// The GPU that was measured.
    pub gpu: Gpu,
    /// Engine stack and kernels.
    pub engine: String,
    /// How a kernel was timed.
    pub timing: String,
    /// Where the figures come from.
    pub source: String,
    /// Licence of the figures.
    pub license: String,
    /// The day they were measured, ISO 8601.
    pub date: String,
    /// GEMMs over m.
    pub gemm: Option<StoredTable<GemmShape, 1>>,
    /// Prefill attention over (batch, seq_len).
    pub prefill: Option<StoredTable<AttentionShape, 2>>,
    /// Decode attention over (batch, kv_len).
    pub decode: Option<StoredTable<AttentionShape, 2>>,
    /// All-reduce over bytes.
    pub allreduce: Option<StoredTable<AllReduceShape, 1>>,
    /// Fused MoE layers over tokens.
    pub moe: Option<StoredTable<MoeShape, 1>>,
}

/// All measured shapes of an operation over so many axes.
#[derive(Debug)]
pub struct StoredTable<S, const AXES: usize> {
    /// Time that neither FLOPs nor bytes explain, microseconds.
    pub t0_us: f64,
    /// Time of the smallest call, microseconds.
    pub floor_us: f64,
    /// Time of a byte from the L2 cache relative to one from memory.
    pub hot_read: f64,
    /// The shapes, in ascending order.
    pub entries: Vec<StoredEntry<S, AXES>>,
}

/// The measured points of one shape.
#[derive(Debug)]
pub struct StoredEntry<S, const AXES: usize> {
    /// What was measured.
    pub shape: S,
    /// The integer that stands for the shape; no other of the table has it.
    pub key: u64,
    /// The coordinates on each axis, in ascending order.
    pub axes: [Vec<u32>; AXES],
    /// Latencies, microseconds, over the points of the axes, the last axis fastest; NaN where nothing
    /// was measured.
    pub latency_us: Vec<f32>,
    /// Logarithms of latency over reference time, in the same order.
    pub ln_slowdown: Vec<f32>,
}

/// Logarithms of the coordinates of an axis, and one over the distance of each to the next, 0 after the
/// last.
#[derive(Debug)]
pub struct AxisLogs {
    /// The logarithms.
    pub ln: Vec<f64>,
    /// One over their differences.
    pub inverse_span: Vec<f64>,
}

impl AxisLogs {
    /// Those of an axis with these coordinates.
    pub fn of(values: &[u32]) -> AxisLogs {
        let ln: Vec<f64> = values.iter().map(|v| math::ln(f64::from(*v))).collect();
        let next = ln.iter().skip(1);
        let spans = ln.iter().zip(next).map(|(low, high)| 1.0 / (high - low));
        AxisLogs {
            inverse_span: spans.chain([0.0]).collect(),
            ln,
        }
    }
}

impl TableSet {
    /// The set as the library stores it.
    pub fn stored(&self) -> StoredSet {
        let header = &self.header;
        let gpu = &header.gpu;
        StoredSet {
            name: header.name.clone(),
            gpu: *gpu,
            engine: header.engine.clone(),
            timing: header.timing.clone(),
            source: header.source.clone(),
            license: header.license.clone(),
            date: header.date.clone(),
            gemm: self.gemm.as_ref().map(|table| stored(table, gpu)),
            prefill: self.prefill.as_ref().map(|table| stored(table, gpu)),
            decode: self.decode.as_ref().map(|table| stored(table, gpu)),
            allreduce: self.allreduce.as_ref().map(|table| stored(table, gpu)),
            moe: self.moe.as_ref().map(|table| stored(table, gpu)),
        }
    }
}

fn stored<O: Operation, const AXES: usize>(
    table: &Table<O>,
    gpu: &Gpu,
) -> StoredTable<O::Shape, AXES> {
    let t0_us = table.timing.t0_us;
    let hot_read = table.timing.hot_read.unwrap_or(1.0);
    let entry = |(shape, points): (&O::Shape, &BTreeMap<[u32; 2], f32>)| {
        let [first, second] = Table::<O>::axes(points);
        let columns = |row: u32| second.iter().map(move |column| [row, *column]);
        let cells: Vec<[u32; 2]> = first.iter().copied().flat_map(columns).collect();
        let rates = gpu.rates(O::dtype(shape));
        let reference = rates.map(|rates| Reference::new(gpu, rates, t0_us, hot_read));
        let ln_slowdown = |at: [u32; 2]| {
            let latency_us = points.get(&at)?;
            let reference_s = O::reference_s(shape, at, reference.as_ref()?);
            Some(math::ln(f64::from(*latency_us) * 1e-6 / reference_s) as f32)
        };
        StoredEntry {
            shape: *shape,
            key: O::key(shape),
            latency_us: cells
                .iter()
                .map(|at| or_hole(points.get(at).copied()))
                .collect(),
            ln_slowdown: cells.iter().map(|at| or_hole(ln_slowdown(*at))).collect(),
            axes: axes(first, second),
        }
    };
    StoredTable {
        t0_us,
        floor_us: table.floor_us(),
        hot_read,
        entries: table.shapes.iter().map(entry).collect(),
    }
}

fn or_hole(value: Option<f32>) -> f32 {
    value.unwrap_or(f32::NAN)
}

/// The first of the two axes, or both: the second of an operation with one has the single point 1.
fn axes<const AXES: usize>(first: Vec<u32>, second: Vec<u32>) -> [Vec<u32>; AXES] {
    let mut both = [first, second].into_iter();
    std::array::from_fn(|_| both.next().unwrap_or_default())
}
