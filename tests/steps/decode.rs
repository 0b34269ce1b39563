//! Decode attention of a step, held against measured rows and the data sheet: affine in the KV cache, as fast as the
//! rows that read theirs from memory.

use rooflut::hardware::AttentionShape;
use rooflut::op::DecodeAttention;
use rooflut::step::{Part, RooflineModel, StepModel};
use rooflut::table::{Class, Provenance};

use crate::support::apart;
use crate::support::models;
use crate::support::oracle::weight_bytes;
use crate::support::steps::{self, Batch, Sharded};
use crate::support::tables::{self, Row, Tables};

/// Seconds of decode attention in a layer.
fn layer_s(sharded: &Sharded, model: &RooflineModel, requests: u32, each: u32) -> f64 {
    let time = model.step_time(&Batch::decoding(requests, each).as_step());
    time.part(Part::DecodeAttention).0 / f64::from(sharded.spec.layers.total())
}

/// Source of decode attention.
fn provenance(model: &RooflineModel, requests: u32, each: u32) -> Provenance {
    let time = model.step_time(&Batch::decoding(requests, each).as_step());
    let mut parts = time.parts();
    let part = parts.find(|part| part.part == Part::DecodeAttention);
    part.unwrap().source.provenance().unwrap()
}

/// Bytes of a KV entry of `shape` on one rank.
fn kv_bytes(shape: AttentionShape) -> f64 {
    let heads = (shape.kv_heads / shape.tp).max(1);
    2.0 * f64::from(heads * shape.head_dim) * weight_bytes(shape.kv_dtype)
}

/// The rows of the measured shape that answers for a model, and those among them whose KV entries come from memory.
struct Matched<'t> {
    rows: Vec<&'t Row<AttentionShape>>,
    cold: Vec<&'t Row<AttentionShape>>,
    /// Whether a rank of the model computes what a rank of that shape does.
    exact: bool,
}

fn matched<'t>(tables: &'t Tables, sharded: &Sharded) -> Matched<'t> {
    let asked = sharded.attention_shape(sharded.kv_dtype);
    let shape = DecodeAttention::resolve(tables.compiled, asked).unwrap().matched();
    let of_shape = |row: &&Row<AttentionShape>| row.shape == shape;
    let rows: Vec<_> = tables.decode.iter().filter(of_shape).collect();
    let is_cold = |row: &&Row<AttentionShape>| {
        let tokens = f64::from(row.amount) * f64::from(row.length);
        let bytes = tokens * kv_bytes(shape);
        let blocks = f64::from(row.amount * shape.local().kv_heads);
        let waves_s = blocks / tables.gpu.sms * tables.wave("decode");
        bytes > models::FITTED.cold_kv * tables.gpu.l2 && bytes / tables.gpu.bandwidth > waves_s
    };
    let on_rank = |of: AttentionShape| (of.q_heads / of.tp, (of.kv_heads / of.tp).max(1));
    Matched {
        cold: rows.iter().copied().filter(is_cold).collect(),
        rows,
        exact: on_rank(shape) == on_rank(asked) && shape.head_dim == asked.head_dim,
    }
}

/// The two values in the middle, which are one if the number of values is odd.
fn middle(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    [values[(values.len() - 1) / 2], values[values.len() / 2]]
}

/// Calls `check` with every model of every set.
fn every_model(mut check: impl FnMut(&Tables, &Sharded, &RooflineModel)) {
    for tables in tables::all() {
        for (sharded, model) in &models::all_on(tables.compiled, models::FITTED) {
            check(tables, sharded, model);
        }
    }
}

#[test]
fn time_is_affine_in_the_kv_cache_and_below_the_bandwidth() {
    every_model(|tables, sharded, model| {
        let at = |each| layer_s(sharded, model, 64, each);
        let slope = |from: u32, to: u32| (at(to) - at(from)) / (64.0 * f64::from(to - from));
        let s_per_token = slope(1_000, 2_000);
        let again = slope(5_000, 90_000);
        assert!(apart(again, s_per_token) < 1e-9, "{sharded:?}");
        // Measured kernels reach between half of the bandwidth and all of it.
        let bytes = kv_bytes(sharded.attention_shape(sharded.kv_dtype));
        let share = bytes / s_per_token / tables.gpu.bandwidth;
        assert!((0.4..=1.0 + 1e-9).contains(&share), "{sharded:?}: {share}");
    });
}

