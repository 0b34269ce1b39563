//! Steps of data-parallel ranks.

use crate::support::models;
use rooflut::ErrorKind;
use rooflut::ResolveError;
use rooflut::engine::stacks;
use rooflut::hardware::GatherShape;
use rooflut::model::ModelSpec;
use rooflut::op::Gather;
use rooflut::step::{
    Chunk, DecodeGroup, LatencyModel, Network, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions,
    StepTime, TabulatedModel,
};
use rooflut::table::sets;
use rooflut::units::Seconds;

const LAYERS: f64 = 48.0;

fn model(ranks: Parallelism) -> RooflineModel {
    let spec = models::spec("qwen3-30b-a3b");
    // Later engines route the padding of graphs.
    let options = StepOptions::for_engine(&stacks::VLLM_0_15_1);
    RooflineModel::try_new(&spec, &sets::H100, ranks, options).unwrap()
}

fn decodes(requests: u32) -> [DecodeGroup; 1] {
    [DecodeGroup::uniform(requests, 1_000).unwrap()]
}

fn of(decode: &[DecodeGroup]) -> StepBatch<'_> {
    let prefill = &[];
    StepBatch { prefill, decode }
}

fn step(ranks: Parallelism, requests: u32) -> StepTime {
    model(ranks).step_time(&of(&decodes(requests)))
}

