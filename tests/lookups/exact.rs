//! Every row of every table is answered with its own latency. (That tables have all rows and no others is
//! what their fingerprints prove.)

use crate::support::tables::{Row, Tables};
use crate::support::{apart, tables, tolerances};
use rooflut::ResolveError;
use rooflut::hardware::AttentionShape;
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use rooflut::table::{Class, TableSet};
use std::fmt::Debug;

/// Checks the answers of `resolve` and `ask` to the rows of every set.
fn every_row_is_hit<S: Copy + Debug + PartialEq + 'static, H>(
    rows: fn(&Tables) -> &[Row<S>],
    resolve: fn(&TableSet, S) -> Result<H, ResolveError>,
    matched: fn(&H) -> S,
    ask: fn(&H, &Row<S>) -> Estimate,
) {
    for set in tables::all() {
        for row in rows(set) {
            let handle = resolve(set.compiled, row.shape).unwrap();
            assert_eq!(matched(&handle), row.shape);
            let answer = ask(&handle, row);
            let found = answer.time.us();
            let about = format!("{:?} {} x {}", row.shape, row.amount, row.length);
            let close = apart(found, row.us) < tolerances::STORED_F32;
            assert!(close, "{about}: {found} us for {}", row.us);
            assert_eq!(answer.provenance, Class::Measured.inside(), "{about}");
        }
    }
}

#[test]
fn every_gemm_row_is_hit() {
    every_row_is_hit(
        |set| &set.gemm,
        Gemm::resolve,
        |gemm| {
            assert_eq!(gemm.matched().count(), 1);
            gemm.matched().next().unwrap().shape
        },
        |gemm, row| gemm.at(row.amount),
    );
}

fn only_prefill_match(prefill: &PrefillAttention) -> AttentionShape {
    assert_eq!(prefill.matched().count(), 1);
    prefill.matched().next().unwrap().shape
}

#[test]
fn every_prefill_row_is_hit_alone_and_as_chunks() {
    every_row_is_hit(
        |set| &set.prefill,
        PrefillAttention::resolve,
        only_prefill_match,
        |prefill, row| prefill.at(row.amount, row.length),
    );
    every_row_is_hit(
        |set| &set.prefill,
        PrefillAttention::resolve,
        only_prefill_match,
        |prefill, row| {
            let mut chunks = ChunkSums::default();
            (0..row.amount).for_each(|_| chunks.add(row.length, 0));
            prefill.at_chunks(&chunks)
        },
    );
}

#[test]
fn every_decode_row_is_hit() {
    every_row_is_hit(
        |set| &set.decode,
        DecodeAttention::resolve,
        DecodeAttention::matched,
        |decode, row| decode.at(row.amount, u64::from(row.amount) * u64::from(row.length)),
    );
}

#[test]
fn every_allreduce_row_is_hit() {
    every_row_is_hit(
        |set| &set.allreduce,
        AllReduce::resolve,
        AllReduce::matched,
        |allreduce, row| allreduce.at(row.amount.into()),
    );
}

#[test]
fn every_moe_row_is_hit() {
    every_row_is_hit(
        |set| &set.moe,
        Moe::resolve,
        |moe| {
            assert_eq!(moe.matched().count(), 1);
            moe.matched().next().unwrap().shape
        },
        |moe, row| moe.at(row.amount),
    );
}
