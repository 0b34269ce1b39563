//! Values survive a round trip, and deserialization checks values like constructors do.
#![cfg(all(feature = "serde", feature = "sim", feature = "h100"))]

use std::fmt::Debug;

use rooflut::Deployment;
use rooflut::deployment::ServerOptions;
use rooflut::engine::stacks;
use rooflut::hardware::{AttentionShape, Dtype, GemmShape, Gpu, WindowShape, gpus};
use rooflut::model::{CATALOG, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::sim::cluster::Router;
use rooflut::sim::{Content, PrefixCaching, Request, SchedulingPolicy, SimConfig, SimReport, Simulator, Speculation};
use rooflut::step::{
    Binding, Chunk, DecodeGroup, LatencyModel, Parallelism, Part, StepBatch, StepModel, StepOptions, StepTime,
};
use rooflut::table::{Class, Provenance, Strictness, sets};
use rooflut::units::Seconds;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = json(value);
    let read: T = serde_json::from_str(&text).expect(&text);
    assert_eq!(&read, value, "{text}");
}

#[test]
fn serialized_values_are_read_back() {
    for entry in CATALOG {
        round_trip(&entry.spec);
        let limits = MemoryLimits::default().with_kv_dtype(Dtype::Fp8);
        if let Ok(plan) = MemoryPlan::try_new(&entry.spec, &gpus::H200, 1, limits) {
            round_trip(&plan);
        }
        round_trip(&limits);
    }
    let request = Request::new(512, 128).at_ns(7).with_priority(2);
    let (prefix, prefix_tokens, own) = (u64::MAX, 30, 4);
    let texts = Content::Texts { prefix, prefix_tokens, own };
    round_trip(&request);
    round_trip(&request.with_content(texts));
    round_trip(&Chunk::last(512, 1_536).ok());
    let group = DecodeGroup::uniform(64, 1_000).and_then(|group| group.with_drafted(3));
    round_trip(&group.ok());
    round_trip(&stacks::VLLM_0_15_1.constants);
    round_trip(&Parallelism::tensor(4));
    round_trip(&StepOptions::default().with_strictness(Strictness::at_worst(Class::Smoothed).inside()));
    for gpu in gpus::ALL {
        round_trip(&gpu);
    }
    for class in Class::ALL {
        round_trip(&[class.inside(), class.outside()]);
        round_trip(&Strictness::at_worst(class));
    }
    let (k, n) = (4096, 6144);
    round_trip(&GemmShape { dtype: Dtype::Fp8Block, k, n });
    let head = ModelSpec::builder().hidden(k).layers(1).q_heads(32).kv_heads(8).head_dim(128).intermediate(14_336);
    round_trip(
        &head.target_hidden(k).aux_states(3).draft_vocab(32_000).vocab(128_256).max_model_len(2_048).build().ok(),
    );
    let (dtype, kv_dtype) = (Dtype::Bf16, Dtype::Fp8);
    let (q_heads, kv_heads, head_dim, tp) = (32, 8, 128, 2);
    round_trip(&AttentionShape { dtype, kv_dtype, q_heads, kv_heads, head_dim, tp });
    let window = 1_024;
    round_trip(&WindowShape { dtype, kv_dtype, q_heads, kv_heads, head_dim, window });
    for acceptance in [0.0, 0.3, 0.7, 1.0] {
        let speculation = Speculation::try_new(4, acceptance, 9).unwrap();
        round_trip(&speculation);
        round_trip(&speculation.with_draft_model());
        let config = SimConfig::new(8_192, 27_000).with_engine(&stacks::VLLM_0_11_0);
        round_trip(&config.with_max_waiting(9).with_policy(SchedulingPolicy::Priority).with_speculation(speculation));
        round_trip(&config.with_long_prefill_token_threshold(512).with_patience_ns(30_000_000_000));
    }
}

