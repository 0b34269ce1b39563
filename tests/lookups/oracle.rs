//! Every lookup against a naive oracle that reads the files and knows only the documentation.

use crate::support::oracle::{self, Answer};
use crate::support::{apart, divisible, tables, tolerances};
use proptest::prelude::*;
use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};

/// Whole numbers from 1 to `high`; all orders of magnitude are equally likely.
fn log_uniform(high: f64) -> impl Strategy<Value = u32> {
    (0.0..1.0_f64).prop_map(move |share| (share * high.ln()).exp() as u32)
}

/// One of `values` or a number of any size near them, so that exact hits and edges are common.
fn near(values: &'static [u32], high: f64) -> impl Strategy<Value = u32> {
    prop_oneof![
        prop::sample::select(values),
        prop::sample::select(values).prop_map(|value| value + 1),
        prop::sample::select(values).prop_map(|value| (value - 1).max(1)),
        log_uniform(high),
    ]
}

fn agrees(found: Estimate, expected: Answer) -> Result<(), TestCaseError> {
    let distance = apart(found.time.0, expected.seconds);
    prop_assert!(distance < tolerances::STORED_LN_F32, "{distance:e}: found {found:?}, expected {expected:?}");
    prop_assert_eq!(found.provenance, expected.provenance);
    let mfu = expected.at_peak / expected.seconds;
    prop_assert!((found.mfu().0 - mfu).abs() <= tolerances::STORED_LN_F32 * mfu);
    Ok(())
}

const POWERS: &[u32] = &[1, 4, 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 16_384, 65_536, 131_072];
const WIDTHS: &[u32] = &[256, 512, 1024, 2048, 3584, 4096, 6144, 7168, 8192, 11_008, 16_384, 65_536, 128_256];
const HEADS: &[u32] = &[1, 2, 4, 8, 16, 28, 32, 40, 48, 56, 64, 96];

