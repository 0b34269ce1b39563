//! Every part of a step but decode attention against the naive oracle, which follows the documentation.

use crate::support::models;
use crate::support::oracle::ExpectedSteps;
use crate::support::random::Random;
use crate::support::steps::{self, Batch, Sharded};
use crate::support::tables::{self, Tables};
use crate::support::tolerances::STORED_LN_F32;
use rooflut::engine::{StepConstants, stacks};
use rooflut::hardware::Dtype;
use rooflut::model::LayerGroup;
use rooflut::step::{Part, RooflineModel, StepModel};
use rooflut::table::Provenance;

/// Compares `turns` random steps of `models` on the kernels of `tables`.
fn compare(tables: &Tables, constants: &StepConstants, models: &[(Sharded, RooflineModel)], turns: usize) {
    let mut random = Random(5);
    let mut expected = ExpectedSteps::of(tables, *constants);
    // Rows in blocks form no full rectangle of (k, n) with one axis of m, which the oracle requires.
    let in_blocks = |sharded: &Sharded| {
        let mut dtypes = sharded.spec.layers.iter().flat_map(LayerGroup::dtypes);
        dtypes.any(|dtype| dtype == Dtype::Fp8Block)
    };
    let others = models.iter().filter(|(sharded, _)| !in_blocks(sharded)).cycle();
    for (sharded, model) in others.take(turns) {
        let batch = Batch::random(&mut random);
        let time = model.step_time(&batch.as_step());
        let kernels = expected.parts(sharded, &batch);
        let about = format!("{} {sharded:?} {batch:?}", tables.compiled.name());
        for part in Part::ALL.into_iter().filter(|part| *part != Part::DecodeAttention) {
            let of_part = || kernels.iter().filter(|kernel| kernel.part == part);
            let seconds: f64 = of_part().map(|kernel| kernel.seconds).sum();
            let found = time.part(part).0;
            let close = (found - seconds).abs() <= STORED_LN_F32 * seconds;
            assert!(close, "{about}: {part}: {found} for {seconds}");
            let found = time.parts().find(|found| found.part == part);
            let provenances = of_part().filter_map(|kernel| kernel.provenance);
            assert_eq!(
                found.and_then(|found| found.source.provenance()),
                provenances.reduce(Provenance::worst),
                "{about}: {part}"
            );
            let fitted_s: f64 = of_part().map(|kernel| kernel.fitted_s).sum();
            let found = found.map_or(0.0, |found| found.time.0 * found.source.fitted_share());
            let close = (found - fitted_s).abs() <= STORED_LN_F32 * seconds;
            assert!(close, "{about}: {part}: {found} for {fitted_s} fitted");
        }
        let decode =
            time.parts().find(|found| found.part == Part::DecodeAttention).and_then(|found| found.source.provenance());
        let looked_up = kernels.iter().filter_map(|kernel| kernel.provenance);
        let worst = looked_up.chain(decode).reduce(Provenance::worst);
        assert_eq!(time.provenance(), worst, "{about}");
    }
}

#[test]
fn every_part_of_a_step_is_its_kernel_times_the_layers() {
    for stack in stacks::ALL {
        let models = models::all(stack.constants);
        compare(tables::h100(), &stack.constants, &models, 2_000);
    }
}

#[test]
fn constants_of_any_size_act_as_documented() {
    let all = steps::all();
    let mut random = Random(8);
    for _ in 0..20 {
        let mut constants = StepConstants::NONE;
        for time in [
            &mut constants.layer,
            &mut constants.logit,
            &mut constants.sort,
            &mut constants.sorted_logit,
            &mut constants.penalty,
            &mut constants.all_reduce_wait,
            &mut constants.prompt_layer,
            &mut constants.prompt_moe_layer,
            &mut constants.prompt_state_layer,
            &mut constants.uncaptured_state_layer,
            &mut constants.uncaptured_layer,
            &mut constants.host_request,
            &mut constants.fused_all_reduce,
            &mut constants.moe_layer,
            &mut constants.host,
        ] {
            // From a tenth of a nanosecond to a millisecond.
            time.0 = 1e-10 * f64::from(random.log(10_000_000));
        }
        constants.all_reduce_growth = 1.0 + random.unit();
        constants.sustained_math = 1.0 - 0.99 * random.unit();
        constants.blackwell_sustained_math = 1.0 - 0.99 * random.unit();
        constants.sustained_reads = 1.0 - 0.99 * random.unit();
        constants.routed_padding = random.unit();
        constants.routing = 1.5 * random.unit();
        constants.small_kernel_bandwidth = 1.0 - 0.99 * random.unit();
        constants.expert_bandwidth = 1.0 - 0.99 * random.unit();
        constants.fp8_block_expert_bandwidth = 1.0 - 0.99 * random.unit();
        constants.fp8_block_unreached_experts = random.unit();
        constants.cuda_graph_max_tokens = random.between(0, 1_024) as u32;
        constants.shared_expert_tokens = random.between(0, 1_024) as u32;
        constants.smoothed_rows = random.between(0, 1_024) as u32;
        constants.smoothing_width = 0.1 + 3.0 * random.unit();
        constants.cold_kv = 10.0 * random.unit();
        let models: Vec<_> = (0..10)
            .map(|_| *random.pick(&all))
            .map(|sharded| {
                let set = tables::h100().compiled;
                (sharded, models::on(set, &sharded, constants))
            })
            .collect();
        compare(tables::h100(), &constants, &models, 50);
    }
}

#[test]
fn every_set_agrees_with_the_oracle() {
    let mut stepped = Vec::new();
    for tables in tables::all() {
        let models = models::all_on(tables.compiled, models::FITTED);
        if !models.is_empty() {
            stepped.push(tables.compiled.name());
            compare(tables, &models::FITTED, &models, 400);
        }
    }
    let expected: Vec<&str> = tables::all().iter().map(|set| set.compiled.name()).collect();
    assert_eq!(stepped, expected);
}
