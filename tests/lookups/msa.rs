//! Layers of block-sparse attention.

use crate::mla::each_row;
use crate::support::random::Random;
use crate::support::{apart, tolerances};
use rooflut::hardware::{Dtype, MsaShape};
use rooflut::op::{Estimate, MsaDecode, MsaPrefill};
use rooflut::table::{Class, TableSet, sets};

const SETS: [&TableSet; 3] = [&sets::H100, &sets::B200, &sets::RTX_PRO_6000];

/// MiniMax-M3 on four GPUs.
const SHAPE: MsaShape = MsaShape {
    dtype: Dtype::Fp8Block,
    kv_dtype: Dtype::Bf16,
    q_heads: 16,
    kv_heads: 1,
    head_dim: 128,
    hidden: 6144,
    index_dim: 128,
    block: 128,
    top_blocks: 16,
};

fn prefill(shape: MsaShape) -> MsaPrefill {
    MsaPrefill::resolve(&sets::B200, shape).unwrap()
}

fn decode(shape: MsaShape) -> MsaDecode {
    MsaDecode::resolve(&sets::B200, shape).unwrap()
}

#[test]
fn every_row_is_hit_prompts_also_as_chunks() {
    let is_hit = |answer: Estimate, us: f64| {
        assert!(apart(answer.time.us(), us) < tolerances::STORED_F32);
        assert_eq!(answer.provenance, Class::Measured.inside());
    };
    for set in SETS {
        each_row(set.msa_prefill().unwrap().entries(), |shape, batch, length, us| {
            let layer = MsaPrefill::resolve(set, shape).unwrap();
            is_hit(layer.at(batch, length), us);
            let mut chunks = layer.chunks();
            (0..batch).for_each(|_| chunks.add(length, 0));
            is_hit(layer.at_chunks(&chunks), us);
        });
        each_row(set.msa_decode().unwrap().entries(), |shape, batch, length, us| {
            let layer = MsaDecode::resolve(set, shape).unwrap();
            is_hit(layer.at(batch, u64::from(batch) * u64::from(length)), us);
        });
    }
}

#[test]
fn no_answer_is_below_the_time_of_its_flops() {
    let mut random = Random(5);
    for _ in 0..4_000 {
        let kv_heads = random.log(64);
        let shape = MsaShape {
            q_heads: kv_heads * random.log(64),
            kv_heads,
            hidden: random.log(1 << 18),
            block: random.log(1 << 10),
            top_blocks: random.log(1 << 10),
            ..SHAPE
        };
        let layer = prefill(shape);
        let mut chunks = layer.chunks();
        (0..random.between(1, 4)).for_each(|_| chunks.add(random.log(1 << 20), random.log(1 << 20) - 1));
        let requests = random.log(1 << 20);
        for answer in [
            layer.at_chunks(&chunks),
            layer.at(random.log(1 << 16), random.log(1 << 20)),
            decode(shape).at(requests, u64::from(requests) * u64::from(random.log(1 << 24))),
        ] {
            let mfu = answer.mfu().0;
            assert!(mfu > 0.0 && mfu <= 1.0, "{shape:?}: {answer:?}");
            assert!(answer.time.0.is_finite());
        }
    }
}

#[test]
fn ranks_of_the_measured_model_are_interpolated_and_others_transferred() {
    let class = |q_heads, kv_heads| decode(MsaShape { q_heads, kv_heads, ..SHAPE }).class();
    assert_eq!([class(8, 1), class(16, 1), class(64, 4)], [Class::Measured; 3]);
    assert_eq!([class(32, 2), class(12, 1)], [Class::Interpolated; 2]);
    // More heads, and KV heads that the measured layers do not have.
    for (q_heads, kv_heads) in [(128, 8), (12, 12), (48, 8), (32, 1)] {
        assert_eq!(class(q_heads, kv_heads), Class::Transferred, "{q_heads} {kv_heads}");
    }
    for other in [MsaShape { hidden: 4096, ..SHAPE }, MsaShape { top_blocks: 8, ..SHAPE }] {
        assert_eq!(prefill(other).class(), Class::Transferred);
    }
    // 16-bit projections have no rows of their own.
    let wide = decode(MsaShape { dtype: Dtype::Bf16, ..SHAPE });
    assert_eq!(wide.class(), Class::Transferred);
    assert!(wide.at(64, 64 * 4096).time > decode(SHAPE).at(64, 64 * 4096).time);
}

#[test]
fn a_long_context_costs_its_scores_alone() {
    let layer = prefill(SHAPE);
    let after = |context| {
        let mut chunks = layer.chunks();
        chunks.add(512, context);
        layer.at_chunks(&chunks)
    };
    let [short, long] = [4_096, 65_536].map(after);
    assert_eq!(short.provenance.class, Class::Transferred);
    assert!(long.time > short.time && long.time.0 < 16.0 * short.time.0);
}
