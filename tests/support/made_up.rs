//! Small made-up table sets with features that the built-in sets lack: missing operations, (k, n) that
//! form no rectangle, axes that differ, holes in every place.
//!
//! Their perfect-hash index is empty, so every shape counts as unseen and its measured neighbours
//! answer; ask for shapes that are not listed.

use rooflut::__private::{AxisPoint, EntryPlace, Index, StaticSet, StaticTable, TableHead, error_groups, phf};
use rooflut::hardware::{Gpu, OperationKind, gpus};
use rooflut::table::{Origin, TableSet};
use rooflut_roofline::Timing;

const LN_2: f64 = core::f64::consts::LN_2;
const HOLE: f32 = f32::NAN;

/// A set on `gpu` with axes of 16, 64 and 256.
const fn set(name: &'static str, gpu: &'static Gpu, tables: &'static [StaticTable]) -> StaticSet {
    StaticSet {
        name,
        gpu,
        origin: Origin::from_generated([
            "made up",
            "made up",
            "tests/support/made_up.rs",
            "MIT OR Apache-2.0",
            "2026-01-01",
        ]),
        axis_values: &[16, 64, 64, 256, 16, 64, 256],
        axis_points: const {
            &[
                point(0, 4, 2),
                point(1, 6, 0),
                point(0, 6, 2),
                point(1, 8, 0),
                point(0, 4, 2),
                point(1, 6, 2),
                point(2, 8, 0),
            ]
        },
        tables,
        versions: &[],
    }
}

/// The point 2^`log2`. The next point is 2^`span` times as large; a span of 0 marks the last point.
const fn point(index: u32, log2: u32, span: u32) -> AxisPoint {
    let is_last = span == 0;
    AxisPoint {
        value: (1_u32 << log2) as f64,
        ln: log2 as f64 * LN_2,
        inverse_span: if is_last { 0.0 } else { 1.0 / (span as f64 * LN_2) },
        index,
        is_last,
    }
}

const AXIS_16_64: (u32, u32) = (0, 2);
const AXIS_64_256: (u32, u32) = (2, 2);
const AXIS_16_64_256: (u32, u32) = (4, 3);

/// The only curve of a table.
const CURVE_16_64: &[EntryPlace] = &[curve(AXIS_16_64, 0)];

/// The only grid of a table.
const GRID_16_64: &[EntryPlace] = &[EntryPlace::from_generated([AXIS_16_64, AXIS_64_256], 0)];

const fn curve(axis: (u32, u32), start: u32) -> EntryPlace {
    EntryPlace::from_generated([axis, (0, 0)], start)
}

/// No launch time, cache effects or waves.
const TIMING: Timing = Timing { t0_us: 0.0, hot_read: 1.0, wave_us: 0.0, grouped_split: false };

/// A head without launch time, floor or cache effects, and with an empty index.
pub(crate) const fn head(operation: OperationKind) -> TableHead {
    TableHead {
        operation,
        timing: TIMING,
        floor_us: 0.0,
        error_groups: error_groups("", operation),
        index: Index::Hashed(phf::Map::new()),
    }
}

/// The code of the dtype.
const BF16: u32 = 0;

static H100: Gpu = gpus::H100;

/// A set without a single table.
pub(crate) static EMPTY: TableSet = TableSet::from_generated(&EMPTY_SET);
static EMPTY_SET: StaticSet = set("empty", &H100, &[]);

/// A GPU without 8-bit math.
static NO_FP8: Gpu = Gpu::from_generated(
    ["no-fp8", ""],
    (H100.bf16_flops_per_s, None, None),
    [H100.mem_bw_bytes_per_s, H100.link_bytes_per_s],
    [H100.mem_bytes, H100.l2_bytes],
    H100.sms,
    [None; 2],
);

