//! Results and errors of a deployment.

use rooflut::Deployment;
use rooflut::deployment::{DeploymentBuilder, ServedTally};
use rooflut::engine::{self, Scheduling, stacks};
use rooflut::hardware::Dtype;
use rooflut::model::{self, MemoryLimits, MemoryPlan, ModelSpec, Sampler};
use rooflut::sim::{SimConfig, Speculation};
use rooflut::step::{DecodeGroup, LatencyModel, Network, StepBatch, StepModel};
use rooflut::step::{Parallelism, RooflineModel, StepOptions};
use rooflut::table::sets;
use rooflut::units::Seconds;
use rooflut::{Error, ErrorKind};

fn spec(name: &str) -> ModelSpec {
    model::find(name).expect("in the catalogue").spec
}

fn on_h100(name: &str) -> DeploymentBuilder {
    Deployment::builder(spec(name), &sets::H100)
}

fn refused(deployment: DeploymentBuilder) -> String {
    deployment.build().expect_err("refused").to_string()
}

#[test]
fn step_model_memory_and_limits_equal_parts_assembled_by_hand() {
    let llama = spec("llama-3.1-70b").with_weight_dtype(Dtype::Fp8);
    let engine = &stacks::VLLM_0_11_0;
    let deployment = on_h100("llama-3.1-70b")
        .weight_dtype(Dtype::Fp8)
        .tp(4)
        .kv_dtype(Dtype::Fp8)
        .engine(engine)
        .gpu_memory_utilization(0.8)
        .max_num_batched_tokens(4_096)
        .max_num_seqs(256)
        .block_size(32)
        .max_model_len(8_192)
        .build()
        .unwrap();

    let mut options = StepOptions::for_engine(engine);
    options.kv_dtype = Dtype::Fp8;
    let by_hand = RooflineModel::try_new(&llama, &sets::H100, Parallelism::tensor(4), options).unwrap();
    let batch = StepBatch { prefill: &[], decode: &[DecodeGroup::uniform(100, 2_000).unwrap()] };
    assert_eq!(deployment.step_model().step_time(&batch), by_hand.step_time(&batch));

    let mut limits = engine.memory_limits(MemoryLimits::default());
    limits.max_num_seqs = 256;
    limits.gpu_memory_utilization = 0.8;
    limits.max_num_batched_tokens = 4_096;
    limits.block_size = 32;
    limits.kv_dtype = Dtype::Fp8;
    limits.cuda_graph_max_tokens = deployment.cuda_graph_max_tokens();
    let plan = MemoryPlan::try_new(&llama, sets::H100.gpu(), 4, limits).unwrap();
    assert_eq!(deployment.memory_plan().unwrap(), plan);

    let mut config = SimConfig::new(8_192, plan.kv_blocks).with_engine(engine);
    config.kv_groups = plan.groups;
    config.max_num_seqs = 256;
    config.max_num_batched_tokens = 4_096;
    config.block_size = 32;
    assert_eq!(deployment.server_config().unwrap(), config);
}

#[test]
fn model_and_tables_alone_give_a_server_of_the_default_engine() {
    let config = server(on_h100("llama-3.1-8b"));
    assert_eq!(engine::DEFAULT.name, "vllm-0.25.0");
    assert_eq!(config.api_server_ns, engine::DEFAULT.api_server.to_nanos());
    assert_eq!(config.rules.scheduling, Scheduling::OneStepAhead);
    assert_eq!((config.max_num_seqs, config.max_num_batched_tokens), (1_024, 8_192));
    assert_eq!(config.max_model_len, 131_072);
}

fn server(builder: DeploymentBuilder) -> SimConfig {
    builder.build().unwrap().server_config().unwrap()
}

