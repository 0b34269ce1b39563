//! Layers of latent attention, with and without an indexer.

use crate::support::random::Random;
use crate::support::{DEEPSEEK_V3 as V3, apart, tolerances};
use rooflut::ResolveError;
use rooflut::hardware::{Dtype, Indexer, MlaShape};
use rooflut::op::{ChunkSums, Estimate, MlaDecode, MlaPrefill};
use rooflut::table::{Class, Entry, Grid, TableSet, sets};

const SETS: [&TableSet; 3] = [&sets::H100, &sets::H200, &sets::B200];

/// DeepSeek-V3.2 on one of eight GPUs.
const V3_2: MlaShape = MlaShape { indexer: Some(Indexer { heads: 64, head_dim: 128, top_k: 2048 }), ..V3 };

fn prefill(shape: MlaShape) -> MlaPrefill {
    MlaPrefill::resolve(&sets::H200, shape).unwrap()
}

fn decode(shape: MlaShape) -> MlaDecode {
    MlaDecode::resolve(&sets::H200, shape).unwrap()
}

/// Calls `check` with each row: shape, batch, length and latency in microseconds.
pub(crate) fn each_row<'t, S: Copy>(
    entries: impl Iterator<Item = Entry<S, Grid<'t>>>,
    check: impl Fn(S, u32, u32, f64),
) {
    for Entry { shape, points, .. } in entries {
        for (row, batch) in points.batch().values().iter().enumerate() {
            for (column, length) in points.length().values().iter().enumerate() {
                if let Some(us) = points.latency_us(row, column) {
                    check(shape, *batch, *length, f64::from(us));
                }
            }
        }
    }
}

#[test]
fn every_row_is_hit_prompts_also_as_chunks() {
    let is_hit = |answer: Estimate, us| {
        assert!(apart(answer.time.us(), us) < tolerances::STORED_F32);
        assert_eq!(answer.provenance, Class::Measured.inside());
    };
    for set in SETS {
        for table in [set.mla_prefill(), set.dsa_prefill()] {
            each_row(table.unwrap().entries(), |shape, batch, length, us| {
                let layer = MlaPrefill::resolve(set, shape).unwrap();
                is_hit(layer.at(batch, length), us);
                let mut chunks = layer.chunks();
                (0..batch).for_each(|_| chunks.add(length, 0));
                is_hit(layer.at_chunks(&chunks), us);
            });
        }
        for table in [set.mla_decode(), set.dsa_decode()] {
            each_row(table.unwrap().entries(), |shape, batch, length, us| {
                let layer = MlaDecode::resolve(set, shape).unwrap();
                is_hit(layer.at(batch, u64::from(batch) * u64::from(length)), us);
            });
        }
    }
}

#[test]
fn no_answer_is_below_the_time_of_its_flops() {
    let mut random = Random(16);
    for round in 0..4_000 {
        let shape = MlaShape {
            q_heads: random.log(4096),
            hidden: random.log(1 << 18),
            q_rank: random.log(4096) - 1,
            ..[V3, V3_2][round % 2]
        };
        let mut chunks = match random.between(0, 1) {
            0 => ChunkSums::default(),
            _ => prefill(shape).chunks(),
        };
        for _ in 0..random.between(1, 4) {
            chunks.add(random.log(1 << 20), random.log(1 << 20) - 1);
        }
        let requests = random.log(1 << 20);
        for answer in [
            prefill(shape).at_chunks(&chunks),
            prefill(shape).at(random.log(1 << 16), random.log(1 << 20)),
            decode(shape).at(requests, u64::from(requests) * u64::from(random.log(1 << 24))),
        ] {
            let mfu = answer.mfu().0;
            assert!(mfu > 0.0 && mfu <= 1.0, "{shape:?} {chunks:?}: {answer:?}");
            assert!(answer.time.0.is_finite());
        }
    }
}

#[test]
fn heads_between_measured_ones_are_interpolated_and_others_transferred() {
    let of = |q_heads| decode(MlaShape { q_heads, ..V3 });
    let time = |q_heads| of(q_heads).at(64, 96_000).time;
    assert!(time(16) < time(24) && time(24) < time(32));
    let class = |q_heads| of(q_heads).class();
    assert_eq!(
        [4, 8, 24, 129].map(class),
        [Class::Transferred, Class::Measured, Class::Interpolated, Class::Transferred]
    );
    let shares: Vec<_> = of(24).matched().map(|found| (found.shape.q_heads, found.share)).collect();
    let [(16, fewer), (32, more)] = shares[..] else { panic!("{shares:?}") };
    assert!(apart(more, 1.5_f64.log2()) < tolerances::ROUNDING);
    assert!(apart(fewer + more, 1.0) < tolerances::ROUNDING);
}

