//! Provenance of answers, and errors of lookups.

use crate::support::made_up::{EMPTY, RAGGED, RAGGED_NO_FP8};
use crate::support::tolerances::ROUNDING;
use crate::support::{apart, attention, gemm, mixtral_layer, tables};
use rooflut::ResolveError;
use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, MoeShape};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Gemm, Moe, PrefillAttention};
use rooflut::table::{Class, Extent, TableSet};

fn h100() -> &'static TableSet {
    tables::h100().compiled
}

#[test]
fn gemms_are_measured_interpolated_inside_the_rectangle_and_transferred_outside() {
    use Class::{Interpolated, Measured, Transferred};
    for (k, n, m, best, expected) in [
        (4096, 4096, 1, Measured, Measured.inside()),
        (4096, 4096, 2, Measured, Interpolated.inside()),
        (4096, 4096, 16_384, Measured, Measured.inside()),
        (4096, 4096, 16_385, Measured, Interpolated.outside()),
        (4096, 6144, 64, Interpolated, Interpolated.inside()),
        (4096, 6144, 20_000, Interpolated, Interpolated.outside()),
        (511, 6144, 64, Transferred, Transferred.inside()),
        (16_385, 6144, 64, Transferred, Transferred.inside()),
        (4096, 65_537, 64, Transferred, Transferred.inside()),
        (4096, 65_537, 20_000, Transferred, Transferred.outside()),
    ] {
        let gemm = Gemm::resolve(h100(), gemm(Dtype::Bf16, k, n)).unwrap();
        let found = (gemm.class(), gemm.at(m).provenance);
        assert_eq!(found, (best, expected), "{k} {n} {m}");
        assert_eq!(gemm.at(0), gemm.at(1));
    }
}

#[test]
fn the_corners_around_an_unseen_gemm_are_named_with_their_shares() {
    let gemm_of = |k, n| Gemm::resolve(h100(), gemm(Dtype::Bf16, k, n)).unwrap();
    let unseen = gemm_of(3000, 6144);
    let mut pairs: Vec<_> = unseen.matched().map(|near| (near.shape.k, near.shape.n)).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(2048, 4096), (2048, 8192), (4096, 4096), (4096, 8192)]);
    let share: f64 = unseen.matched().filter(|near| near.shape.n == 8192).map(|near| near.share).sum();
    assert!(apart(share, (6144.0_f64 / 4096.0).log2()) < ROUNDING);
    assert_eq!(gemm_of(4096, 6144).matched().count(), 2);
    assert_eq!(gemm_of(100, 100).matched().count(), 1);
}

#[test]
fn unseen_pairs_that_form_no_rectangle_answer_by_inverse_squared_distance() {
    // Four measured pairs with slowdowns e^0, e^1, e^2, e^4 everywhere; the corner of (k, n) = (2048,
    // 2048) at (4096, 4096) is missing.
    let shape = gemm(Dtype::Bf16, 2048, 2048);
    let blend = Gemm::resolve(&RAGGED, shape).unwrap();
    assert_eq!(blend.class(), Class::Transferred);
    let ln_2 = 2.0_f64.ln();
    let weights = [(0.0, 2.0), (1.0, 2.0), (2.0, 2.0), (4.0, 50.0)]
        .map(|(slowdown, squares)| (slowdown, 1.0 / (squares * ln_2 * ln_2)));
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let expected: f64 = weights.iter().map(|(s, weight)| s * weight / total).sum();
    let rates = RAGGED.gpu().rates(Dtype::Bf16).unwrap();
    for m in [1, 16, 30, 64, 1000] {
        let slowdown = blend.at(m).time.0 / shape.work(f64::from(m)).bound_s(&rates);
        assert!((slowdown.ln() - expected).abs() < 1e-6, "m {m}: {} {expected}", slowdown.ln());
        assert_eq!(blend.at(m).provenance.class, Class::Transferred);
    }
    // One of the four pairs was measured at 64 and 256 rows, the others at 16 and 64.
    for m in [16, 63, 64, 65, 256] {
        let extent = blend.at(m).provenance.extent;
        assert_eq!(extent == Extent::Inside, m == 64, "m {m}");
    }
    let shares: f64 = blend.matched().map(|near| near.share).sum();
    assert!(apart(shares, 1.0) < ROUNDING);
    assert_eq!(blend.matched().count(), 4);
}

