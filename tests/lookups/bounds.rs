//! Every answer, however far from the tables, is finite, positive and not faster than the peak.

use crate::support::oracle::{decode_work, prefill_work};
use crate::support::random::Random;
use crate::support::tables::Tables;
use crate::support::tolerances::ROUNDING;
use crate::support::{divisible, gemm, mixtral_layer, tables};
use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use rooflut_roofline::{Prompts, Work};

const QUERIES: u32 = 20_000;

/// Any size, zero and the largest included.
fn any_size(random: &mut Random) -> u32 {
    match random.between(0, 15) {
        0 => 0,
        1 => u32::MAX,
        2 => u32::MAX - random.log(1000),
        _ => random.log(1 << 24),
    }
}

fn any_dimension(random: &mut Random) -> u32 {
    any_size(random).max(1)
}

fn sound(answer: Estimate, at_peak: f64, what: std::fmt::Arguments<'_>) {
    let seconds = answer.time.0;
    assert!(seconds.is_finite() && seconds > 0.0, "{what}: {answer:?}");
    assert!(
        seconds >= at_peak * (1.0 - ROUNDING),
        "{what}: {answer:?}, at the peak {at_peak}"
    );
    let mfu = answer.mfu().0;
    assert!(mfu > 0.0 && mfu <= 1.0, "{what}: {answer:?}");
    assert!(
        (mfu - at_peak / seconds).abs() <= ROUNDING,
        "{what}: {answer:?}"
    );
}

fn any_gemm(set: &Tables, random: &mut Random) -> GemmShape {
    let dtype = random.pick(&set.gemm).dtype;
    gemm(dtype, any_dimension(random), any_dimension(random))
}

fn any_attention(set: &Tables, random: &mut Random) -> AttentionShape {
    let row = random.pick(&set.decode);
    divisible(AttentionShape {
        dtype: row.dtype,
        kv_dtype: row.kv_dtype,
        q_heads: any_dimension(random),
        kv_heads: any_dimension(random),
        head_dim: any_dimension(random),
        tp: any_dimension(random),
    })
}

#[test]
fn any_gemm_at_any_m_is_finite_and_below_the_peak() {
    let mut random = Random(1);
    for set in tables::all() {
        for _ in 0..QUERIES {
            let shape = any_gemm(set, &mut random);
            let m = any_size(&mut random);
            let at_peak = 2.0 * f64::from(m.max(1)) * f64::from(shape.k) * f64::from(shape.n)
                / set.peak(shape.dtype);
            let answer = Gemm::resolve(set.compiled, shape).unwrap().at(m);
            sound(answer, at_peak, format_args!("{shape:?} m {m}"));
        }
    }
}

#[test]
fn any_prefill_is_finite_and_below_the_peak() {
    let mut random = Random(2);
    for set in tables::all() {
        for _ in 0..QUERIES {
            let shape = AttentionShape {
                kv_dtype: Dtype::Bf16,
                ..any_attention(set, &mut random)
            };
            let prefill = PrefillAttention::resolve(set.compiled, shape).unwrap();
            let (batch, length) = (any_size(&mut random), any_size(&mut random));
            let (one, _) = prefill_work(shape, &[(length.max(1), 0)]);
            let at_peak = one * f64::from(batch.max(1)) / set.peak(shape.dtype);
            let answer = prefill.at(batch, length);
            sound(
                answer,
                at_peak,
                format_args!("{shape:?} {batch} x {length}"),
            );
        }
    }
}

#[test]
fn any_chunks_are_finite_and_below_the_peak() {
    let mut random = Random(3);
    for set in tables::all() {
        for _ in 0..QUERIES {
            let shape = AttentionShape {
                kv_dtype: Dtype::Bf16,
                ..any_attention(set, &mut random)
            };
            let prefill = PrefillAttention::resolve(set.compiled, shape).unwrap();
            let count = random.between(1, 8);
            let chunks: Vec<_> = (0..count)
                .map(|_| (any_dimension(&mut random), any_size(&mut random)))
                .collect();
            let mut sums = ChunkSums::default();
            for &(new, context) in &chunks {
                sums.add(new, context);
            }
            let at_peak = prefill_work(shape, &chunks).0 / set.peak(shape.dtype);
            sound(
                prefill.at_chunks(&sums),
                at_peak,
                format_args!("{shape:?} {chunks:?}"),
            );
        }
    }
}