/// bf16: four pairs, the corner (4096, 4096) is missing, slowdowns e^0, e^1, e^2 and e^4, the same
/// everywhere on a curve.
pub(crate) static RAGGED: TableSet = TableSet::from_generated(&RAGGED_SET);
static RAGGED_SET: StaticSet = set("ragged", &H100, &RAGGED_TABLES);
static RAGGED_TABLES: [StaticTable; 2] = [
    StaticTable {
        head: head(OperationKind::Gemm),
        shapes: &[BF16, 1024, 1024, BF16, 1024, 4096, BF16, 4096, 1024, BF16, 65_536, 65_536],
        entries: &[curve(AXIS_16_64, 0), curve(AXIS_64_256, 2), curve(AXIS_16_64, 4), curve(AXIS_16_64, 6)],
        latency_us: &[1.0; 8],
        ln_slowdown: &[0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0],
    },
    StaticTable {
        head: head(OperationKind::Decode),
        shapes: &[BF16, BF16, 8, 8, 128, 1],
        // Batches 16, 64, 256 at lengths 64, 256.
        entries: &[EntryPlace::from_generated([AXIS_16_64_256, AXIS_64_256], 0)],
        latency_us: &[1.0, HOLE, HOLE, 1.0, 1.0, HOLE],
        ln_slowdown: &[1.0, 2.0, 2.0, 2.0, 3.0, 2.0],
    },
];

/// A set of kernels that take almost no time. Steps must not be faster than the GPU even so.
macro_rules! too_fast {
    ($name:ident, $gpu:expr) => {
        pub(crate) static $name: TableSet = {
            static GPU: Gpu = $gpu;
            const fn table(operation: OperationKind, shapes: &'static [u32]) -> StaticTable {
                let entries: &[EntryPlace] = match operation {
                    OperationKind::Prefill | OperationKind::Decode => GRID_16_64,
                    _ => CURVE_16_64,
                };
                StaticTable { head: head(operation), shapes, entries, latency_us: &[1e-9; 4], ln_slowdown: &[-30.0; 4] }
            }
            static TABLES: [StaticTable; 5] = [
                table(OperationKind::Gemm, &[BF16, 1, 1]),
                table(OperationKind::Prefill, &[BF16, BF16, 1, 1, 1, 1]),
                table(OperationKind::Decode, &[BF16, BF16, 1, 1, 1, 1]),
                table(OperationKind::AllReduce, &[64]),
                table(OperationKind::Moe, &[BF16, 1, 1, 1, 1, 1, 1, 3]),
            ];
            static SET: StaticSet = set("too-fast", &GPU, &TABLES);
            TableSet::from_generated(&SET)
        };
    };
}

/// An H100 without a cache, with peaks, bandwidth and link multiplied by the arguments. 8-bit math runs at
/// twice the 16-bit peak, so that all peaks can be doubled.
const fn without_cache(peak: f64, bandwidth: f64, link: f64) -> Gpu {
    let bf16 = H100.bf16_flops_per_s;
    Gpu::from_generated(
        ["without-cache", ""],
        (peak * bf16, Some(peak * 2.0 * bf16), None),
        [bandwidth * H100.mem_bw_bytes_per_s, link * H100.link_bytes_per_s],
        [H100.mem_bytes, 1],
        H100.sms,
        [None; 2],
    )
}

// On a GPU without a cache: benchmarks, too, find every KV entry in memory.
too_fast!(TOO_FAST, without_cache(1.0, 1.0, 1.0));
// On a GPU whose cache is larger than a third of any KV cache that was measured.
too_fast!(TOO_FAST_IN_CACHE, gpus::H100);
// At twice the memory bandwidth, the peaks, the link.
too_fast!(TOO_FAST_TWICE_BANDWIDTH, without_cache(1.0, 2.0, 1.0));
too_fast!(TOO_FAST_TWICE_PEAK, without_cache(2.0, 1.0, 1.0));
too_fast!(TOO_FAST_TWICE_LINK, without_cache(1.0, 1.0, 2.0));

/// A GEMM table on a GPU without 8-bit math.
pub(crate) static RAGGED_NO_FP8: TableSet = TableSet::from_generated(&RAGGED_NO_FP8_SET);
static RAGGED_NO_FP8_SET: StaticSet = set("ragged-no-fp8", &NO_FP8, &RAGGED_NO_FP8_TABLES);
static RAGGED_NO_FP8_TABLES: [StaticTable; 1] = [StaticTable {
    head: head(OperationKind::Gemm),
    shapes: &[BF16, 1024, 1024],
    entries: CURVE_16_64,
    latency_us: &[1.0; 2],
    ln_slowdown: &[0.0; 2],
}];