#[test]
fn holes_are_interpolated_between_the_next_batches() {
    // Measured: batches 16 and 256 at length 64 (e^1, e^3), batch 64 at length 256 (e^2).
    let shape = attention(Dtype::Bf16, 16, 16, 2);
    let decode = DecodeAttention::resolve(&RAGGED, shape).unwrap();
    let rates = RAGGED.gpu().rates(Dtype::Bf16).unwrap();
    let ln_slowdown = |requests: u32, kv_len: u64| {
        let kv_tokens = u64::from(requests) * kv_len;
        let answer = decode.at(requests, kv_tokens);
        let work = shape.on_rank().decode_work(f64::from(requests), kv_tokens as f64);
        let reference = work.bytes * rates.s_per_byte;
        ((answer.time.0 / reference).ln(), answer.provenance)
    };
    // The latency itself (1 us) is a row.
    assert_eq!(decode.at(16, 16 * 64).provenance, Class::Measured.inside());
    assert!(apart(decode.at(16, 16 * 64).time.us(), 1.0) < 1e-7);
    let (larger, provenance) = ln_slowdown(16, 256);
    assert!((larger - 2.0).abs() < 1e-6, "{larger}");
    assert_eq!(provenance, Class::Interpolated.outside());
    // Both the next smaller and the next larger batch were measured.
    let (between, provenance) = ln_slowdown(64, 64);
    assert!((between - 2.0).abs() < 1e-6, "{between}");
    assert_eq!(provenance, Class::Interpolated.outside());
    let (middle, provenance) = ln_slowdown(32, 128);
    assert!((middle - 1.75).abs() < 1e-6, "{middle}");
    assert_eq!(provenance, Class::Interpolated.outside());
}

#[test]
fn decode_reports_its_place_on_the_grid() {
    let decode = DecodeAttention::resolve(h100(), attention(Dtype::Bf16, 64, 8, 2)).unwrap();
    // 32 and 4 heads on each rank were measured, so the answer is not transferred.
    assert_eq!(decode.class(), Class::Measured);
    assert_eq!(decode.matched(), attention(Dtype::Bf16, 32, 4, 1));
    // 512 requests of 65,536 tokens did not fit the GPU: a hole.
    let hole = decode.at(512, 512 * 65_536).provenance;
    assert_eq!(hole, Class::Interpolated.outside());
    assert_eq!(decode.at(0, 0), decode.at(1, 1));
    assert_eq!(decode.at(8, 0), decode.at(8, 8));
}

#[test]
fn an_unseen_attention_shape_is_transferred_from_the_nearest_by_kv_heads() {
    let decode = DecodeAttention::resolve(h100(), attention(Dtype::Bf16, 96, 8, 1)).unwrap();
    assert_eq!(decode.matched(), attention(Dtype::Bf16, 64, 8, 1));
    let prefill = PrefillAttention::resolve(h100(), attention(Dtype::Bf16, 96, 8, 1)).unwrap();
    let nearest = prefill.matched().next().map(|matched| matched.shape);
    assert_eq!(nearest, Some(attention(Dtype::Bf16, 64, 8, 1)));
    assert_eq!(prefill.matched().count(), 4);
    let small_heads = AttentionShape { head_dim: 64, ..attention(Dtype::Bf16, 32, 8, 1) };
    let prefill = PrefillAttention::resolve(h100(), small_heads).unwrap();
    let nearest = prefill.matched().next().map(|matched| matched.shape);
    assert_eq!(nearest, Some(attention(Dtype::Bf16, 32, 8, 1)));
    assert_eq!(prefill.at(1, 1024).provenance, Class::Transferred.inside());
}

