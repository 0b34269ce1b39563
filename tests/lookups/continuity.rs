//! No answer jumps at a measured point.
//!
//! In log-log coordinates the slope of an answer is the slope of the reference time plus the slope of
//! the slowdown, and the slowdown changes by no more than the reference and the answers at both ends of
//! a bracket. So one step off a measured point moves the answer by at most
//! `(2 x reference slope + |ln(end / point)| / ln(x end / x point)) x ln((x + 1) / x)`: 0.3 % at 1,024
//! for a flat bracket. A jump exceeds this.

use crate::support::tolerances::{DECODE_SLOPE, LINEAR_SLOPE, SQUARE_SLOPE, STORED_LN_F32};
use crate::support::{attention, gemm, mixtral_layer, oracle, tables};
use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, OperationKind};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Gemm, Moe, PrefillAttention};
use rooflut::table::{Curve, Entry, Grid, TableSet};

/// Checks both sides of every point of an axis, and its far ends.
fn continuous(axis: &[u32], reference_slope: f64, answer: impl Fn(f64) -> f64, what: &str) {
    continuous_but_for(axis, reference_slope, answer, 1.0, |_| (false, false), what);
}

/// Checks as [`continuous`] does, `nearby` away from each point. `steps(x)` returns on which sides of `x` the answer
/// may step.
fn continuous_but_for(
    axis: &[u32],
    reference_slope: f64,
    answer: impl Fn(f64) -> f64,
    nearby: f64,
    steps: impl Fn(f64) -> (bool, bool),
    what: &str,
) {
    assert!(!axis.is_empty());
    for (place, &point) in axis.iter().enumerate() {
        let x = f64::from(point);
        let here = answer(x);
        let (step_below, step_above) = steps(x);
        let below = place.checked_sub(1).map(|lower| f64::from(axis[lower]));
        let above = axis.get(place + 1).map(|&upper| f64::from(upper));
        let sides = [(x - nearby, below, step_below), (x + nearby, above, step_above)];
        for (beside, end, step) in sides {
            if step || beside < nearby.min(1.0) {
                continue;
            }
            let to_end = end.map_or(0.0, |end| ((answer(end) / here).ln() / (end / x).ln()).abs());
            let slope = 2.0 * reference_slope + to_end;
            let moved = (answer(beside) / here).ln().abs();
            let most = slope * (beside / x).ln().abs() + STORED_LN_F32;
            assert!(moved <= most, "{what}: at {x}, {beside}: moved by {moved:e} of {most:e}");
        }
    }
}

#[test]
fn gemm_jumps_in_m_only_at_tile_steps() {
    for set in tables::all() {
        let table = set.compiled.gemm().unwrap();
        let mut shapes: Vec<GemmShape> = table.entries().map(|entry| entry.shape).collect();
        // Unseen shapes: between measured ones, on one measured coordinate, outside.
        let dtype = shapes[0].dtype;
        shapes.extend([gemm(dtype, 4096, 6144), gemm(dtype, 3000, 9000), gemm(dtype, 100, 2e5 as u32)]);
        for shape in shapes {
            let resolved = Gemm::resolve(set.compiled, shape).unwrap();
            let same = |entry: &Entry<GemmShape, Curve<'_>>| entry.shape.dtype == shape.dtype;
            let axis = table.entries().find(same).unwrap().points.axis();
            continuous_but_for(
                axis.values(),
                LINEAR_SLOPE,
                |m| resolved.at(m as u32).time.0,
                1.0,
                |m| {
                    let tiles = |m| oracle::tiles(shape.dtype, m);
                    (tiles(m - 1.0) != tiles(m), tiles(m + 1.0) != tiles(m))
                },
                &format!("{shape:?}"),
            );
        }
    }
}

