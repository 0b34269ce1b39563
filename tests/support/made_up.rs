//! Small made-up table sets with what the built-in ones do not have: missing operations, (k, n) that
//! form no rectangle, axes that differ, holes in every place.
//!
//! Their perfect-hash index is empty, so every shape counts as unseen and its measured neighbours
//! answer; ask for shapes that are not listed.

use rooflut::__private::{Index, phf};
use rooflut::hardware::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, MoeShape, Reference, gpus,
};
use rooflut::table::{Axis, Curve, Entry, Grid, KernelTable, Origin, TableSet};

const ORIGIN: Origin = Origin {
    engine: "made up",
    timing: "made up",
    source: "tests/support/made_up.rs",
    license: "MIT OR Apache-2.0",
    date: "2026-01-01",
};

/// A set without a single table.
pub(crate) static EMPTY: TableSet = NOTHING;

const NOTHING: TableSet = TableSet {
    name: "empty",
    gpu: gpus::H100,
    origin: ORIGIN,
    gemm: None,
    prefill: None,
    decode: None,
    allreduce: None,
    moe: None,
};

/// A GPU without 8-bit math.
pub(crate) const NO_FP8: Gpu = Gpu {
    name: "no-fp8",
    fp8_flops_per_s: None,
    ..gpus::H100
};

const LN_2: f64 = core::f64::consts::LN_2;
const HOLE: f32 = f32::NAN;

const AXIS_16_64: Axis<'static> =
    Axis::from_generated(&[16, 64], &[4.0 * LN_2, 6.0 * LN_2], &[0.5 / LN_2, 0.0]);
const AXIS_64_256: Axis<'static> =
    Axis::from_generated(&[64, 256], &[6.0 * LN_2, 8.0 * LN_2], &[0.5 / LN_2, 0.0]);
const AXIS_16_256: Axis<'static> =
    Axis::from_generated(&[16, 256], &[4.0 * LN_2, 8.0 * LN_2], &[0.25 / LN_2, 0.0]);

const AXIS_16_64_256: Axis<'static> = Axis::from_generated(
    &[16, 64, 256],
    &[4.0 * LN_2, 6.0 * LN_2, 8.0 * LN_2],
    &[0.5 / LN_2, 0.5 / LN_2, 0.0],
);

/// No launch time, no floor, caches that do not show, nothing in the index.
const fn table<S, P>(gpu: &Gpu, entries: &'static [Entry<S, P>]) -> KernelTable<S, P> {
    KernelTable {
        t0_us: 0.0,
        floor_us: 0.0,
        hot_read: 1.0,
        references: Reference::by_dtype(gpu, 0.0, 1.0),
        entries,
        index: Index::Hashed(phf::Map::new()),
    }
}

const fn gemm_entry(
    dtype: Dtype,
    k: u32,
    n: u32,
    points: Curve<'static>,
) -> Entry<GemmShape, Curve<'static>> {
    Entry {
        shape: GemmShape { dtype, k, n },
        points,
    }
}

/// The slowdown is the same everywhere on a curve: `exp(ln_slowdown)`.
macro_rules! flat {
    ($axis:expr, $ln_slowdown:expr) => {
        Curve::from_generated($axis, &[1.0, 1.0], &[$ln_slowdown, $ln_slowdown])
    };
}

/// bf16: four pairs, the corner (4096, 4096) is missing, slowdowns e^0, e^1, e^2 and e^4. fp8: one
/// curve that skips the second tile class.
pub(crate) static RAGGED: TableSet = TableSet {
    name: "ragged",
    gemm: Some(table(
        &gpus::H100,
        &[
            gemm_entry(Dtype::Bf16, 1024, 1024, flat!(AXIS_16_64, 0.0)),
            gemm_entry(Dtype::Bf16, 1024, 4096, flat!(AXIS_64_256, 1.0)),
            gemm_entry(Dtype::Bf16, 4096, 1024, flat!(AXIS_16_64, 2.0)),
            gemm_entry(Dtype::Bf16, 65_536, 65_536, flat!(AXIS_16_64, 4.0)),
            gemm_entry(
                Dtype::Fp8,
                1024,
                1024,
                Curve::from_generated(AXIS_16_256, &[1.0, 1.0], &[0.0, 1.0]),
            ),
        ],
    )),
    decode: Some(table(
        &gpus::H100,
        &[Entry {
            shape: AttentionShape {
                dtype: Dtype::Bf16,
                kv_dtype: Dtype::Bf16,
                q_heads: 8,
                kv_heads: 8,
                head_dim: 128,
                tp: 1,
            },
            // Batches 16, 64, 256 at lengths 64, 256.
            points: Grid::from_generated(
                AXIS_16_64_256,
                AXIS_64_256,
                &[1.0, HOLE, HOLE, 1.0, 1.0, HOLE],
                &[1.0, HOLE, HOLE, 2.0, 3.0, HOLE],
            ),
        }],
    )),
    allreduce: Some(table(
        &gpus::H100,
        &[Entry {
            shape: AllReduceShape { ranks: 8 },
            points: flat!(AXIS_16_64, 1.0),
        }],
    )),
    moe: Some(table(
        &gpus::H100,
        &[Entry {
            shape: MoeShape {
                dtype: Dtype::Bf16,
                experts: 8,
                top_k: 2,
                hidden: 4096,
                intermediate: 14_336,
                tp: 1,
            },
            points: flat!(AXIS_16_64, 1.0),
        }],
    )),
    ..NOTHING
};