/// Sequences, tokens, share of the memory and largest graph of `vllm serve`, from its source.
#[test]
fn limits_that_are_not_given_are_those_of_the_engine_on_the_gpu() {
    let large = [1_024, 8_192, 512];
    let small = [256, 2_048, 512];
    for (engine, share, h100, b200) in [
        (&stacks::VLLM_0_11_0, 0.9, large, large),
        (&stacks::VLLM_0_12_0, 0.9, large, large),
        (&stacks::VLLM_UNKNOWN, 0.9, large, large),
        (&stacks::VLLM_0_15_1, 0.9, large, large),
        (&stacks::VLLM_0_17_0, 0.9, large, large),
        (&stacks::VLLM_0_18_0, 0.9, large, large),
        (&stacks::VLLM_0_20_1, 0.92, large, large),
        (&stacks::VLLM_0_21_0, 0.92, large, large),
        (&stacks::VLLM_0_22_0, 0.92, large, large),
        (&stacks::VLLM_0_24_0, 0.92, large, large),
        (&stacks::VLLM_0_25_0, 0.92, large, large),
        (&stacks::VLLM_0_33_0, 0.92, large, [1_024, 16_384, 1_024]),
    ] {
        for (set, expected) in
            [(&sets::H100, h100), (&sets::H200, h100), (&sets::A100, small), (&sets::L40S, small), (&sets::B200, b200)]
        {
            let builder = Deployment::builder(spec("llama-3.1-8b"), set).engine(engine);
            let deployment = builder.build().unwrap();
            let limits = deployment.memory_limits();
            assert_eq!(limits.gpu_memory_utilization, share, "{}", engine.name);
            let config = deployment.server_config().unwrap();
            assert_eq!(config.max_num_batched_tokens, limits.max_num_batched_tokens);
            let graph = engine.defaults.on(set.gpu()).cuda_graph_max_tokens;
            let found = [config.max_num_seqs, config.max_num_batched_tokens, graph];
            assert_eq!(found, expected, "{} on {}", engine.name, set.name());
        }
    }
}

#[test]
fn given_limits_win_and_those_that_follow_are_cut_as_by_vllm() {
    let of = |builder: DeploymentBuilder| {
        let config = server(builder);
        (config.max_num_seqs, config.max_num_batched_tokens)
    };
    let h100 = || on_h100("llama-3.1-8b");
    assert_eq!(of(h100().max_num_seqs(128)), (128, 8_192));
    assert_eq!(of(h100().max_num_batched_tokens(512)), (512, 512));
    // No more than two requests of 1,000 tokens, but for vLLM 0.11.
    let short = || h100().max_num_seqs(2).max_model_len(1_000);
    assert_eq!(of(short()), (2, 2_000));
    assert_eq!(of(short().engine(&stacks::VLLM_0_11_0)), (2, 8_192));
    let given = h100().max_num_seqs(64).max_num_batched_tokens(64);
    assert_eq!(of(given), (64, 64));
    // Drafts of all sequences fit into a step.
    let speculation = Speculation::try_new(9, 0.5, 0).unwrap();
    assert_eq!(of(h100().speculation(speculation)), (819, 8_192));
    // A change of the engine or of the tables changes what is not given.
    let built = h100().gpu_memory_utilization(0.8).build().unwrap();
    let other = built.to_builder().tables(&sets::A100);
    assert_eq!(of(other.clone()), (256, 2_048));
    let other = other.engine(&stacks::VLLM_0_33_0).build().unwrap();
    assert_eq!(other.memory_limits().gpu_memory_utilization, 0.8);
}

/// A step of more tokens than the largest graph is not padded, and waits longer for the host.
#[test]
fn the_largest_graph_follows_from_the_sequences() {
    let step = |builder: DeploymentBuilder, requests| {
        let decode = [DecodeGroup::uniform(requests, 1_000).unwrap()];
        let batch = StepBatch { prefill: &[], decode: &decode };
        builder.build().unwrap().step_model().total_time(&batch)
    };
    let h100 = || on_h100("llama-3.1-8b");
    let alone = |tokens| h100().cuda_graph_max_tokens(tokens);
    assert_eq!(step(h100(), 500), step(alone(512), 500));
    assert_ne!(step(h100(), 500), step(alone(256), 500));
    assert_eq!(step(h100().max_num_seqs(100), 197), step(alone(200), 197));
    assert_ne!(step(h100().max_num_seqs(100), 197), step(alone(192), 197));
    let mut engine = engine::DEFAULT;
    engine.constants.cuda_graph_max_tokens = 0;
    assert_eq!(step(h100().engine(&engine), 197), step(alone(0), 197));
}