#[test]
fn ranks_beyond_the_kv_heads_replicate_them() {
    // 64 query heads and 4 KV heads on 8 ranks: 8 and 1 on each, as 8 and 1 alone.
    let sharded = DecodeAttention::resolve(h100(), attention(Dtype::Bf16, 64, 4, 8)).unwrap();
    let alone = DecodeAttention::resolve(h100(), attention(Dtype::Bf16, 8, 1, 1)).unwrap();
    assert_eq!(sharded.matched(), alone.matched());
    assert_eq!(sharded.class(), Class::Measured);
    for (requests, kv_tokens) in [(1, 100), (16, 16 * 1024), (300, 1_000_000)] {
        assert_eq!(sharded.at(requests, kv_tokens), alone.at(requests, kv_tokens));
    }
}

#[test]
fn context_and_mixtures_of_prompts_are_transferred() {
    let prefill = PrefillAttention::resolve(h100(), attention(Dtype::Bf16, 32, 8, 1)).unwrap();
    let of = |chunks: &[(u32, u32)]| prefill.at_chunks(&sums(chunks));
    for mixed in [&[(1024, 1)][..], &[(1, 200_000)], &[(1024, 0), (512, 0)]] {
        assert_eq!(of(mixed).provenance, Class::Transferred.inside(), "{mixed:?}");
    }
    assert_eq!(of(&[(1000, 0); 3]).provenance, Class::Interpolated.inside());
    assert_eq!(of(&[(1024, 0)]), prefill.at(1, 1024));
    assert_eq!(of(&[(1024, 0); 4]), prefill.at(4, 1024));
    assert_eq!(of(&[]), prefill.at(1, 1));
    // A chunk without new tokens is ignored.
    assert_eq!(of(&[(0, 500), (1024, 0), (0, 0)]), of(&[(1024, 0)]));
}

fn sums(chunks: &[(u32, u32)]) -> ChunkSums {
    let mut sums = ChunkSums::default();
    for &(new, context) in chunks {
        sums.add(new, context);
    }
    sums
}

#[test]
fn sums_of_chunks_do_not_depend_on_their_order() {
    let mut chunks = [(1024, 0), (1024, 7), (3, 0), (77, 100_000), (u32::MAX, u32::MAX), (1024, 0)];
    let first = sums(&chunks);
    for _ in 0..chunks.len() {
        chunks.rotate_left(1);
        assert_eq!(sums(&chunks), first);
    }
    chunks.reverse();
    assert_eq!(sums(&chunks), first);
}

#[test]
fn ranks_between_measured_ones_take_the_next_larger() {
    let of = |ranks| AllReduce::resolve(h100(), AllReduceShape { ranks }).unwrap();
    assert_eq!(of(3).matched().ranks, 4);
    assert_eq!(of(3).class(), Class::Transferred);
    let (three, four) = (of(3).at(1 << 20), of(4).at(1 << 20));
    assert_eq!(three.provenance, Class::Transferred.inside());
    assert!(apart(three.time.0, four.time.0) < 1e-6);
    assert_eq!(of(2).at(0), of(2).at(1));
}

#[test]
fn an_unseen_moe_layer_is_transferred_from_its_dtype_or_else_any() {
    let of = |shape| Moe::resolve(h100(), shape).unwrap();
    let scout = MoeShape {
        dtype: Dtype::Fp8,
        experts: 16,
        top_k: 1,
        hidden: 5120,
        intermediate: 8192,
        tp: 2,
        ep: 1,
        matrices: 3,
    };
    let measured = MoeShape { dtype: Dtype::Bf16, ..scout };
    let nearest = of(scout).matched().map(|near| near.shape).next();
    assert_eq!(nearest, Some(measured));
    assert_eq!(of(scout).matched().count(), 4);
    assert_eq!(of(scout).class(), Class::Transferred);
    assert_eq!(of(scout).at(64).provenance, Class::Transferred.inside());
    assert_eq!(of(scout).at(0), of(scout).at(1));
}