#[test]
fn names_equal_those_of_the_command_line() {
    let written = (Dtype::Fp8Block, Router::LeastOutstandingTokens);
    let text = json(&written);
    assert_eq!(text, r#"["fp8_block","least-tokens"]"#);
    for part in Part::ALL {
        round_trip(&part);
        assert_eq!(part.to_string().parse(), Ok(part));
    }
    for binding in Binding::ALL {
        round_trip(&binding);
        assert_eq!(binding.to_string().parse(), Ok(binding));
    }
    for router in Router::ALL {
        assert_eq!(router.to_string().parse(), Ok(router));
    }
}

#[test]
fn step_times_are_read_back_to_the_bit() {
    let mixtral = rooflut::model::find("mixtral-8x7b").unwrap();
    let deployment = Deployment::builder(mixtral.spec, &sets::H100).tp(2).build().unwrap();
    let (chunk, group) = (Chunk::prompt(1_000), DecodeGroup::uniform(8, 500));
    let batch = StepBatch { prefill: &[chunk.unwrap()], decode: &[group.unwrap()] };
    let time = deployment.step_model().step_time(&batch);
    round_trip(&time);
    let mut twice = time;
    twice.add_all(&time);
    round_trip(&twice);
    round_trip(&StepTime::ZERO);
    let text = json(&time);
    let source = r#""source":{"provenance":"#;
    assert!(text.contains(&format!(r#"{source}"interpolated""#)) && text.contains(&format!("{source}null")), "{text}");
}

#[test]
fn a_time_that_is_not_the_sum_of_its_parts_is_refused() {
    let host = r#"{"part":"host","time":0.5,"binding":"latency","source":{"provenance":null,"fitted_share":1.0},"errors":"other any any any"}"#;
    let read = |total: f64, parts: &str| {
        let errors = r#""bound":0.25,"lookup_error_share":0.4,"model_error":0.02"#;
        format!(r#"{{"total":{total},"parts":[{parts}],{errors}}}"#)
    };
    assert!(serde_json::from_str::<StepTime>(&read(0.5, host)).is_ok());
    let unsure = &host.replace("null", "\"bound,outside\"").replace("1.0", "1.5");
    for (total, parts, expected) in [
        (0.6, host, "total: expected the sum of the parts, 0.5 s, found 0.6 s"),
        (1.0, &[host, host].join(","), "host: expected each part once"),
        (-0.5, &host.replace("0.5", "-0.5"), "host: expected seconds of at least 0"),
        (0.5, &host.replace("1.0", "0.5"), "fitted_share: expected 1 without a provenance"),
        (0.5, unsure, "fitted_share: expected a number from 0 to 1"),
        (0.5, &host.replace("any any any", "gemm"), "expected a group of bench_data/errors.csv"),
    ] {
        refused::<StepTime>(&read(total, parts), expected);
    }
    for (good, bad, expected) in [
        ("0.25", "0.75", "bound: expected 0 to 0.5 s, found 0.75"),
        ("0.4", "-1", "lookup_error_share: expected a number of at least 0"),
        ("0.02", "-0.1", "model_error: expected a number of at least 0"),
    ] {
        refused::<StepTime>(&read(0.5, host).replace(good, bad), expected);
    }
}

/// A model whose steps all take a millisecond.
struct Millisecond;

impl LatencyModel for Millisecond {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds(1e-3)
    }
}

#[test]
fn a_report_is_read_back_to_the_bit() {
    // The last request is rejected.
    let requests = [Request::new(100, 20), Request::new(40, 7).at_ns(900), Request::new(0, 1)];
    let simulator = Simulator::try_new(Millisecond, SimConfig::new(1_000, 100)).unwrap();
    let report: SimReport = simulator.run(&requests).unwrap();
    assert_eq!((report.summary.completed, report.summary.rejected), (2, 1));
    round_trip(&report);
}

#[test]
fn a_request_may_omit_fields_with_a_default() {
    let text = r#"{"prompt_tokens": 512, "output_tokens": 128}"#;
    assert_eq!(serde_json::from_str::<Request>(text).ok(), Some(Request::new(512, 128)));
}

fn refused<T: DeserializeOwned + Debug>(text: &str, expected: &str) {
    match serde_json::from_str::<T>(text) {
        Ok(read) => panic!("{text}: {read:?}"),
        Err(error) => assert!(error.to_string().starts_with(expected), "{error}"),
    }
}

#[test]
fn deserialization_rejects_what_constructors_reject() {
    refused::<Chunk>(r#"{"new": 9, "kv_len": 8, "last": true}"#, "kv_len: expected at least 9");
    refused::<DecodeGroup>(r#"{"requests": 64, "kv_tokens": 0, "drafted": 0}"#, "kv_tokens: expected at least 64");
    refused::<Speculation>(
        r#"{"draft_tokens": 4, "acceptance": 1.5, "seed": 0}"#,
        "acceptance: expected a share from 0 to 1, found 1.5",
    );
    refused::<Speculation>(
        r#"{"draft_tokens": 4, "acceptance": 0.5, "seed": 0, "draft_model": true, "mtp": true}"#,
        "speculation: expected a draft model or an MTP layer, found both",
    );
    refused::<Dtype>(
        "\"int8\"",
        "expected one of bf16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4, found \"int8\"",
    );
    refused::<Request>(r#"{"prompt_tokens": 5, "output": 3}"#, "unknown field `output`");
    refused::<Strictness>("\"good\"", "expected one of measured, interpolated");
    refused::<Provenance>("\"inside\"", "expected one of measured, interpolated");
    let gpu = json(&gpus::H100).replace("\"sms\":132", "\"sms\":0");
    refused::<Gpu>(&gpu, "GPU: sms: expected a positive number, found 0");
    let spec = json(&CATALOG[0].spec).replace("\"layers\":32", "\"layers\":0");
    refused::<ModelSpec>(&spec, "layers: expected a positive number, found 0");
    let config = json(&SimConfig::new(64, 4)).replace("\"kv_blocks\":4", "\"kv_blocks\":0");
    refused::<SimConfig>(&config, "kv_blocks: expected at least 1, found 0");
}

#[test]
fn a_model_of_one_group_may_be_written_without_a_list() {
    let dense = r#"{"hidden":4096,"layers":32,"q_heads":32,"kv_heads":8,"head_dim":128,"vocab":128256,
        "ffn":{"Dense":{"intermediate":14336}},"weight_dtype":"bf16","tied_embeddings":false,
        "max_model_len":131072,"sampler":"top-p"}"#;
    let read = |text: &str| serde_json::from_str::<ModelSpec>(text);
    let llama = rooflut::model::find("llama-3.1-8b").unwrap().spec;
    assert_eq!(read(dense).ok(), Some(llama));
    let experts = r#"{"Moe":{"experts":8,"top_k":2,"intermediate":64,"shared_intermediate":0,"expert_dtype":"fp8"}}"#;
    let moe = dense.replace(r#"{"Dense":{"intermediate":14336}}"#, experts);
    let group = *read(&moe).unwrap().layers.first();
    assert_eq!((group.attention_dtype, group.ffn_dtype), (Dtype::Bf16, Dtype::Fp8));
    refused::<ModelSpec>(&dense.replace("\"q_heads\":32,", ""), "missing field `q_heads`");
    let list = dense.replace("\"layers\":32", "\"layers\":[]");
    refused::<ModelSpec>(&list, "invalid length 0, expected a number of layers or a list");
    let groups = json(&llama.layers);
    let both = dense.replace("\"layers\":32", &format!("\"layers\":{groups}"));
    refused::<ModelSpec>(&both, "layers: expected all dimensions of layers in their groups");
}

#[test]
fn settings_of_a_server_are_read_as_they_are_written() {
    let given = r#"{"max_num_seqs":64,"prefix_caching":"off","policy":"priority"}"#;
    let read: ServerOptions = serde_json::from_str(given).unwrap();
    let llama = rooflut::model::find("llama-3.1-70b").unwrap().spec;
    let on_h100 = Deployment::builder(llama, &sets::H100).tp(4);
    let deployment = on_h100.clone().server(read).build().unwrap();
    let config = deployment.server_config().unwrap();
    assert_eq!((config.max_num_seqs, config.prefix_caching), (64, PrefixCaching::Disabled));
    // The defaults that are filled in are those that are taken.
    let filled = deployment.server_options(&config);
    let filled: ServerOptions = serde_json::from_str(&json(&filled)).unwrap();
    assert_eq!(filled.max_num_batched_tokens, Some(8_192));
    let again = on_h100.server(filled).build().unwrap();
    assert_eq!(again.server_config().unwrap(), config);
    assert_eq!(again.cuda_graph_max_tokens(), deployment.cuda_graph_max_tokens());
    refused::<ServerOptions>(r#"{"max_seqs":64}"#, "unknown field `max_seqs`");
    refused::<ServerOptions>(r#"{"policy":"lifo"}"#, "expected one of fcfs, shortest-prompt, priority");
}