#[test]
fn a_draft_model_takes_memory_limits_requests_and_makes_schedules_synchronous() {
    let speculation = Speculation::try_new(3, 0.5, 0).unwrap();
    let mut short = spec("llama-3.2-1b");
    short.max_model_len = 4_096;
    let alone = on_h100("llama-3.1-8b").build().unwrap();
    let drafted = on_h100("llama-3.1-8b").speculation(speculation).draft_model(short).build().unwrap();
    assert!(drafted.memory_plan().unwrap().kv_blocks < alone.memory_plan().unwrap().kv_blocks);
    let config = drafted.server_config().unwrap();
    assert_eq!((config.max_model_len, config.rules.scheduling), (4_096, Scheduling::Synchronous));
    assert!(drafted.draft_step_model().is_some() && alone.draft_step_model().is_none());
}

fn drafting(name: &str, drafted: u32) -> DeploymentBuilder {
    let speculation = Speculation::try_new(drafted, 0.5, 0).unwrap();
    let builder = Deployment::builder(spec(name), &sets::H200).tp(8);
    builder.speculation(speculation).mtp()
}

#[test]
fn an_mtp_layer_takes_weights_and_keys_of_one_more_layer() {
    let v3 = spec("deepseek-v3");
    let drafted = drafting("deepseek-v3", 1).build().unwrap();
    let plan = drafted.memory_plan().unwrap();
    let alone = drafted.to_builder().draft_model(None).speculation(None).build().unwrap();
    assert!(drafted.has_mtp() && !alone.has_mtp());
    let before = alone.memory_plan().unwrap();
    assert_eq!(plan.bytes_per_block / before.bytes_per_block, 62.0 / 61.0);
    // Experts, shared expert and most of the attention a byte each over eight GPUs, 2 x 7,168 x 7,168 of 16 bits on each.
    let layer = v3.mtp_layer().unwrap();
    let routed = 3.0 * 7_168.0 * 2_048.0 * 257.0;
    let attention = layer.layers[0].attention_params(7_168) as f64;
    let projection = 2.0 * 2.0 * 7_168.0 * 7_168.0;
    let more = plan.weight_bytes - before.weight_bytes;
    assert!(more > (routed + attention) / 8.0 + projection);
    assert!(more < routed / 8.0 + attention + projection);
    // Published: 671 billion weights without the layer, 11.5 billion of it beside 2.1 of embedding and lm_head.
    let params = layer.layers[0].ffn_params(7_168) as f64 + attention + projection / 2.0;
    assert!((params / 1e9 - 11.6).abs() < 0.1, "{params}");

    // Its full attention is a layer of the groups with the fewest: 13 and 36, of which a draft has a state more.
    let next = drafting("qwen3-next-80b-a3b", 2).build().unwrap();
    let groups = next.server_config().unwrap().kv_groups;
    assert_eq!((groups.layers, groups.full, groups.states), (13, 1, 9));
}

#[test]
fn an_mtp_layer_drafts_ahead_where_heads_do_and_drops_the_last_block_of_a_hit() {
    for (engine, scheduling, drops) in [
        (&stacks::VLLM_0_11_0, Scheduling::Synchronous, true),
        (&stacks::VLLM_0_15_1, Scheduling::OneStepAhead, true),
        (&stacks::VLLM_0_33_0, Scheduling::OneStepAhead, false),
    ] {
        let drafted = drafting("deepseek-v3", 3).engine(engine).build().unwrap();
        let config = drafted.server_config().unwrap();
        let rules = config.rules;
        assert_eq!((rules.scheduling, rules.mtp_drops_block), (scheduling, drops));
        let speculation = config.speculation.unwrap();
        assert!(speculation.is_mtp() && speculation.lookahead_tokens() == 3);
    }
    // A draft model replaces it.
    let draft = drafting("qwen3.5-27b", 3).draft_model(spec("qwen3.5-27b"));
    let config = draft.build().unwrap().server_config().unwrap();
    assert!(!config.speculation.unwrap().is_mtp());
}

