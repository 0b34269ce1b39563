//! Steps of ranks that hold whole experts.

use crate::support::models;
use rooflut::model::ModelSpec;
use rooflut::step::{
    Chunk, DecodeGroup, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions, StepTime,
};
use rooflut::table::sets;

fn step(spec: &ModelSpec, parallelism: Parallelism, batch: &StepBatch<'_>) -> StepTime {
    let model = RooflineModel::try_new(spec, &sets::H100, parallelism, StepOptions::default());
    model.unwrap().step_time(batch)
}

#[test]
fn whole_experts_change_the_time_of_experts_alone() {
    let decode = [DecodeGroup::uniform(16, 1_000).unwrap()];
    let batch = StepBatch { prefill: &[], decode: &decode };
    for name in ["mixtral-8x7b", "qwen3-30b-a3b", "llama-4-scout"] {
        let spec = models::spec(name);
        let sliced = Parallelism::tensor(4);
        let whole = sliced.with_expert_parallel(true);
        let [slices, whole] = [sliced, whole].map(|ranks| step(&spec, ranks, &batch));
        for part in slices.parts().filter(|part| part.part != Part::Moe) {
            assert_eq!(whole.part(part.part), part.time, "{name}: {}", part.part);
        }
        // With few tokens, one rank has more of the experts that they reach than the others.
        let ratio = whole.part(Part::Moe).0 / slices.part(Part::Moe).0;
        assert!((1.001..1.8).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn whole_experts_of_one_rank_are_all_experts() {
    let prefill = [Chunk::prompt(700).unwrap()];
    let batch = StepBatch { prefill: &prefill, decode: &[] };
    let spec = models::spec("qwen3-30b-a3b");
    let whole = Parallelism::SINGLE.with_expert_parallel(true);
    let [single, whole] = [Parallelism::SINGLE, whole].map(|ranks| step(&spec, ranks, &batch));
    assert_eq!(single.total(), whole.total());
}

#[test]
fn ranks_that_cannot_share_the_experts_are_refused() {
    let refused = |spec: &ModelSpec, tp| {
        let ranks = Parallelism::tensor(tp).with_expert_parallel(true);
        RooflineModel::try_new(spec, &sets::H100, ranks, StepOptions::default()).unwrap_err().to_string()
    };
    let dense = models::spec("llama-3.1-8b");
    assert_eq!(refused(&dense, 4), "model: expert_parallel: expected a model with experts, found none; leave it out");
    let mut six = models::spec("mixtral-8x7b");
    six.layers[0].ffn = models::moe(6, 2, 14_336, 0);
    assert_eq!(refused(&six, 4), "model: experts: expected a multiple of tp (4), found 6");
    // Experts that no two ranks could slice can be dealt out.
    let mut odd = models::spec("mixtral-8x7b");
    odd.layers[0].ffn = models::moe(8, 2, 14_337, 0);
    assert!(odd.check_parallelism(2).is_err());
    let whole = Parallelism::tensor(2).with_expert_parallel(true);
    assert_eq!(odd.check_parallelism(whole), Ok(()));
}
