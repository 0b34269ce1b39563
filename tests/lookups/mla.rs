//! Layers of latent attention.

use crate::support::random::Random;
use crate::support::{apart, tolerances};
use rooflut::ResolveError;
use rooflut::hardware::{Dtype, MlaShape};
use rooflut::op::{ChunkSums, Estimate, MlaDecode, MlaPrefill};
use rooflut::table::{Class, Entry, Grid, TableSet, sets};

const SETS: [&TableSet; 3] = [&sets::H100, &sets::H200, &sets::B200];

/// DeepSeek-V3 on one of eight GPUs.
const V3: MlaShape = MlaShape {
    dtype: Dtype::Fp8Block,
    attn_dtype: Dtype::Bf16,
    kv_dtype: Dtype::Bf16,
    q_heads: 16,
    hidden: 7168,
    q_rank: 1536,
    kv_rank: 512,
    nope_dim: 128,
    rope_dim: 64,
    v_dim: 128,
};

fn prefill(shape: MlaShape) -> MlaPrefill {
    MlaPrefill::resolve(&sets::H200, shape).unwrap()
}

fn decode(shape: MlaShape) -> MlaDecode {
    MlaDecode::resolve(&sets::H200, shape).unwrap()
}

/// Calls `check` with each row: shape, batch, length and latency in microseconds.
fn each_row<'t>(
    entries: impl Iterator<Item = Entry<MlaShape, Grid<'t>>>,
    check: impl Fn(MlaShape, u32, u32, f64),
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
        each_row(
            set.mla_prefill().unwrap().entries(),
            |shape, batch, length, us| {
                let layer = MlaPrefill::resolve(set, shape).unwrap();
                is_hit(layer.at(batch, length), us);
                let mut chunks = ChunkSums::default();
                (0..batch).for_each(|_| chunks.add(length, 0));
                is_hit(layer.at_chunks(&chunks), us);
            },
        );
        each_row(
            set.mla_decode().unwrap().entries(),
            |shape, batch, length, us| {
                let layer = MlaDecode::resolve(set, shape).unwrap();
                is_hit(layer.at(batch, u64::from(batch) * u64::from(length)), us);
            },
        );
    }
}

#[test]
fn no_answer_is_below_the_time_of_its_flops() {
    let mut random = Random(16);
    for _ in 0..2_000 {
        let shape = MlaShape {
            q_heads: random.log(4096),
            hidden: random.log(1 << 18),
            q_rank: random.log(4096) - 1,
            ..V3
        };
        let mut chunks = ChunkSums::default();
        for _ in 0..random.between(1, 4) {
            chunks.add(random.log(1 << 20), random.log(1 << 20) - 1);
        }
        let requests = random.log(1 << 20);
        for answer in [
            prefill(shape).at_chunks(&chunks),
            prefill(shape).at(random.log(1 << 16), random.log(1 << 20)),
            decode(shape).at(
                requests,
                u64::from(requests) * u64::from(random.log(1 << 24)),
            ),
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
        [
            Class::Transferred,
            Class::Measured,
            Class::Interpolated,
            Class::Transferred
        ]
    );
    let shares: Vec<_> = of(24)
        .matched()
        .map(|found| (found.shape.q_heads, found.share))
        .collect();
    let [(16, fewer), (32, more)] = shares[..] else {
        panic!("{shares:?}")
    };
    assert!(apart(more, 1.5_f64.log2()) < tolerances::ROUNDING);
    assert!(apart(fewer + more, 1.0) < tolerances::ROUNDING);
}

#[test]
fn another_hidden_size_is_transferred_and_other_heads_are_refused() {
    // DeepSeek-V2-Lite.
    let small = MlaShape {
        hidden: 2048,
        q_rank: 0,
        dtype: Dtype::Bf16,
        ..V3
    };
    let like = MlaShape {
        dtype: Dtype::Bf16,
        ..V3
    };
    assert_eq!(prefill(small).class(), Class::Transferred);
    assert!(prefill(small).at(1, 8192).time < prefill(like).at(1, 8192).time);
    for other in [
        MlaShape { v_dim: 256, ..V3 },
        MlaShape {
            dtype: Dtype::Fp8,
            ..V3
        },
    ] {
        let error = MlaPrefill::resolve(&sets::H200, other).unwrap_err();
        assert!(matches!(error, ResolveError::NoLatentAttention { .. }));
    }
    let glm = MlaShape { v_dim: 256, ..V3 };
    assert_eq!(
        MlaDecode::resolve(&sets::H200, glm)
            .unwrap_err()
            .to_string(),
        "table set h200: mla_decode: no rows of fp8_block projections with bf16 KV, a latent rank of 512 and heads \
         of 128, 64 and 256; use formats and dimensions that were measured (`rooflut tables` lists them)"
    );
}

#[test]
fn a_context_is_expanded_again_for_each_chunk() {
    let layer = prefill(V3);
    let at = |parts: &[(u32, u32)]| {
        let mut chunks = ChunkSums::default();
        parts
            .iter()
            .for_each(|(new, context)| chunks.add(*new, *context));
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