/// An EAGLE-3 head for a model of this hidden size and vocabulary.
fn eagle3(target_hidden: u32, vocab: u32) -> ModelSpec {
    let head = ModelSpec::builder().hidden(4096).layers(1).q_heads(32).kv_heads(8).head_dim(128).intermediate(14_336);
    let head = head.target_hidden(target_hidden).aux_states(3).draft_vocab(32_000);
    head.vocab(vocab).max_model_len(2_048).build().unwrap()
}

#[test]
fn an_eagle3_head_is_scheduled_as_an_mtp_layer_and_has_the_positions_of_its_target() {
    let speculation = Speculation::try_new(3, 0.5, 0).unwrap();
    let alone = on_h100("llama-3.1-8b").tp(2).build().unwrap();
    let drafted = alone.to_builder().speculation(speculation).draft_model(eagle3(4096, 128_256));
    for (engine, scheduling) in [
        (&stacks::VLLM_0_11_0, Scheduling::Synchronous),
        (&stacks::VLLM_0_15_1, Scheduling::OneStepAhead),
        (&stacks::VLLM_0_33_0, Scheduling::OneStepAhead),
    ] {
        let config = drafted.clone().engine(engine).build().unwrap().server_config().unwrap();
        let speculation = config.speculation.unwrap();
        assert_eq!((config.rules.scheduling, config.max_model_len), (scheduling, 131_072));
        assert!(speculation.is_mtp() && speculation.lookahead_tokens() == 3);
    }
    let drafted = drafted.build().unwrap();
    assert!(!drafted.has_mtp() && drafted.draft().is_some());
    let [before, plan] = [&alone, &drafted].map(|deployment| deployment.memory_plan().unwrap());
    assert_eq!(plan.bytes_per_block / before.bytes_per_block, 33.0 / 32.0);

    // The served model adds the first run, which has fc, and two further ones.
    let decode = [DecodeGroup::uniform(8, 1_000).unwrap().with_drafted(3).unwrap()];
    let batch = StepBatch { prefill: &[], decode: &decode };
    let (first, further) = (drafted.first_draft_step_model().unwrap(), drafted.draft_step_model().unwrap());
    let further = |kv_tokens| {
        let decode = [DecodeGroup::from_sum(8, kv_tokens).unwrap()];
        further.total_time(&StepBatch { prefill: &[], decode: &decode })
    };
    let drafts = first.total_time(&batch) + further(8_008) + further(8_016);
    let expected = drafted.step_model().total_time(&batch) + drafts;
    let model = drafted.served_model();
    let found = model.total_time(&batch);
    assert!((found.0 / expected.0 - 1.0).abs() < 1e-12, "{found:?} {expected:?}");
    let tally = ServedTally::new(&model);
    assert_eq!(tally.total_time(&batch), found);
    let tallied = tally.draft_sources().unwrap().total();
    assert!((tallied.0 / drafts.0 - 1.0).abs() < 1e-9, "{tallied:?} {drafts:?}");
}

#[test]
fn an_eagle3_head_of_another_model_or_as_model_is_refused() {
    let drafted = |head| {
        let drafts = Speculation::try_new(1, 0.5, 0).unwrap();
        refused(on_h100("llama-3.1-8b").speculation(drafts).draft_model(head))
    };
    assert_eq!(
        drafted(eagle3(5120, 128_256)),
        "draft_model: expected a head for hidden states of the target (4096), found 5120; use a head of this model"
    );
    let other = drafted(eagle3(4096, 151_936));
    assert!(other.starts_with("draft_model: expected the vocabulary of the target (128256), found 151936"), "{other}");
    let as_model = refused(Deployment::builder(eagle3(4096, 128_256), &sets::H100));
    assert!(as_model.starts_with("model: expected a model, found an EAGLE-3 head"), "{as_model}");
}