#[test]
fn an_fp8_gemm_of_another_tile_steps_up_where_no_row_shows_it() {
    // The documented step exists: otherwise the test above would leave out points without a reason.
    let resolved = Gemm::resolve(tables::h100().compiled, gemm(Dtype::Fp8, 8192, 8192)).unwrap();
    let at = |m| resolved.at(m).time.0;
    assert!(at(769) / at(768) > 1.2, "{} {}", at(768), at(769));
    let within = at(1000) / at(800);
    assert!((0.95..1.05).contains(&within), "{within}");
}

#[test]
fn gemm_does_not_jump_in_k_and_n() {
    for set in tables::all() {
        let mut dtypes: Vec<Dtype> = set.gemm.iter().map(|row| row.shape.dtype).collect();
        dtypes.dedup();
        for dtype in dtypes {
            let same = || set.gemm.iter().filter(|row| row.shape.dtype == dtype);
            let axis = |pick: fn(&tables::Row<GemmShape>) -> u32| {
                let mut values: Vec<u32> = same().map(pick).collect();
                values.sort_unstable();
                values.dedup();
                values
            };
            let (ks, ns) = (axis(|row| row.shape.k), axis(|row| row.shape.n));
            let time = |k: f64, n: f64, m| {
                let shape = gemm(dtype, k as u32, n as u32);
                Gemm::resolve(set.compiled, shape).unwrap().at(m).time.0
            };
            for m in [1, 8, 64, 100, 1024, 16_384, 40_000] {
                for &n in &ns {
                    let n = f64::from(n);
                    let what = format!("{dtype} n {n} m {m}");
                    continuous(&ks, LINEAR_SLOPE, |k| time(k, n, m), &what);
                }
                for &k in &ks {
                    let k = f64::from(k);
                    let what = format!("{dtype} k {k} m {m}");
                    continuous(&ns, LINEAR_SLOPE, |n| time(k, n, m), &what);
                }
            }
        }
    }
}

