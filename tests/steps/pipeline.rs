//! Steps of pipeline stages, and of ranks on several nodes.

use crate::support::models;
use rooflut::hardware::gpus;
use rooflut::model::{Attention, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::step::{
    Chunk, DecodeGroup, LatencyModel, Network, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions,
    StepTime, TabulatedModel, Tally,
};
use rooflut::table::{Class, Strictness, sets};
use rooflut::units::Seconds;
use rooflut::{Error, ErrorKind};

const NAME: &str = "llama-3.1-70b";
const HIDDEN: f64 = 8_192.0;

fn try_on(ranks: Parallelism, options: StepOptions) -> Result<RooflineModel, Error> {
    RooflineModel::try_new(&models::spec(NAME), &sets::H100, ranks, options)
}

fn on(ranks: Parallelism) -> RooflineModel {
    try_on(ranks, StepOptions::default()).unwrap()
}

/// A chunk of 512 tokens beside 64 requests.
fn with_mixed<R>(ask: impl FnOnce(&StepBatch<'_>) -> R) -> R {
    ask(&StepBatch { prefill: &[Chunk::prompt(512).unwrap()], decode: &[DecodeGroup::uniform(64, 1_000).unwrap()] })
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn stages_add_up_to_the_step_of_one_server_and_their_transfers() {
    let one = with_mixed(|batch| on(Parallelism::tensor(4)).step_time(batch));
    for pp in [2, 3, 7, 16] {
        let model = on(Parallelism::tensor(4).with_pp(pp));
        let step = with_mixed(|batch| model.step_time(batch));
        for part in one.parts() {
            near(step.part(part.part).0, part.time.0);
        }
        let sends = f64::from(pp - 1);
        assert!(step.part(Part::Transfer).0 > sends * 10e-6);
        near(step.total().0, one.total().0 + step.part(Part::Transfer).0);
    }
}

#[test]
fn the_first_stage_waits_for_the_host_and_the_last_one_samples() {
    let model = on(Parallelism::tensor(4).with_pp(3));
    let stages: Vec<StepTime> = with_mixed(|batch| model.stage_times(batch).collect());
    let has = |part: Part| stages.iter().map(|stage| stage.part(part) > Seconds::ZERO).collect::<Vec<_>>();
    assert_eq!(has(Part::Transfer), [true, true, false]);
    assert_eq!(has(Part::LmHead), [false, false, true]);
    assert_eq!(has(Part::Sampling), [false, false, true]);
    // 80 layers: 27, 27 and 26.
    let down = |stage: usize| stages[stage].part(Part::Down).0;
    near(down(0) / down(2), 27.0 / 26.0);
    near(down(1) / down(2), 27.0 / 26.0);
}

#[test]
fn a_stage_sends_hidden_states_and_residuals() {
    let transfer = |ranks, network| {
        let model = try_on(ranks, StepOptions::default().with_network(network)).unwrap();
        let decode = [DecodeGroup::uniform(64, 1_000).unwrap()];
        let batch = StepBatch { prefill: &[], decode: &decode };
        model.step_time(&batch).part(Part::Transfer).0
    };
    let bytes = 2.0 * 64.0 * HIDDEN * 2.0;
    let (link, latency) = (450e9, 10e-6);
    let half = Network::CX7.with_bytes_per_s(25e9);
    // Shares of four GPUs, which the next four gather.
    let four = Parallelism::tensor(4).with_pp(2);
    near(transfer(four, half), latency + bytes / 4.0 / link + 0.75 * bytes / link);
    let eight = Parallelism::tensor(8).with_pp(2);
    near(transfer(eight, half), latency + bytes / 8.0 / 25e9 + 0.875 * bytes / link);
    // Every other stage of four is on another node.
    let stages = Parallelism::tensor(4).with_pp(4);
    let within = bytes / 4.0 / link + 0.75 * bytes / link;
    let between = bytes / 4.0 / 25e9 + 0.75 * bytes / link;
    near(transfer(stages, half), 3.0 * latency + 2.0 * within + between);
}

#[test]
fn ranks_on_several_nodes_reduce_in_a_ring() {
    let network = Network::CX7.with_bytes_per_s(20e9).with_latency(Seconds::from_us(5.0));
    let options = StepOptions::default().with_network(network);
    let decode = [DecodeGroup::uniform(64, 1_000).unwrap()];
    let batch = StepBatch { prefill: &[], decode: &decode };
    let part = |tp| {
        let model = try_on(Parallelism::tensor(tp), options).unwrap();
        let step = model.step_time(&batch);
        let mut parts = step.parts();
        parts.find(|part| part.part == Part::AllReduce).unwrap()
    };
    for (tp, nodes) in [(16, 2.0), (32, 4.0)] {
        let ranks = f64::from(tp);
        let once = 2.0 * (nodes * 5e-6 + (1.0 - 1.0 / ranks) * 64.0 * HIDDEN * 2.0 / 20e9);
        near(part(tp).time.0, 160.0 * once);
        let provenance = part(tp).source.provenance();
        assert_eq!(provenance, Some(Class::Bound.outside()));
    }
    let provenance = part(8).source.provenance().unwrap();
    assert!(provenance.class < Class::Bound);
    // A node of 16 GPUs has no measured collective over them, and none is made up.
    let large = options.with_network(network.with_gpus_per_node(16));
    let refused = try_on(Parallelism::tensor(16), large).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Kernel { part: Part::AllReduce, .. }), "{refused}");
}

#[test]
fn data_parallel_ranks_on_several_nodes_exchange_in_a_ring() {
    let spec = models::spec("qwen3-30b-a3b");
    let ranks = Parallelism::SINGLE.with_dp(16).with_expert_parallel(true);
    let model = RooflineModel::try_new(&spec, &sets::H100, ranks, StepOptions::default()).unwrap();
    let decode = [DecodeGroup::uniform(8, 1_000).unwrap()];
    let step = model.step_time(&StepBatch { prefill: &[], decode: &decode });
    let all = 16.0 * 8.0 * 2.0 * (2_048.0 + 128.0 + 2_048.0);
    near(step.part(Part::Exchange).0, 48.0 * (2.0 * 20e-6 + 15.0 / 16.0 * all / 50e9));
}

#[test]
fn tabulated_stages_answer_as_the_model_to_the_bit_and_tallies_add_up() {
    let model = on(Parallelism::tensor(4).with_pp(3));
    // Within the limit, and beyond.
    for limit in [2_048, 100] {
        let tabulated = TabulatedModel::new(model.clone(), limit);
        with_mixed(|batch| {
            assert_eq!(tabulated.total_time(batch), model.step_time(batch).total());
            let times = |model: &dyn LatencyModel| {
                let mut times = Vec::new();
                model.pipeline_times(batch, &mut |stage| times.push(stage));
                times
            };
            let stages = times(&tabulated);
            assert_eq!(stages, times(&model));
            assert_eq!(stages.iter().copied().sum::<Seconds>(), model.total_time(batch));
            let tally = Tally::new(&tabulated);
            tally.add(batch);
            let sources = tally.sources();
            near(sources.total().0, model.total_time(batch).0);
        });
        let decode = DecodeGroup::uniform(64, 1_000).unwrap();
        assert_eq!(tabulated.decode_time(decode), model.decode_time(decode));
    }
}

#[test]
fn strictness_refuses_what_no_table_has() {
    let bound = |ranks, class| {
        let strict = Strictness::at_worst(class);
        try_on(ranks, StepOptions::default().with_strictness(strict)).err().map(|error| error.to_string())
    };
    let pipeline = Parallelism::tensor(4).with_pp(2);
    assert_eq!(bound(pipeline, Class::Bound), None);
    let refused = bound(pipeline, Class::Transferred).unwrap();
    assert!(refused.starts_with("transfer: table set h100: expected transferred or better, found bound"), "{refused}");
}

#[test]
fn networks_and_stages_out_of_range_are_refused() {
    let network = |network| {
        let options = StepOptions::default().with_network(network);
        try_on(Parallelism::SINGLE, options).unwrap_err().to_string()
    };
    let cx7 = Network::CX7;
    let refused = network(cx7.with_bytes_per_s(f64::NAN));
    assert_eq!(refused, "network: bytes_per_s: expected a positive number, found NaN; correct it");
    assert!(network(cx7.with_gpus_per_node(0)).contains("gpus_per_node"));
    assert!(network(cx7.with_latency(Seconds::ZERO)).contains("latency"));
    let stages = |ranks| try_on(ranks, StepOptions::default()).unwrap_err().to_string();
    let single = Parallelism::SINGLE;
    assert_eq!(stages(single.with_pp(81)), "model: pp: expected at most 64, found 81");
    assert_eq!(stages(single.with_pp(0)), "model: pp: expected a positive number, found 0");
    let both = stages(single.with_pp(2).with_dp(2));
    assert!(both.contains("pipelines of 2 data-parallel ranks are not modelled"), "{both}");
}

#[test]
fn the_stage_with_the_most_weights_bounds_the_kv_cache() {
    // One request: the last stage needs no more than the others for its logits.
    let limits = MemoryLimits::default().with_max_num_seqs(1);
    let plan = |spec: &ModelSpec, pp| {
        let ranks = Parallelism::tensor(4).with_pp(pp);
        let mut plan = MemoryPlan::try_new(spec, &gpus::H100, ranks, limits).unwrap();
        // Each stage has the rotary table.
        if let Attention::Gqa(heads) = spec.layers.first().attention {
            plan.weight_bytes -= 2.0 * f64::from(spec.max_model_len) * f64::from(heads.head_dim);
        }
        plan
    };
    let spec = models::spec(NAME);
    let [one, two] = [1, 2].map(|pp| plan(&spec, pp));
    // Half of the layers and one of two vocabulary matrices each.
    near(two.weight_bytes, one.weight_bytes / 2.0);
    near(two.bytes_per_block, one.bytes_per_block / 2.0);
    assert_eq!((one.stage, two.stage), (0, 0));
    assert!(two.kv_blocks > 2 * one.kv_blocks);
    // 27, 27 and 26 layers: the first stage has the embedding as well.
    let three = plan(&spec, 3);
    assert_eq!(three.stage, 0);
    near(three.bytes_per_block, one.bytes_per_block * 27.0 / 80.0);
    // The last stage of a model with tied embeddings has a copy.
    let tied = models::spec("llama-3.2-1b");
    let halves = plan(&tied, 2);
    let vocabulary = 2.0 * f64::from(tied.vocab) * f64::from(tied.hidden) / 4.0;
    near(halves.weight_bytes, (plan(&tied, 1).weight_bytes - vocabulary) / 2.0 + vocabulary);
    // Groups of a hybrid model have their share of layers in each stage.
    let hybrid = models::spec("gpt-oss-20b");
    let [whole, half] = [1, 2].map(|pp| plan(&hybrid, pp));
    assert_eq!(whole.groups, half.groups);
    near(half.bytes_per_block, whole.bytes_per_block / 2.0);
}