#[test]
fn an_mtp_layer_that_is_not_there_or_has_windows_is_refused() {
    assert_eq!(
        refused(drafting("kimi-k2", 1)),
        "model: mtp_layers: expected a model with layers for multi-token prediction, found none; use a draft model"
    );
    let mut windows = spec("gpt-oss-20b");
    windows.mtp_layers = 1;
    let drafts = Speculation::try_new(1, 0.5, 0).unwrap();
    let builder = Deployment::builder(windows, &sets::H200).mtp();
    let message = refused(builder.clone().speculation(drafts));
    assert!(message.contains("found windows, chunks or several kinds"), "{message}");
    let message = refused(builder);
    assert!(message.contains("set the speculation"), "{message}");
}

#[test]
fn drafts_are_sampled_greedily() {
    let time = |sampler| {
        let drafted = on_h100("llama-3.1-8b")
            .speculation(Speculation::try_new(3, 0.5, 0).unwrap())
            .draft_model(spec("llama-3.2-1b").with_sampler(sampler));
        let decode = [DecodeGroup::uniform(8, 1_000).unwrap()];
        let batch = StepBatch { prefill: &[], decode: &decode };
        let drafted = drafted.build().unwrap();
        drafted.draft_step_model().unwrap().total_time(&batch)
    };
    assert_eq!(time(Sampler::TopP), time(Sampler::Plain));
}

#[test]
fn contradictions_are_rejected_with_found_and_allowed_values() {
    let speculation = Speculation::try_new(3, 0.5, 0).unwrap();
    let drafted = |draft| on_h100("llama-3.1-8b").speculation(speculation).draft_model(spec(draft));
    let four_bit = spec("llama-3.2-1b").with_weight_dtype(Dtype::Nvfp4);
    let cases = [
        (drafted("qwen3-0.6b"), "draft_model: expected the vocabulary of the target (128256), found 151936"),
        (
            drafted("llama-3.2-1b").max_model_len(200_000),
            "max_model_len: expected at most 131072, the longest request of the draft model, found 200000",
        ),
        (
            drafted("llama-3.2-1b").engine(&stacks::VLLM_0_11_0).scheduling(Scheduling::OneStepAhead),
            "scheduling: expected sync with speculative decoding, found async, which this engine does not support",
        ),
        (
            on_h100("llama-3.1-8b").draft_model(spec("llama-3.2-1b")),
            "draft model or MTP layer: expected the number of drafted tokens",
        ),
        (
            on_h100("llama-3.1-8b").max_num_seqs(128).max_num_batched_tokens(64),
            "max_num_batched_tokens: expected at least max_num_seqs (128), found 64",
        ),
        (
            on_h100("llama-3.1-8b").max_num_seqs(8_193),
            "max_num_batched_tokens: expected at least max_num_seqs (8193), found 8192",
        ),
        (
            on_h100("llama-3.1-8b").gpu_memory_utilization(1.5),
            "gpu_memory_utilization: expected a number above 0 and at most 1, found 1.5",
        ),
        (on_h100("llama-3.1-8b").kv_blocks(0), "kv_blocks: expected at least 1, found 0"),
        (on_h100("llama-3.1-8b").max_model_len(0), "max_model_len: expected at least 1, found 0"),
        (
            on_h100("llama-3.1-8b").tp(16).network(Network::CX7.with_gpus_per_node(16)),
            "expected at most 8 ranks, found 16",
        ),
        (
            on_h100("llama-3.1-8b").speculation(speculation).draft_model(four_bit),
            "draft model: qkv: GPU h100: no peak for nvfp4",
        ),
        (
            on_h100("llama-3.1-8b").pp(2).speculation(speculation).draft_model(spec("llama-3.2-1b")),
            "draft model or MTP layer: expected none with 2 pipeline stages, found one",
        ),
        (on_h100("llama-3.1-8b").tp(3), "model: q_heads"),
        (on_h100("llama-3.1-8b").tp(0), "model: tp"),
        (on_h100("llama-3.1-8b").weight_dtype(Dtype::Nvfp4), "GPU h100: no peak for nvfp4"),
    ];
    for (deployment, expected) in cases {
        let message = refused(deployment);
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
    }
}