/// Kernels that take next to no time, faster than any GPU: no step may be.
const fn too_fast(gpu: Gpu) -> TableSet {
    TableSet {
        name: "too-fast",
        gemm: Some(table(&gpu, TOO_FAST_GEMM)),
        prefill: Some(table(&gpu, TOO_FAST_ATTENTION)),
        decode: Some(table(&gpu, TOO_FAST_ATTENTION)),
        allreduce: Some(table(&gpu, TOO_FAST_ALLREDUCE)),
        moe: Some(table(&gpu, TOO_FAST_MOE)),
        gpu,
        ..NOTHING
    }
}

/// [`too_fast`] on a GPU without a cache: benchmarks, too, find every KV entry in memory.
pub(crate) static TOO_FAST: TableSet = too_fast(WITHOUT_CACHE);

/// [`too_fast`] on a GPU whose cache is larger than a third of any KV cache that was measured.
pub(crate) static TOO_FAST_IN_CACHE: TableSet = too_fast(gpus::H100);

/// [`TOO_FAST`] at twice the memory bandwidth.
pub(crate) static TOO_FAST_TWICE_BANDWIDTH: TableSet = too_fast(Gpu {
    mem_bw_bytes_per_s: 2.0 * WITHOUT_CACHE.mem_bw_bytes_per_s,
    ..WITHOUT_CACHE
});

/// [`TOO_FAST`] at twice the peaks.
pub(crate) static TOO_FAST_TWICE_PEAK: TableSet = too_fast(Gpu {
    bf16_flops_per_s: 2.0 * WITHOUT_CACHE.bf16_flops_per_s,
    fp8_flops_per_s: Some(4.0 * WITHOUT_CACHE.bf16_flops_per_s),
    ..WITHOUT_CACHE
});

/// [`TOO_FAST`] at twice the link.
pub(crate) static TOO_FAST_TWICE_LINK: TableSet = too_fast(Gpu {
    link_bytes_per_s: 2.0 * WITHOUT_CACHE.link_bytes_per_s,
    ..WITHOUT_CACHE
});

/// 8-bit math at twice the 16-bit peak, so that all peaks can be doubled.
const WITHOUT_CACHE: Gpu = Gpu {
    fp8_flops_per_s: Some(2.0 * gpus::H100.bf16_flops_per_s),
    l2_bytes: 1,
    ..gpus::H100
};

const LN_TOO_FAST: f32 = -30.0;
const US_TOO_FAST: f32 = 1e-9;

const TOO_FAST_GEMM: &[Entry<GemmShape, Curve<'static>>] = &[gemm_entry(
    Dtype::Bf16,
    1,
    1,
    flat!(AXIS_16_64, LN_TOO_FAST),
)];

const TOO_FAST_ATTENTION: &[Entry<AttentionShape, Grid<'static>>] = &[Entry {
    shape: AttentionShape {
        dtype: Dtype::Bf16,
        kv_dtype: Dtype::Bf16,
        q_heads: 1,
        kv_heads: 1,
        head_dim: 1,
        tp: 1,
    },
    points: Grid::from_generated(
        AXIS_16_64,
        AXIS_64_256,
        &[US_TOO_FAST; 4],
        &[LN_TOO_FAST; 4],
    ),
}];

const TOO_FAST_ALLREDUCE: &[Entry<AllReduceShape, Curve<'static>>] = &[Entry {
    shape: AllReduceShape { ranks: 64 },
    points: flat!(AXIS_16_64, LN_TOO_FAST),
}];

const TOO_FAST_MOE: &[Entry<MoeShape, Curve<'static>>] = &[Entry {
    shape: MoeShape {
        dtype: Dtype::Bf16,
        experts: 1,
        top_k: 1,
        hidden: 1,
        intermediate: 1,
        tp: 1,
    },
    points: flat!(AXIS_16_64, LN_TOO_FAST),
}];

/// The GEMM table of [`RAGGED`] on a GPU without 8-bit math.
pub(crate) static RAGGED_NO_FP8: TableSet = TableSet {
    name: "ragged-no-fp8",
    gpu: NO_FP8,
    gemm: Some(table(
        &NO_FP8,
        &[gemm_entry(Dtype::Bf16, 1024, 1024, flat!(AXIS_16_64, 0.0))],
    )),
    ..NOTHING
};