/// Measured shapes, their shards, and others.
fn attention(kv_dtypes: &'static [Dtype]) -> impl Strategy<Value = AttentionShape> {
    (
        prop::sample::select(kv_dtypes),
        prop::sample::select(HEADS),
        prop::sample::select(HEADS),
        prop::sample::select(&[64_u32, 128, 128, 128, 192][..]),
        prop::sample::select(&[1_u32, 1, 2, 4, 8, 16][..]),
    )
        .prop_map(|(kv_dtype, kv_heads, q_heads, head_dim, tp)| {
            divisible(AttentionShape {
                dtype: Dtype::Bf16,
                kv_dtype,
                q_heads: q_heads.max(kv_heads),
                kv_heads,
                head_dim,
                tp,
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gemm_answers_as_documented(
        place in 0..tables::all().len(),
        dtype_place in 0..8_usize,
        k in near(WIDTHS, 2e5),
        n in near(WIDTHS, 3e5),
        m in near(POWERS, 3e5),
    ) {
        let set = &tables::all()[place];
        let mut dtypes: Vec<Dtype> = set.gemm.iter().map(|row| row.shape.dtype).collect();
        dtypes.dedup();
        let shape = GemmShape { dtype: dtypes[dtype_place % dtypes.len()], k, n };
        let gemm = Gemm::resolve(set.compiled, shape).unwrap();
        agrees(gemm.at(m), oracle::gemm(set, shape, m))?;
        let shares: f64 = gemm.matched().map(|neighbour| neighbour.share).sum();
        prop_assert!(apart(shares, 1.0) < tolerances::ROUNDING);
    }

    #[test]
    fn prefill_answers_as_documented(
        place in 0..tables::all().len(),
        shape in attention(&[Dtype::Bf16, Dtype::Fp8]),
        batch in near(&[1, 2, 4, 16], 300.0),
        length in near(&[16, 64, 128, 512, 1024, 1536, 2048, 4096, 12_288, 16_384, 32_768], 2e5),
    ) {
        let set = &tables::all()[place];
        let prefill = PrefillAttention::resolve(set.compiled, shape).unwrap();
        let chunks = vec![(length, 0); batch as usize];
        agrees(prefill.at(batch, length), oracle::prefill(set, shape, &chunks))?;
    }

    #[test]
    fn prefill_of_chunks_answers_as_documented(
        place in 0..tables::all().len(),
        shape in attention(&[Dtype::Bf16, Dtype::Fp8]),
        chunks in prop::collection::vec(
            (log_uniform(2e4), prop_oneof![Just(0), log_uniform(1.5e5)]),
            1..20,
        ),
    ) {
        let set = &tables::all()[place];
        let prefill = PrefillAttention::resolve(set.compiled, shape).unwrap();
        let mut sums = ChunkSums::default();
        for &(new, context) in &chunks {
            sums.add(new, context);
        }
        agrees(prefill.at_chunks(&sums), oracle::prefill(set, shape, &chunks))?;
    }

    #[test]
    fn decode_answers_as_documented(
        place in 0..tables::all().len(),
        mut shape in attention(&[Dtype::Bf16, Dtype::Fp8]),
        requests in near(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512], 3e3),
        length in near(&[128, 256, 512, 1024, 2048, 4096, 8192, 32_768, 65_536, 131_072], 3e5),
        more in prop_oneof![Just(0_u64), 0..3000_u64],
    ) {
        let set = &tables::all()[place];
        // Not every set has rows of 8-bit KV entries.
        if !set.decode.iter().any(|row| row.shape.kv_dtype == shape.kv_dtype) {
            shape.kv_dtype = Dtype::Bf16;
        }
        let decode = DecodeAttention::resolve(set.compiled, shape).unwrap();
        let kv_tokens = u64::from(requests) * u64::from(length) + more;
        agrees(decode.at(requests, kv_tokens), oracle::decode(set, shape, requests, kv_tokens))?;
    }

    #[test]
    fn allreduce_answers_as_documented(
        ranks in 2..=8_u32,
        bytes in prop_oneof![
            (0..36_u32).prop_map(|power| 1_u64 << power),
            (0..34_u32, 1..1000_u64).prop_map(|(power, more)| (1_u64 << power) + more),
        ],
    ) {
        let set = tables::h100();
        let allreduce = AllReduce::resolve(set.compiled, AllReduceShape { ranks }).unwrap();
        agrees(allreduce.at(bytes), oracle::allreduce(set, ranks, bytes))?;
    }

    #[test]
    fn moe_answers_as_documented(
        dtype in prop::sample::select(&[Dtype::Bf16, Dtype::Fp8, Dtype::Fp8Block, Dtype::Mxfp4, Dtype::Int4][..]),
        (ep, matrices) in (prop::sample::select(&[1_u32, 2, 8, 64][..]), 2..4_u32),
        (experts, top_k, hidden, intermediate) in prop_oneof![
            prop::sample::select(&[
                (8_u32, 2_u32, 4096_u32, 14_336_u32),
                (8, 2, 6144, 16_384),
                (16, 1, 5120, 8192),
                (128, 8, 2048, 768),
                (128, 8, 4096, 1536),
            ][..]),
            (1..300_u32, 1..10_u32, log_uniform(2e4), log_uniform(4e4))
                .prop_map(|(experts, top_k, hidden, width)| (experts, top_k.min(experts), hidden, width)),
        ],
        tp in prop::sample::select(&[1_u32, 2, 4, 8, 3][..]),
        tokens in near(POWERS, 1e5),
    ) {
        let set = tables::h100();
        let shape = MoeShape { dtype, experts, top_k, hidden, intermediate, tp, ep, matrices };
        let moe = Moe::resolve(set.compiled, shape).unwrap();
        agrees(moe.at(tokens), oracle::moe(set, shape, tokens))?;
    }
}
