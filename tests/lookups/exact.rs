//! Every row of every table is answered with its own latency.

use crate::support::{apart, tables, tolerances};
use rooflut::hardware::{AllReduceShape, AttentionShape, GemmShape, MoeShape, OperationKind};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use rooflut::table::{Class, Points};

fn check(answer: Estimate, us: f64, what: std::fmt::Arguments<'_>) {
    assert!(
        apart(answer.time.us(), us) < tolerances::STORED_F32,
        "{what}: {} us for {us}",
        answer.time.us()
    );
    assert_eq!(answer.provenance, Class::Measured.inside(), "{what}");
}

/// Checks that the file of an operation has as many rows as the table compiled from it: no row is
/// missing or invented.
fn same_count(file: usize, compiled: Option<usize>, what: &str) {
    assert_eq!(file, compiled.unwrap_or(0), "{what}");
    assert_eq!(file > 0, compiled.is_some(), "{what}");
}

#[test]
fn every_gemm_row_is_hit() {
    for set in tables::all() {
        for row in &set.gemm {
            let shape = GemmShape {
                dtype: row.dtype,
                k: row.k,
                n: row.n,
            };
            let gemm = Gemm::resolve(set.compiled, shape).unwrap();
            check(
                gemm.at(row.m),
                row.us,
                format_args!("{shape:?} m {}", row.m),
            );
            let mut matched = gemm.matched();
            assert_eq!(matched.next().map(|neighbour| neighbour.shape), Some(shape));
            assert!(matched.next().is_none());
        }
        let compiled = set.compiled.gemm();
        let points = compiled.map(|t| t.entries().map(|e| e.points.latency_us().len()).sum());
        same_count(set.gemm.len(), points, "gemm");
    }
}

#[test]
fn every_prefill_row_is_hit_alone_and_as_chunks() {
    for set in tables::all() {
        for row in &set.prefill {
            let shape = attention(row);
            let prefill = PrefillAttention::resolve(set.compiled, shape).unwrap();
            assert_eq!(prefill.matched(), shape);
            let (batch, length) = (row.batch, row.length);
            check(
                prefill.at(batch, length),
                row.us,
                format_args!("{shape:?} {batch} x {length}"),
            );
            let mut chunks = ChunkSums::default();
            for _ in 0..batch {
                chunks.add(length, 0);
            }
            let together = prefill.at_chunks(&chunks);
            check(
                together,
                row.us,
                format_args!("{shape:?} {batch} chunks of {length}"),
            );
        }
        let compiled = set.compiled.table(OperationKind::Prefill);
        let entries = compiled.map(|table| table.typed::<AttentionShape, Points<'_>>().entries());
        let points = entries.map(|all| all.map(|entry| entry.points.measured()).sum());
        same_count(set.prefill.len(), points, "prefill");
    }
}

#[test]
fn every_decode_row_is_hit() {
    for set in tables::all() {
        for row in &set.decode {
            let shape = attention(row);
            let decode = DecodeAttention::resolve(set.compiled, shape).unwrap();
            assert_eq!(decode.matched(), shape);
            let kv_tokens = u64::from(row.batch) * u64::from(row.length);
            let answer = decode.at(row.batch, kv_tokens);
            check(
                answer,
                row.us,
                format_args!("{shape:?} {} x {}", row.batch, row.length),
            );
        }
        let compiled = set.compiled.table(OperationKind::Decode);
        let entries = compiled.map(|table| table.typed::<AttentionShape, Points<'_>>().entries());
        let points = entries.map(|all| all.map(|entry| entry.points.measured()).sum());
        same_count(set.decode.len(), points, "decode");
    }
}

#[test]
fn every_allreduce_row_is_hit() {
    for set in tables::all() {
        for row in &set.allreduce {
            let shape = AllReduceShape { ranks: row.ranks };
            let allreduce = AllReduce::resolve(set.compiled, shape).unwrap();
            assert_eq!(allreduce.matched(), shape);
            let answer = allreduce.at(u64::from(row.bytes));
            check(
                answer,
                row.us,
                format_args!("{shape:?} {} bytes", row.bytes),
            );
        }
        let compiled = set.compiled.all_reduce();
        let points = compiled.map(|t| t.entries().map(|e| e.points.latency_us().len()).sum());
        same_count(set.allreduce.len(), points, "allreduce");
    }
}

#[test]
fn every_moe_row_is_hit() {
    for set in tables::all() {
        for row in &set.moe {
            let shape = MoeShape {
                dtype: row.dtype,
                experts: row.experts,
                top_k: row.top_k,
                hidden: row.hidden,
                intermediate: row.intermediate,
                tp: row.tp,
            };
            let moe = Moe::resolve(set.compiled, shape).unwrap();
            assert_eq!(moe.matched(), shape);
            check(
                moe.at(row.tokens),
                row.us,
                format_args!("{shape:?} {} tokens", row.tokens),
            );
        }
        let compiled = set.compiled.moe();
        let points = compiled.map(|t| t.entries().map(|e| e.points.latency_us().len()).sum());
        same_count(set.moe.len(), points, "moe");
    }
}

fn attention(row: &tables::AttentionRow) -> AttentionShape {
    AttentionShape {
        dtype: row.dtype,
        kv_dtype: row.kv_dtype,
        q_heads: row.q_heads,
        kv_heads: row.kv_heads,
        head_dim: row.head_dim,
        tp: row.tp,
    }
}