#[test]
fn another_hidden_size_is_transferred_and_other_heads_are_refused() {
    // DeepSeek-V2-Lite.
    let small = MlaShape { hidden: 2048, q_rank: 0, dtype: Dtype::Bf16, ..V3 };
    let like = MlaShape { dtype: Dtype::Bf16, ..V3 };
    assert_eq!(prefill(small).class(), Class::Transferred);
    assert!(prefill(small).at(1, 8192).time < prefill(like).at(1, 8192).time);
    for other in [MlaShape { v_dim: 256, ..V3 }, MlaShape { dtype: Dtype::Fp8, ..V3 }] {
        let error = MlaPrefill::resolve(&sets::H200, other).unwrap_err();
        assert!(matches!(error, ResolveError::NoLatentAttention { .. }));
    }
    let other = MlaShape { indexer: Some(Indexer { heads: 16, head_dim: 128, top_k: 1024 }), ..V3 };
    assert_eq!(
        MlaPrefill::resolve(&sets::H200, other).unwrap_err().to_string(),
        "table set h200: dsa_prefill: no rows of fp8_block projections with bf16 KV, a latent rank of 512 and heads \
         of 128, 64 and 128, 16 heads of 128 that select 1024 keys; use formats and dimensions that were measured \
         (`rooflut tables` lists them)"
    );
    let glm = MlaShape { v_dim: 256, ..V3 };
    assert_eq!(
        MlaDecode::resolve(&sets::H200, glm).unwrap_err().to_string(),
        "table set h200: mla_decode: no rows of fp8_block projections with bf16 KV, a latent rank of 512 and heads \
         of 128, 64 and 256; use formats and dimensions that were measured (`rooflut tables` lists them)"
    );
}

#[test]
fn a_context_is_expanded_again_for_each_chunk() {
    let layer = prefill(V3);
    let at = |parts: &[(u32, u32)]| {
        let mut chunks = ChunkSums::default();
        parts.iter().for_each(|(new, context)| chunks.add(*new, *context));
        layer.at_chunks(&chunks)
    };
    let whole = at(&[(8192, 0)]).time.0;
    let (first, second) = (at(&[(4096, 0)]), at(&[(4096, 4096)]));
    assert_eq!(second.provenance, Class::Transferred.inside());
    let halves = (first.time.0 + second.time.0) / whole;
    assert!((1.0..1.25).contains(&halves), "{halves}");
    // The expansion of 65,536 tokens alone: 2 x 65,536 x 512 x 16 x 256 FLOPs.
    let far = at(&[(16, 65_536)]).time.0;
    let expansion = 2.0 * 65_536.0 * 512.0 * 16.0 * 256.0 / 1979e12;
    assert!(far > expansion + at(&[(16, 0)]).time.0, "{far}");
}

#[test]
fn a_selected_context_costs_its_scores_alone() {
    let layer = prefill(V3_2);
    let at = |parts: &[(u32, u32)]| {
        let mut chunks = layer.chunks();
        parts.iter().for_each(|(new, context)| chunks.add(*new, *context));
        layer.at_chunks(&chunks)
    };
    let [near, far] = [(2048, 16_384), (2048, 65_536)].map(|chunk| at(&[chunk]));
    assert_eq!(far.provenance.class, Class::Transferred);
    // As many keys attend; scoring the others takes 2 x 64 x 128 FLOPs a pair in fp8.
    let scores = 2048.0 * 49_152.0 * 2.0 * 64.0 * 128.0 / 1979e12;
    let more = far.time.0 - near.time.0;
    assert!((1.0..3.5).contains(&(more / scores)), "{}", more / scores);
    // SGLang 0.5.14, H200, the same layer with 128 heads: 2048 tokens after 16,384 and after 65,536.
    let layer = prefill(MlaShape { q_heads: 128, ..V3_2 });
    for (context, measured_us) in [(16_384, 3610.0), (65_536, 5306.0)] {
        let mut chunks = layer.chunks();
        chunks.add(2048, context);
        let error = layer.at_chunks(&chunks).time.us() / measured_us - 1.0;
        assert!(error.abs() < 0.2, "{context}: {error}");
    }
}

#[test]
fn sums_of_another_layer_select_at_most_all_keys() {
    let layer = prefill(V3_2);
    for (new, context) in [(700, 0), (700, 1000), (700, 20_000)] {
        let [mut own, mut other] = [layer.chunks(), ChunkSums::default()];
        own.add(new, context);
        other.add(new, context);
        let [own, other] = [own, other].map(|chunks| layer.at_chunks(&chunks).time.0);
        assert!(apart(own, other) < 1e-6, "{new} {context}: {own} {other}");
    }
}

#[test]
fn prompts_are_measured_from_128_tokens_on_and_no_shorter_with_more() {
    for kv_dtype in [Dtype::Bf16, Dtype::Fp8] {
        let layer = prefill(MlaShape { kv_dtype, ..V3_2 });
        let at = |tokens| layer.at(1, tokens);
        assert_eq!(at(16).provenance, Class::Interpolated.outside());
        assert_eq!(at(128).provenance, Class::Measured.inside());
        assert_eq!(at(1000).provenance, Class::Interpolated.inside());
        let times = [1, 16, 128, 512, 1000, 2048, 4096].map(|tokens| at(tokens).time.0);
        assert!(times.is_sorted(), "{kv_dtype}: {times:?}");
    }
}

#[test]
fn projections_in_16_bits_have_the_efficiency_of_fp8_where_no_row_has_them() {
    let wide = MlaShape { dtype: Dtype::Bf16, ..V3_2 };
    let [fp8, bf16] = [V3_2, wide].map(prefill);
    assert_eq!([fp8.class(), bf16.class()], [Class::Measured, Class::Transferred]);
    let ratio = bf16.at(1, 8192).time.0 / fp8.at(1, 8192).time.0;
    assert!((1.0..1.5).contains(&ratio), "{ratio}");
    assert_eq!(decode(wide).class(), Class::Transferred);
}

#[test]
fn a_selection_costs_less_than_all_of_a_long_context() {
    let at = |shape, kv_len: u64| decode(shape).at(64, 64 * kv_len).time;
    let [sparse, dense] = [V3_2, V3].map(|shape| at(shape, 65_536).0 - at(shape, 4_096).0);
    assert!(sparse < dense / 3.0, "{sparse} {dense}");
}
