//! Decode attention of a step, held against measured rows and the data sheet: affine in the KV cache, as fast as the rows
//! that read theirs from memory.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

use rooflut::op::DecodeAttention;
use rooflut::step::{ModelError, Part, RooflineModel, StepModel};
use rooflut::table::{Class, Extent, Provenance};

use crate::support::models;
use crate::support::oracle::weight_bytes;
use crate::support::steps::{self, Batch, Sharded};
use crate::support::tables::{self, AttentionRow, Tables};

/// Seconds of decode attention in a layer.
fn layer_s(sharded: &Sharded, model: &RooflineModel, requests: u32, each: u32) -> f64 {
    let time = model.step_time(&Batch::decoding(requests, each).as_step());
    time.part(Part::DecodeAttention).0 / f64::from(sharded.spec.layers)
}

/// Source of decode attention.
fn provenance(model: &RooflineModel, requests: u32, each: u32) -> Provenance {
    let time = model.step_time(&Batch::decoding(requests, each).as_step());
    let part = time
        .parts()
        .find(|part| part.part == Part::DecodeAttention)
        .unwrap();
    part.source.provenance().unwrap()
}

/// Bytes of a request's KV entries per token, in a layer on one rank.
fn kv_bytes(sharded: &Sharded) -> f64 {
    let heads = (sharded.spec.kv_heads / sharded.tp).max(1);
    2.0 * f64::from(heads * sharded.spec.head_dim) * weight_bytes(sharded.kv_dtype)
}

/// The measured rows of the model's own heads on one rank.
fn own_rows<'t>(tables: &'t Tables, sharded: &Sharded) -> Vec<&'t AttentionRow> {
    let spec = &sharded.spec;
    let rows = tables.decode.iter().filter(|row| {
        row.kv_dtype == sharded.kv_dtype
            && row.head_dim == spec.head_dim
            && row.q_heads / row.tp == spec.q_heads / sharded.tp
            && (row.kv_heads / row.tp).max(1) == (spec.kv_heads / sharded.tp).max(1)
    });
    rows.collect()
}

/// Calls `check` with every model of every set.
fn every_model(mut check: impl FnMut(&Tables, &Sharded, &RooflineModel)) {
    for tables in tables::all() {
        for sharded in steps::all() {
            match models::try_on(tables.compiled, &sharded, models::DEFAULT) {
                Ok(model) => check(tables, &sharded, &model),
                // Not every set has every format and operation.
                Err(ModelError::Kernel { .. }) => {}
                Err(error) => panic!("{sharded:?}: {error}"),
            }
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
        assert!((again / s_per_token - 1.0).abs() < 1e-9, "{sharded:?}");
        // Measured kernels reach between half of the bandwidth and all of it.
        let share = kv_bytes(sharded) / s_per_token / tables.gpu.bandwidth;
        assert!((0.4..=1.0 + 1e-9).contains(&share), "{sharded:?}: {share}");
    });
}

#[test]
fn cold_rows_are_met_in_the_median() {
    let mut compared = 0;
    every_model(|tables, sharded, model| {
        let cold = own_rows(tables, sharded).into_iter().filter(|row| {
            let tokens = f64::from(row.batch) * f64::from(row.length);
            tokens * kv_bytes(sharded) > models::DEFAULT.cold_kv * tables.gpu.l2
        });
        let mut ratios: Vec<f64> = cold
            .map(|row| layer_s(sharded, model, row.batch, row.length) / (row.us * 1e-6))
            .collect();
        // A few rows show no median. One rank may have several grids, of which the model takes one.
        if ratios.len() < 10 {
            return;
        }
        compared += 1;
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        let about = format!("{} {sharded:?}: {median}", tables.compiled.name());
        assert!((0.9..=1.1).contains(&median), "{about}");
    });
    assert!(compared > 50, "{compared}");
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
        let rows = own_rows(tables, sharded);
        let best = match rows.is_empty() {
            true => Class::Transferred,
            false => Class::Smoothed,
        };
        let longest = rows.iter().map(|row| row.length).max().unwrap_or(1_024);
        let inside = provenance(model, 8, longest.min(1_024));
        let outside = provenance(model, 8, 4_000_000);
        assert_eq!(inside.extent, Extent::Inside, "{sharded:?}");
        assert_eq!(outside.extent, Extent::Outside, "{sharded:?}");
        assert!(inside.class >= best, "{sharded:?}: {inside}");
        assert_eq!(inside.class, outside.class, "{sharded:?}");
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
    let hot = hot
        .at(requests, u64::from(requests) * u64::from(each))
        .time
        .0;
    let time = models::llama(models::DEFAULT).step_time(&Batch::decoding(requests, each).as_step());
    let cold = time.part(Part::DecodeAttention).0 / f64::from(sharded.spec.layers);
    assert!(cold > 1.2 * hot, "{cold} {hot}");
}
