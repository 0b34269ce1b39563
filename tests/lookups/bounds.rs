//! Every answer, however far from the tables, is finite, positive and not faster than the peak.

use crate::support::oracle::{decode_work, prefill_work};
use crate::support::random::Random;
use crate::support::tables::Tables;
use crate::support::tolerances::ROUNDING;
use crate::support::{divisible, gemm, mixtral_layer, tables};
use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use rooflut_roofline::{Prompts, Work};
use std::fmt::Debug;

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
    assert!(seconds >= at_peak * (1.0 - ROUNDING), "{what}: {answer:?}, at the peak {at_peak}");
    let mfu = answer.mfu().0;
    assert!(mfu > 0.0 && mfu <= 1.0, "{what}: {answer:?}");
    assert!((mfu - at_peak / seconds).abs() <= ROUNDING, "{what}: {answer:?}");
}

fn any_gemm(set: &Tables, random: &mut Random) -> GemmShape {
    let dtype = random.pick(&set.gemm).shape.dtype;
    gemm(dtype, any_dimension(random), any_dimension(random))
}

fn any_attention(set: &Tables, random: &mut Random) -> AttentionShape {
    divisible(AttentionShape {
        q_heads: any_dimension(random),
        kv_heads: any_dimension(random),
        head_dim: any_dimension(random),
        tp: any_dimension(random),
        ..random.pick(&set.decode).shape
    })
}

/// Prefill attention of any shape, whose K and V are in 16 bits.
fn any_prefill(set: &Tables, random: &mut Random) -> (AttentionShape, PrefillAttention) {
    let shape = AttentionShape { kv_dtype: Dtype::Bf16, ..any_attention(set, random) };
    let prefill = PrefillAttention::resolve(set.compiled, shape).unwrap();
    (shape, prefill)
}

/// Calls `check` many times with each set.
fn of_every_set(seed: u64, check: impl Fn(&Tables, &mut Random)) {
    let mut random = Random(seed);
    for set in tables::all() {
        (0..QUERIES).for_each(|_| check(set, &mut random));
    }
}

#[test]
fn any_gemm_at_any_m_is_finite_and_below_the_peak() {
    of_every_set(1, |set, random| {
        let (shape, m) = (any_gemm(set, random), any_size(random));
        let flops = 2.0 * f64::from(m.max(1)) * f64::from(shape.k) * f64::from(shape.n);
        let answer = Gemm::resolve(set.compiled, shape).unwrap().at(m);
        let about = format_args!("{shape:?} m {m}");
        sound(answer, flops / set.peak(shape.dtype), about);
    });
}

#[test]
fn any_prefill_is_finite_and_below_the_peak() {
    of_every_set(2, |set, random| {
        let (shape, prefill) = any_prefill(set, random);
        let (batch, length) = (any_size(random), any_size(random));
        let (one, _) = prefill_work(shape, &[(length.max(1), 0)]);
        let at_peak = one * f64::from(batch.max(1)) / set.peak(shape.dtype);
        let about = format_args!("{shape:?} {batch} x {length}");
        sound(prefill.at(batch, length), at_peak, about);
    });
}

#[test]
fn any_chunks_are_finite_and_below_the_peak() {
    of_every_set(3, |set, random| {
        let (shape, prefill) = any_prefill(set, random);
        let mut sums = ChunkSums::default();
        let mut chunks = Vec::new();
        for _ in 0..random.between(1, 8) {
            let (new, context) = (any_dimension(random), any_size(random));
            sums.add(new, context);
            chunks.push((new, context));
        }
        let at_peak = prefill_work(shape, &chunks).0 / set.peak(shape.dtype);
        let about = format_args!("{shape:?} {chunks:?}");
        sound(prefill.at_chunks(&sums), at_peak, about);
    });
}

#[test]
fn any_decode_is_finite_and_below_the_peak() {
    of_every_set(4, |set, random| {
        let shape = any_attention(set, random);
        let decode = DecodeAttention::resolve(set.compiled, shape).unwrap();
        let requests = any_size(random);
        let kv_tokens = match random.between(0, 20) {
            0 => u64::MAX,
            _ => u64::from(requests).saturating_mul(u64::from(any_size(random))),
        };
        // Zero requests count as one, and each has at least one token.
        let whole = f64::from(requests.max(1));
        let (flops, _) = decode_work(shape, whole, (kv_tokens as f64).max(whole));
        let about = format_args!("{shape:?} {requests} requests {kv_tokens} tokens");
        let answer = decode.at(requests, kv_tokens);
        sound(answer, flops / set.peak(shape.dtype), about);
    });
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
            ep: any_dimension(&mut random),
            matrices: random.between(2, 3) as u32,
        };
        let tokens = any_size(&mut random);
        let width = f64::from(shape.intermediate) / f64::from(shape.tp);
        let copies = f64::from(shape.top_k) / f64::from(shape.ep);
        let per_token = 2.0 * copies * f64::from(shape.matrices) * f64::from(shape.hidden) * width;
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
            assert!(answer.time.0.is_finite() && answer.time.0 > 0.0, "{bytes}: {answer:?}");
            assert_eq!(answer.mfu().0.to_bits(), 0, "{bytes}: {answer:?}");
        }
    }
}

#[test]
fn the_bound_never_falls_when_there_is_more_to_do() {
    of_every_set(7, |set, random| {
        let grows = |dtype, work: &dyn Fn(f64) -> Work, [x, y]: [f64; 2], about: &dyn Debug| {
            let rates = set.compiled.gpu().rates(dtype).unwrap();
            let (less, more) = (work(x).bound_s(&rates), work(y).bound_s(&rates));
            let found = format_args!("{about:?} {x} {y}: {less} {more}");
            assert!(less.is_finite() && less > 0.0 && less <= more, "{found}");
        };
        let less = f64::from(any_dimension(random));
        let sizes = [less, less + f64::from(any_size(random))];
        let shape = any_gemm(set, random);
        grows(shape.dtype, &|m| shape.work(m), sizes, &shape);
        let shape = any_attention(set, random);
        let rank = shape.on_rank();
        let prefill = |length| rank.prefill_work(&Prompts::equal(3.0, length));
        grows(shape.dtype, &prefill, sizes, &shape);
        let decode = |tokens| rank.decode_work(1.0, tokens);
        grows(shape.dtype, &decode, sizes, &shape);
        let shape = mixtral_layer(2);
        grows(shape.dtype, &|tokens| shape.work(tokens), sizes, &shape);
        let shape = AllReduceShape { ranks: 4 };
        grows(Dtype::Bf16, &|bytes| shape.work(bytes), sizes, &shape);
    });
}