/// Returns the message of a lookup that has to fail.
fn refusal<T>(result: Result<T, ResolveError>) -> String {
    match result {
        Ok(_) => panic!("expected a refusal"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_set_without_the_operation_is_refused_by_name() {
    let wide = attention(Dtype::Bf16, 32, 8, 1);
    let two = AllReduceShape { ranks: 2 };
    let errors = [
        refusal(Gemm::resolve(&EMPTY, gemm(Dtype::Bf16, 1, 1))),
        refusal(PrefillAttention::resolve(&EMPTY, wide)),
        refusal(DecodeAttention::resolve(&EMPTY, wide)),
        refusal(AllReduce::resolve(&EMPTY, two)),
        refusal(Moe::resolve(&EMPTY, mixtral_layer(1))),
    ];
    let operations = ["gemm", "prefill", "decode", "allreduce", "moe"];
    for (operation, error) in operations.into_iter().zip(errors) {
        let message = format!(
            "table set empty: expected a table for {operation}, found none; use a set that has one \
             (`rooflut tables` lists them)"
        );
        assert_eq!(error, message);
    }
}

#[test]
fn what_was_not_measured_is_refused_with_what_was() {
    let eight_bit = AttentionShape { dtype: Dtype::Fp8, ..attention(Dtype::Fp8, 32, 8, 1) };
    let nine = AllReduceShape { ranks: 9 };
    let layer = MoeShape { dtype: Dtype::Nvfp4, ..mixtral_layer(1) };
    let no_rows = "no rows of fp8 with fp8 KV; use another dtype or another set (`rooflut tables` \
                   lists what each has)";
    for (error, expected) in [
        (
            refusal(Gemm::resolve(h100(), gemm(Dtype::Int4, 4096, 4096))),
            "table set h100: gemm: expected one of bf16, fp8, fp8_block, found int4; use one of \
             these or another set",
        ),
        (
            refusal(Moe::resolve(h100(), MoeShape { dtype: Dtype::Mxfp4Mxfp8, ..mixtral_layer(1) })),
            "GPU h100: no peak for mxfp4_mxfp8 in its data sheet; use another dtype",
        ),
        (refusal(DecodeAttention::resolve(h100(), eight_bit)), &format!("table set h100: decode: {no_rows}")),
        (refusal(PrefillAttention::resolve(h100(), eight_bit)), &format!("table set h100: prefill: {no_rows}")),
        (
            refusal(AllReduce::resolve(h100(), nine)),
            "table set h100: allreduce: expected at most 8 ranks, found 9; use a smaller tensor \
             parallelism",
        ),
        (
            refusal(Gemm::resolve(h100(), gemm(Dtype::Nvfp4, 4096, 4096))),
            "GPU h100: no peak for nvfp4 in its data sheet; use another dtype",
        ),
        (refusal(Moe::resolve(h100(), layer)), "GPU h100: no peak for nvfp4 in its data sheet; use another dtype"),
        (
            refusal(Gemm::resolve(&RAGGED_NO_FP8, gemm(Dtype::Fp8, 2048, 2048))),
            "GPU no-fp8: no peak for fp8 in its data sheet; use another dtype",
        ),
    ] {
        assert_eq!(error, expected);
    }
}

#[test]
fn a_zero_in_any_dimension_is_refused() {
    let zero = |error: String, operation| {
        let message = format!("{operation}: expected positive dimensions, found 0");
        assert_eq!(error, message);
    };
    for (k, n) in [(0, 4096), (4096, 0), (0, 0)] {
        let shape = gemm(Dtype::Bf16, k, n);
        zero(refusal(Gemm::resolve(h100(), shape)), "gemm");
    }
    let mut shapes = [attention(Dtype::Bf16, 32, 8, 1); 4];
    shapes[0].q_heads = 0;
    shapes[1].kv_heads = 0;
    shapes[2].head_dim = 0;
    shapes[3].tp = 0;
    for shape in shapes {
        zero(refusal(DecodeAttention::resolve(h100(), shape)), "decode");
        zero(refusal(PrefillAttention::resolve(h100(), shape)), "prefill");
    }
    let mut layers = [mixtral_layer(1); 5];
    layers[0].experts = 0;
    layers[1].top_k = 0;
    layers[2].hidden = 0;
    layers[3].intermediate = 0;
    layers[4].tp = 0;
    for layer in layers {
        zero(refusal(Moe::resolve(h100(), layer)), "moe");
    }
}

#[test]
fn an_allreduce_of_fewer_than_two_ranks_is_refused() {
    for ranks in [0, 1] {
        let message = refusal(AllReduce::resolve(h100(), AllReduceShape { ranks }));
        assert!(message.starts_with("allreduce: expected "), "{message}");
    }
}