fn lockstep(model: &impl LatencyModel, ranks: &[StepBatch<'_>]) -> Seconds {
    model.lockstep_time(&mut ranks.iter().copied())
}

#[test]
fn ranks_share_the_experts_and_nothing_else() {
    let single = Parallelism::SINGLE;
    for whole in [false, true] {
        let ranks = single.with_dp(4).with_expert_parallel(whole);
        let together = step(ranks, 24);
        // The experts are those of one server on as many GPUs with the tokens of all ranks.
        let server = step(Parallelism::tensor(4).with_expert_parallel(whole), 96);
        assert_eq!(together.part(Part::Moe), server.part(Part::Moe));
        for part in step(single, 24).parts().filter(|part| part.part != Part::Moe) {
            assert_eq!(together.part(part.part), part.time, "{}", part.part);
        }
        // Hidden states of 2,048 and router logits of 128 numbers, 16 bits each.
        let shape = GatherShape { ranks: 4 };
        let [gather, scatter] =
            [Gather::all_gather, Gather::reduce_scatter].map(|resolve| resolve(&sets::H100, shape).unwrap());
        let once = gather.at(96 * 2 * (2_048 + 128)).time + scatter.at(96 * 2 * 2_048).time;
        let error = together.part(Part::Exchange).0 / (once.0 * LAYERS) - 1.0;
        assert!(error.abs() < 1e-12, "{error}");
    }
}

#[test]
fn gpus_of_a_rank_with_whole_experts_exchange_its_tokens_in_place_of_an_all_reduce() {
    let ranks = Parallelism::tensor(2).with_dp(2);
    let [sliced, whole] = [false, true].map(|whole| step(ranks.with_expert_parallel(whole), 16));
    let single = step(Parallelism::tensor(2), 16);
    assert_eq!(sliced.part(Part::AllReduce), single.part(Part::AllReduce));
    let ratio = whole.part(Part::AllReduce).0 / sliced.part(Part::AllReduce).0;
    assert!((ratio - 0.5).abs() < 1e-12, "{ratio}");
    assert!(whole.part(Part::Exchange) > sliced.part(Part::Exchange));
}

#[test]
fn equal_ranks_take_as_long_as_the_step_of_one() {
    for ranks in [Parallelism::SINGLE.with_dp(8).with_expert_parallel(true), Parallelism::tensor(2).with_dp(2)] {
        let model = model(ranks);
        let prompt = [Chunk::prompt(700).unwrap()];
        for requests in [1, 5, 64, 600] {
            let decode = decodes(requests);
            for prefill in [&prompt[..0], &prompt] {
                let decode = &decode;
                let batch = StepBatch { prefill, decode };
                let together = lockstep(&model, &vec![batch; ranks.dp as usize]);
                let error = together.0 / model.total_time(&batch).0 - 1.0;
                assert!(error.abs() < 1e-12, "{requests} on {ranks:?}: {error}");
            }
        }
    }
}

#[test]
fn all_ranks_wait_for_the_slowest() {
    let model = model(Parallelism::SINGLE.with_dp(4).with_expert_parallel(true));
    let (few, some, many) = (decodes(4), decodes(60), decodes(64));
    let prompt = [Chunk::prompt(2_000).unwrap()];
    let prompt = StepBatch { prefill: &prompt, decode: &[] };
    let [idle, few, some, many] = [of(&[]), of(&few), of(&some), of(&many)];
    let time = |ranks: [StepBatch<'_>; 4]| lockstep(&model, &ranks);
    assert_eq!(time([idle; 4]), Seconds::ZERO);
    // A rank less is an exchange of the same size: graphs pad the idle rank. Experts have fewer tokens.
    assert!(time([many, idle, idle, idle]) < time([many; 4]));
    assert!(time([many, idle, idle, idle]) > time([many; 4]) * 0.7);
    assert!(time([many, some, few, idle]) > time([many, few, few, idle]));
    // The order does not matter.
    assert_eq!(time([many, some, few, idle]), time([idle, few, some, many]));
    // A prompt on one rank delays the others.
    assert!(time([prompt, few, few, few]) > time([few; 4]) * 2.0);
    assert!(time([prompt, few, few, few]) < time([prompt; 4]));
}

#[test]
fn tabulated_ranks_take_as_long_to_the_bit() {
    for ranks in [Parallelism::SINGLE.with_dp(4), Parallelism::SINGLE] {
        let exact = model(ranks);
        let tabulated = TabulatedModel::new(exact.clone(), 64);
        let (few, many) = (decodes(7), decodes(80));
        for batches in [[of(&few); 4], [of(&many), of(&few), of(&[]), of(&few)]] {
            assert_eq!(lockstep(&tabulated, &batches), lockstep(&exact, &batches));
            let [first, ..] = batches;
            assert_eq!(tabulated.total_time(&first), exact.total_time(&first));
        }
    }
}

#[test]
fn ranks_that_cannot_share_a_model_are_refused() {
    let refused = |spec: &ModelSpec, ranks| {
        let refused = RooflineModel::try_new(spec, &sets::H100, ranks, StepOptions::default());
        refused.unwrap_err().to_string()
    };
    let single = Parallelism::SINGLE;
    let experts = models::spec("qwen3-30b-a3b");
    let dense = models::spec("llama-3.1-8b");
    for (spec, ranks, message) in [
        (&experts, single.with_dp(0), "dp: expected a positive number, found 0"),
        (
            &dense,
            single.with_dp(2),
            "dp: expected 1, as ranks of a model without experts share nothing, found 2; use 2 replicas",
        ),
        (
            &experts,
            Parallelism::tensor(2).with_dp(3).with_expert_parallel(true),
            "experts: expected a multiple of tp x dp (6), found 128",
        ),
    ] {
        assert_eq!(refused(spec, ranks), format!("model: {message}"));
    }
    // No table of exchanges goes beyond 8 GPUs, and a node may.
    let many = single.with_dp(16).with_expert_parallel(true);
    let options = StepOptions::default().with_network(Network::CX7.with_gpus_per_node(16));
    let error = RooflineModel::try_new(&experts, &sets::H100, many, options);
    let error = error.unwrap_err();
    let ErrorKind::Kernel { part, error } = error.kind() else { panic!("{error}") };
    assert_eq!(*part, Part::Exchange);
    assert!(matches!(error, ResolveError::TooManyRanks { ranks: 16, most: 8, .. }));
}
