//! Physical limits that hold for every step of every model.

use crate::support::made_up::{
    TOO_FAST, TOO_FAST_IN_CACHE, TOO_FAST_TWICE_BANDWIDTH, TOO_FAST_TWICE_LINK, TOO_FAST_TWICE_PEAK,
};
use crate::support::models::{self, FITTED, heads};
use crate::support::random::Random;
use crate::support::steps::{self, Batch, Sharded};
use crate::support::tolerances::ROUNDING;
use crate::support::{apart, tables};
use rooflut::engine::StepConstants;
use rooflut::hardware::Dtype;
use rooflut::model::CATALOG;
use rooflut::step::Binding;
use rooflut::step::{Chunk, DecodeGroup, Part, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{TableSet, sets};

#[test]
fn every_model_of_the_catalogue_can_be_stepped_at_some_tp() {
    for entry in CATALOG {
        let options = StepOptions::default();
        let on = |tp| models::try_new(&entry.spec, &sets::H100, tp, options).is_ok();
        assert!([1, 2, 4, 8].into_iter().any(on), "{}", entry.name);
    }
    assert!(steps::all().len() > 2 * CATALOG.len());
}

#[test]
fn no_step_of_100_000_is_faster_than_compute_memory_or_link() {
    let tables = tables::h100();
    // Without the time that the engine adds, the bounds are tighter.
    let constants = StepConstants::NONE;
    models::random_steps(constants, 0x0057_3950, 100_000, |_, sharded, model, batch| {
        let time = model.step_time(&batch.as_step());
        let total = time.total().0;
        let [compute, memory, link] = sharded.floors(tables, &batch);
        let about = format_args!("{sharded:?} {batch:?}: {time:?}");
        assert!(total.is_finite() && total > 0.0, "{about}");
        for floor in [compute, memory, link] {
            assert!(total >= floor * (1.0 - ROUNDING), "{about}: {floor}");
        }
        let parts: f64 = time.parts().map(|part| part.time.0).sum();
        assert!(apart(parts, total) < ROUNDING, "{about}: {parts}");
        for part in time.parts() {
            assert!(part.time.0.is_finite() && part.time.0 > 0.0, "{sharded:?} {part:?}");
        }
        assert!(time.part(Part::AllReduce).0 >= link * (1.0 - ROUNDING));
        assert_eq!(time.part(Part::AllReduce).0 > 0.0, sharded.tp > 1);
    });
}

/// Models that the made-up kernels can run: weights and KV entries in 16 bits.
fn on_made_up_kernels() -> Vec<Sharded> {
    let mut all = steps::all();
    all.retain(|sharded| sharded.kv_dtype == Dtype::Bf16);
    for sharded in &mut all {
        sharded.spec = sharded.spec.with_weight_dtype(Dtype::Bf16);
    }
    all
}

fn without_engine(set: &'static TableSet, sharded: &Sharded) -> RooflineModel {
    models::on(set, sharded, StepConstants::NONE)
}

#[test]
fn tables_that_beat_physics_are_held_to_the_bound_part_by_part() {
    let mut random = Random(6);
    for sharded in on_made_up_kernels() {
        let model = without_engine(&TOO_FAST, &sharded);
        let in_cache = without_engine(&TOO_FAST_IN_CACHE, &sharded);
        for _ in 0..20 {
            let batch = Batch::random(&mut random);
            let time = model.step_time(&batch.as_step());
            for (part, bound) in sharded.part_bounds(tables::h100(), &batch) {
                let found = time.part(part).0;
                // The bytes of context are added to the time of the tables.
                let held = apart(found, bound) < ROUNDING || part == Part::PrefillAttention && found > bound;
                assert!(held, "{sharded:?} {batch:?}: {part}: {found} of {bound}");
                // No row gives the rate of memory reads: a share of the data sheet's.
                let found = in_cache.step_time(&batch.as_step()).part(part).0;
                let ratio = found / time.part(part).0;
                let expected = match part {
                    Part::DecodeAttention => 1.0 / tables::cold_read_share(),
                    _ => 1.0,
                };
                assert!(apart(ratio, expected) < ROUNDING);
            }
        }
    }
}

#[test]
fn twice_the_bandwidth_peak_or_link_halves_what_it_binds_and_slows_nothing() {
    let mut random = Random(7);
    let [mut halved, mut kept] = [0; 2];
    for sharded in on_made_up_kernels() {
        let model = without_engine(&TOO_FAST, &sharded);
        let twice = [&TOO_FAST_TWICE_BANDWIDTH, &TOO_FAST_TWICE_PEAK, &TOO_FAST_TWICE_LINK]
            .map(|set| without_engine(set, &sharded));
        for _ in 0..20 {
            let batch = Batch::random(&mut random);
            let before = model.step_time(&batch.as_step());
            let after = twice.each_ref().map(|model| model.step_time(&batch.as_step()));
            for part in before.parts() {
                let shares = after.map(|time| time.part(part.part).0 / part.time.0);
                for share in shares {
                    let possible = 0.5 - ROUNDING..=1.0 + ROUNDING;
                    assert!(possible.contains(&share), "{sharded:?} {batch:?}: {part:?}");
                }
                // Only one of the three binds. The time may not halve, because the second longest may then
                // bind.
                let faster = shares.iter().filter(|&&share| share < 1.0 - ROUNDING);
                let expected = if part.part == Part::PrefillAttention { 2 } else { 1 };
                assert!((1..=expected).contains(&faster.count()), "{part:?}: {shares:?}");
                let fastest = shares.into_iter().fold(1.0, f64::min);
                if apart(fastest, 0.5) < ROUNDING {
                    halved += 1;
                } else {
                    kept += 1;
                }
            }
        }
    }
    assert!(halved > kept && kept > 0, "{halved} {kept}");
}

#[test]
fn steps_at_the_end_of_the_integers_are_finite() {
    let whole = [Chunk::prompt(u32::MAX).unwrap(); 3];
    let late = [Chunk::partial(1, u32::MAX).unwrap(); 3];
    let most = DecodeGroup::from_sum(u32::MAX, u64::MAX).unwrap();
    let most = [most, most, most.with_drafted(u32::MAX).unwrap()];
    let fewest = [DecodeGroup::from_sum(500, 500).unwrap()];
    for (sharded, model) in models::all(FITTED) {
        for decode in [&most[..], &most[..1], &fewest[..], &[][..]] {
            for prefill in [&whole[..], &whole[..1], &late[..], &[][..]] {
                let batch = StepBatch { prefill, decode };
                let total = model.step_time(&batch).total().0;
                assert!(total.is_finite(), "{sharded:?}: {total}");
                assert_eq!(total > 0.0, !batch.is_empty(), "{sharded:?}: {total}");
            }
        }
    }
}

#[test]
fn decode_attention_of_many_query_heads_on_one_kv_head_takes_the_peak() {
    // 1,024 FLOPs a byte: no GPU reads memory so slowly.
    let mut sharded = steps::named("llama-3.1-8b", 1);
    heads(&mut sharded.spec).q_heads = 1_024;
    heads(&mut sharded.spec).kv_heads = 1;
    let model = without_engine(&sets::H100, &sharded);
    let batch = Batch::decoding(64, 4_096);
    let time = model.step_time(&batch.as_step());
    let attention = time.parts().find(|part| part.part == Part::DecodeAttention).unwrap();
    let bounds = sharded.part_bounds(tables::h100(), &batch);
    let bound = bounds.iter().find(|bound| bound.0 == attention.part).unwrap();
    assert!(apart(attention.time.0, bound.1) < ROUNDING, "{attention:?} {bound:?}");
    assert_eq!(attention.binding, Binding::Compute);
}