#[test]
fn short_contexts_take_the_waves_of_their_thread_blocks() {
    // The row of 256 requests of 128 tokens takes 88 us: the KV entries in memory 46 us, the blocks 56 us.
    let tables = tables::h100();
    let sharded = steps::named("llama-3.1-8b", 1);
    let model = models::llama(models::FITTED);
    let floor_s = tables.floor("decode", &tables.decode);
    let waves_s = 256.0 * 8.0 / tables.gpu.sms * tables.wave("decode");
    let at = |each| layer_s(&sharded, &model, 256, each);
    assert!(apart(at(1), floor_s + waves_s) < 1e-6);
    assert!(apart(at(128), at(1)) < 1e-9);
    assert!(at(256) > 1.2 * at(128));
}

#[test]
fn cold_rows_of_the_matched_grid_are_met_in_the_median() {
    let mut compared = 0;
    every_model(|tables, sharded, model| {
        let Matched { cold, exact, .. } = matched(tables, sharded);
        if !exact || cold.is_empty() {
            return;
        }
        compared += 1;
        let ratio = |row: &Row<_>| layer_s(sharded, model, row.amount, row.length) / row.us * 1e6;
        let [lower, upper] = middle(cold.into_iter().map(ratio).collect());
        let about = format!("{} {sharded:?}: {lower} {upper}", tables.compiled.name());
        assert!(lower < 1.01 && upper > 0.99, "{about}");
    });
    assert!(compared > 50, "{compared}");
}

#[test]
fn the_share_assumed_without_rows_is_what_those_of_h100_reach() {
    let tables = tables::h100();
    let floor_us = tables.floor("decode", &tables.decode) * 1e6;
    let shares = tables.decode.iter().filter_map(|row| {
        let tokens = f64::from(row.amount) * f64::from(row.length);
        let bytes = tokens * kv_bytes(row.shape);
        let cold = bytes > models::FITTED.cold_kv * tables.gpu.l2;
        cold.then(|| bytes / (row.us - floor_us) * 1e6 / tables.gpu.bandwidth)
    });
    let [_, reached] = middle(shares.collect());
    let assumed = tables::cold_read_share();
    assert!((reached - assumed).abs() < 0.02, "{reached} {assumed}");
}

#[test]
fn the_smallest_call_takes_as_long_as_the_shortest_row() {
    every_model(|tables, sharded, model| {
        let rows = tables.decode.iter().map(|row| row.us * 1e-6);
        let shortest = rows.fold(f64::INFINITY, f64::min);
        let floor = layer_s(sharded, model, 1, 1);
        let about = format!("{} {sharded:?}: {floor} {shortest}", tables.compiled.name());
        assert!((1.0..1.2).contains(&(floor / shortest)), "{about}");
    });
}

#[test]
fn own_heads_are_smoothed_and_others_transferred_within_the_measured_lengths() {
    every_model(|tables, sharded, model| {
        let Matched { rows, cold, exact, .. } = matched(tables, sharded);
        let expected = match (exact, cold.is_empty()) {
            (_, true) => Class::Bound,
            (true, false) => Class::Smoothed,
            (false, false) => Class::Transferred,
        };
        let [fewest, shortest] =
            rows.iter().fold([u32::MAX; 2], |[amount, length], row| [amount.min(row.amount), length.min(row.length)]);
        let inside = provenance(model, fewest, shortest);
        assert_eq!(inside, expected.inside(), "{sharded:?}");
        for (requests, each) in [(fewest, shortest - 1), (fewest, 4_000_000)] {
            let outside = provenance(model, requests, each);
            assert_eq!(outside, expected.outside(), "{sharded:?}");
        }
    });
}

#[test]
fn the_kv_cache_of_a_step_is_cold() {
    // A benchmark that repeats one kernel finds a KV cache of the size of the L2 cache in L2.
    let sharded = steps::named("llama-3.1-8b", 1);
    let set = tables::h100();
    let shape = sharded.attention_shape(sharded.kv_dtype);
    let hot = DecodeAttention::resolve(set.compiled, shape).unwrap();
    let (requests, each) = (8, 1_024);
    let hot = hot.at(requests, u64::from(requests * each)).time.0;
    let cold = layer_s(&sharded, &models::llama(models::FITTED), requests, each);
    assert!(cold > 1.2 * hot, "{cold} {hot}");
}