/// Calls `check` with the measured shapes of each set, one that is not, and one whose ranks share KV heads.
fn of_every_shape(operation: OperationKind, check: impl Fn(&'static TableSet, AttentionShape)) {
    for set in tables::all() {
        let table = set.compiled.table(operation).unwrap();
        let measured = table.typed::<AttentionShape, Grid<'_>>().entries().map(|entry| entry.shape);
        let others = [(96, 12, 1), (64, 4, 8)].map(|(q, kv, tp)| attention(Dtype::Bf16, q, kv, tp));
        measured.chain(others).for_each(|shape| check(set.compiled, shape));
    }
}

#[test]
fn decode_does_not_jump_in_kv_len_or_requests() {
    of_every_shape(OperationKind::Decode, |set, shape| {
        let decode = DecodeAttention::resolve(set, shape).unwrap();
        let grid = decode.grid();
        for requests in [1, 2, 3, 16, 100, 128, 256, 512, 700] {
            let time = |kv_len: f64| {
                let kv_tokens = (kv_len * f64::from(requests)).round() as u64;
                decode.at(requests, kv_tokens).time.0
            };
            // One token of one request is the finest step.
            let nearby = 1.0 / f64::from(requests);
            let what = format!("{shape:?} requests {requests}");
            let axis = grid.length().values();
            let no_steps = |_| (false, false);
            continuous_but_for(axis, DECODE_SLOPE, time, nearby, no_steps, &what);
        }
        for kv_len in [1, 100, 128, 1024, 5000, 32_768, 131_072, 200_000] {
            let time = |requests: f64| decode.at(requests as u32, requests as u64 * kv_len).time.0;
            let what = format!("{shape:?} kv_len {kv_len}");
            continuous(grid.batch().values(), DECODE_SLOPE, time, &what);
        }
    });
}

#[test]
fn prefill_does_not_jump_in_prompt_length_or_number() {
    of_every_shape(OperationKind::Prefill, |set, shape| {
        let prefill = PrefillAttention::resolve(set, shape).unwrap();
        let grid = prefill.grid();
        for batch in [1, 2, 4, 7, 16, 40] {
            let time = |length: f64| prefill.at(batch, length as u32).time.0;
            let what = format!("{shape:?} batch {batch}");
            continuous(grid.length().values(), SQUARE_SLOPE, time, &what);
        }
        for length in [1, 10, 16, 100, 1024, 2048, 16_384, 60_000] {
            let time = |batch: f64| prefill.at(batch as u32, length).time.0;
            let what = format!("{shape:?} length {length}");
            continuous(grid.batch().values(), LINEAR_SLOPE, time, &what);
        }
    });
}

#[test]
fn the_first_cached_tokens_move_prefill_by_their_share() {
    for set in tables::all() {
        let table = set.compiled.prefill().unwrap();
        for entry in table.entries() {
            let prefill = PrefillAttention::resolve(set.compiled, entry.shape).unwrap();
            for new in [1024, 4096, 8192] {
                let with_context = |context| {
                    let mut chunks = ChunkSums::default();
                    chunks.add(new, context);
                    prefill.at_chunks(&chunks).time.0
                };
                let moved = (with_context(1) / with_context(0)).ln().abs();
                // One cached token lengthens the prompt by at most one; brackets are steeper than the
                // reference by less than 2 in every table.
                let most = (2.0 * SQUARE_SLOPE + 2.0) / f64::from(new);
                assert!(moved < most, "{:?} {new}: {moved:e} of {most:e}", entry.shape);
            }
        }
    }
}

#[test]
fn allreduce_does_not_jump_in_bytes() {
    let set = tables::h100().compiled;
    for ranks in 2..=8 {
        let allreduce = AllReduce::resolve(set, AllReduceShape { ranks }).unwrap();
        let time = |bytes: f64| allreduce.at(bytes as u64).time.0;
        let axis = allreduce.curve().axis();
        continuous(axis.values(), LINEAR_SLOPE, time, &format!("{ranks} ranks"));
    }
}

#[test]
fn moe_does_not_jump_in_tokens() {
    let set = tables::h100().compiled;
    let table = set.moe().unwrap();
    let shapes = table.entries().map(|entry| entry.shape);
    for shape in shapes.chain([mixtral_layer(3)]) {
        let moe = Moe::resolve(set, shape).unwrap();
        let time = |tokens: f64| moe.at(tokens as u32).time.0;
        let axis = moe.curve().axis();
        continuous(axis.values(), LINEAR_SLOPE, time, &format!("{shape:?}"));
    }
}

#[test]
fn far_above_the_grid_time_follows_the_bound() {
    // The efficiency is held, so doubling the work doubles the time once the launch is negligible.
    let set = tables::h100().compiled;
    let twice = |time: &dyn Fn(u32) -> f64, from: u32, factor: f64| {
        let ratio = time(2 * from) / time(from);
        assert!((ratio / factor - 1.0).abs() < 1e-3, "{ratio} for {factor}");
    };
    let resolved = Gemm::resolve(set, gemm(Dtype::Bf16, 4096, 4096)).unwrap();
    twice(&|m| resolved.at(m).time.0, 1 << 22, 2.0);
    let prefill = PrefillAttention::resolve(set, attention(Dtype::Bf16, 32, 8, 1)).unwrap();
    twice(&|length| prefill.at(1, length).time.0, 1 << 24, 4.0);
    let decode = DecodeAttention::resolve(set, attention(Dtype::Bf16, 32, 8, 1)).unwrap();
    twice(&|kv| decode.at(512, 512 * u64::from(kv)).time.0, 1 << 20, 2.0);
    let moe = Moe::resolve(set, mixtral_layer(1)).unwrap();
    twice(&|tokens| moe.at(tokens).time.0, 1 << 24, 2.0);
    let allreduce = AllReduce::resolve(set, AllReduceShape { ranks: 4 }).unwrap();
    twice(&|mib| allreduce.at(u64::from(mib) << 20).time.0, 1 << 14, 2.0);
}