#[test]
fn any_decode_is_finite_and_below_the_peak() {
    let mut random = Random(4);
    for set in tables::all() {
        for _ in 0..QUERIES {
            let shape = any_attention(set, &mut random);
            let decode = DecodeAttention::resolve(set.compiled, shape).unwrap();
            let requests = any_size(&mut random);
            let kv_tokens = match random.between(0, 20) {
                0 => u64::MAX,
                _ => u64::from(requests).saturating_mul(u64::from(any_size(&mut random))),
            };
            // Zero requests count as one, and each has at least one token.
            let whole = requests.max(1);
            let tokens = (kv_tokens as f64).max(f64::from(whole));
            let (flops, _) = decode_work(shape, f64::from(whole), tokens);
            let answer = decode.at(requests, kv_tokens);
            let what = format_args!("{shape:?} {requests} requests {kv_tokens} tokens");
            sound(answer, flops / set.peak(shape.dtype), what);
        }
    }
}

#[test]
fn any_moe_is_finite_and_below_the_peak() {
    let mut random = Random(5);
    let set = tables::h100();
    for _ in 0..QUERIES {
        let shape = MoeShape {
            dtype: *random.pick(&[Dtype::Bf16, Dtype::Fp8, Dtype::Fp8Block]),
            experts: any_dimension(&mut random),
            top_k: any_dimension(&mut random),
            hidden: any_dimension(&mut random),
            intermediate: any_dimension(&mut random),
            tp: any_dimension(&mut random),
        };
        let tokens = any_size(&mut random);
        let width = f64::from(shape.intermediate) / f64::from(shape.tp);
        let per_token = 6.0 * f64::from(shape.top_k) * f64::from(shape.hidden) * width;
        let at_peak = per_token * f64::from(tokens.max(1)) / set.peak(shape.dtype);
        let answer = Moe::resolve(set.compiled, shape).unwrap().at(tokens);
        sound(answer, at_peak, format_args!("{shape:?} {tokens} tokens"));
    }
}

#[test]
fn any_allreduce_is_finite_and_has_no_mfu() {
    let mut random = Random(6);
    let set = tables::h100().compiled;
    for ranks in 2..=8 {
        let allreduce = AllReduce::resolve(set, AllReduceShape { ranks }).unwrap();
        for _ in 0..1000 {
            let bytes = match random.between(0, 10) {
                0 => 0,
                1 => u64::MAX,
                _ => u64::from(random.log(u32::MAX)) << random.between(0, 20),
            };
            let answer = allreduce.at(bytes);
            assert!(
                answer.time.0.is_finite() && answer.time.0 > 0.0,
                "{bytes}: {answer:?}"
            );
            assert_eq!(answer.mfu().0.to_bits(), 0, "{bytes}: {answer:?}");
        }
    }
}

#[test]
fn the_bound_never_falls_when_there_is_more_to_do() {
    let mut random = Random(7);
    for set in tables::all() {
        let rates = |dtype| set.compiled.gpu().rates(dtype).unwrap();
        let grows = |dtype, less: Work, more: Work, what: std::fmt::Arguments<'_>| {
            let (less, more) = (less.bound_s(&rates(dtype)), more.bound_s(&rates(dtype)));
            assert!(
                less.is_finite() && less > 0.0 && less <= more,
                "{what}: {less} {more}"
            );
        };
        for _ in 0..QUERIES {
            let (x, more) = (any_dimension(&mut random), any_size(&mut random));
            let (x, y) = (f64::from(x), f64::from(x) + f64::from(more));
            let shape = any_gemm(set, &mut random);
            grows(
                shape.dtype,
                shape.work(x),
                shape.work(y),
                format_args!("{shape:?} {x} {y}"),
            );
            let shape = any_attention(set, &mut random);
            let rank = shape.on_rank();
            let of = |length| rank.prefill_work(&Prompts::equal(3.0, length));
            grows(
                shape.dtype,
                of(x),
                of(y),
                format_args!("prefill {shape:?} {x} {y}"),
            );
            let of = |tokens| rank.decode_work(1.0, tokens);
            grows(
                shape.dtype,
                of(x),
                of(y),
                format_args!("decode {shape:?} {x} {y}"),
            );
            let shape = mixtral_layer(2);
            grows(
                shape.dtype,
                shape.work(x),
                shape.work(y),
                format_args!("{shape:?} {x} {y}"),
            );
            let shape = AllReduceShape { ranks: 4 };
            grows(
                Dtype::Bf16,
                shape.work(x),
                shape.work(y),
                format_args!("{shape:?} {x} {y}"),
            );
        }
    }
}