#[test]
fn an_impossible_api_server_time_is_rejected() {
    for seconds in [-1e-3, f64::NAN, f64::INFINITY] {
        let mut engine = stacks::VLLM_0_15_1;
        engine.api_server = Seconds(seconds);
        let message = refused(on_h100("llama-3.1-8b").engine(&engine));
        let expected = "engine constant api_server: expected seconds of at least 0, found";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_model_that_does_not_fit_has_step_times_and_no_server() {
    let deployment = on_h100("llama-3.1-70b").build().unwrap();
    let batch = StepBatch { prefill: &[], decode: &[DecodeGroup::uniform(1, 1_000).unwrap()] };
    assert!(deployment.step_model().step_time(&batch).total().ms() > 20.0);
    let needed = |block_size| {
        let refused = on_h100("llama-3.1-70b").block_size(block_size).build().unwrap().server_config().unwrap_err();
        match *refused.kind() {
            ErrorKind::DoesNotFit { needed_bytes, .. } => needed_bytes,
            _ => panic!("{refused}"),
        }
    };
    // A KV block is needed, too: 16 tokens more are keys and values of 8 heads of 128 elements in 80 layers.
    assert_eq!(needed(32) - needed(16), 16.0 * f64::from(2 * 80 * 8 * 128 * 2));
    assert!(deployment.memory_plan_at(4).unwrap().kv_blocks > 10_000);
    // A given number of blocks is not checked against the memory.
    let given = on_h100("llama-3.1-70b").kv_blocks(100).build().unwrap();
    assert_eq!(given.server_config().unwrap().kv_blocks, 100);
}

#[test]
fn a_request_fits_into_the_kv_cache_as_vllm_asks() {
    let large = || {
        on_h100("llama-3.1-70b")
            .weight_dtype(Dtype::Fp8)
            .kv_dtype(Dtype::Fp8)
            .max_num_seqs(128)
            .max_num_batched_tokens(2_048)
    };
    let longest = |deployment: DeploymentBuilder| {
        let config = deployment.build().unwrap().server_config();
        config.map(|config| config.max_model_len)
    };
    let held = 16 * large().build().unwrap().memory_plan().unwrap().kv_blocks;
    assert!((10_000..40_000).contains(&held));
    assert_eq!(longest(large()).unwrap(), held);
    assert_eq!(longest(large().max_model_len(held)).unwrap(), held);
    let found = held + 1;
    let refused = longest(large().max_model_len(found)).unwrap_err();
    let holds = |error: &Error| match *error.kind() {
        ErrorKind::ContextTooLong { longest, found } => (longest, found),
        _ => panic!("{error}"),
    };
    assert_eq!(holds(&refused), (held, found));
    // Elsewhere it is the model's.
    assert_eq!(longest(large().tp(4)).unwrap(), 131_072);
    // So it is with a given number of blocks.
    assert_eq!(longest(large().kv_blocks(100)).unwrap(), 1_600);
    let refused = longest(large().kv_blocks(100).max_model_len(1_601)).unwrap_err();
    assert_eq!(holds(&refused), (1_600, 1_601));
}

#[test]
fn a_cache_that_holds_no_request_is_refused() {
    // One block of full attention, and a state in each of three groups.
    let server = |kv_blocks| {
        let qwen = on_h100("qwen3-next-80b-a3b").tp(4);
        let deployment = qwen.kv_blocks(kv_blocks).build().unwrap();
        deployment.server_config().map(|config| config.max_model_len)
    };
    assert!(server(4).unwrap() > 0);
    let expected = "kv_blocks: expected at least 4, which a request of one token takes, found 3; raise it, or use a \
        larger tp";
    assert_eq!(server(3).unwrap_err().to_string(), expected);
}

#[test]
fn an_error_says_what_it_wraps_once() {
    let error = on_h100("llama-3.1-8b").tp(3).build().unwrap_err();
    assert!(std::error::Error::source(&error).is_none(), "{error}");
}
