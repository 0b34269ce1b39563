//! Command lines of `vllm serve` are read as vLLM reads them, and a command that is written is read as the same server.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use rooflut::engine::{self, EngineStack};
use rooflut::model;
use rooflut_scenario::{Engine, Error, Scenario, ScenarioFile, VllmServe};
use serde_json::{Map, Value};

fn read_for(line: &str, stack: &EngineStack) -> Result<VllmServe, Error> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    VllmServe::read(&words, stack)
}

fn read(line: &str) -> Result<VllmServe, Error> {
    read_for(line, &engine::DEFAULT)
}

/// The keys that are given, with their values.
fn keys(scenario: &Scenario) -> Map<String, Value> {
    let tables = [serde_json::to_value(&scenario.target), serde_json::to_value(&scenario.server)];
    let tables = tables.into_iter().filter_map(|table| table.unwrap().as_object().cloned());
    tables.flatten().filter(|(_, value)| !value.is_null()).collect()
}

#[test]
fn flags_set_keys_in_all_forms() {
    for (line, expected) in [
        ("m -tp 4 -pp=2 -dp 2 -ep", r#"{"model":"m","tp":4,"pp":2,"dp":2,"expert_parallel":true}"#),
        ("--model m --tensor_parallel_size=4", r#"{"model":"m","tp":4}"#),
        ("--max-num-batched-tokens 8k --max-model-len 32K", r#"{"max_num_batched_tokens":8000,"max_model_len":32768}"#),
        ("--max-num-batched-tokens=2.5k", r#"{"max_num_batched_tokens":2500}"#),
        ("--gpu-memory-util 0.8 --block-size 32", r#"{"gpu_memory_utilization":0.8,"block_size":32}"#),
        ("--no-enable-prefix-caching --no-async-scheduling", r#"{"prefix_caching":"off","scheduling":"sync"}"#),
        ("--enable-prefix-caching --async-scheduling", r#"{"prefix_caching":"on","scheduling":"async"}"#),
        ("-q fp8 --kv-cache-dtype fp8_e4m3", r#"{"dtype":"fp8","kv_dtype":"fp8"}"#),
        ("--kv-cache-dtype auto --dtype half --quantization None", "{}"),
        ("--scheduling-policy priority --watermark 0.01", r#"{"policy":"priority","watermark":0.01}"#),
        ("--long-prefill-token-threshold 0 --num-gpu-blocks-override 9", r#"{"kv_blocks":9}"#),
        ("--no-scheduler-reserve-full-isl", r#"{"scheduler_reserve_full_isl":false}"#),
        ("--generation-config vllm", r#"{"sampler":"plain"}"#),
        ("-sc.method mtp -sc.num_speculative_tokens 2", r#"{"draft_model":"mtp","draft_tokens":2}"#),
        (
            r#"--speculative-config {"method":"deepseek_mtp","num_speculative_tokens":1}"#,
            r#"{"draft_model":"mtp","draft_tokens":1}"#,
        ),
        (
            r#"--speculative-config {"model":"q","num_speculative_tokens":3,"prompt_lookup_max":4}"#,
            r#"{"draft_model":"q","draft_tokens":3}"#,
        ),
        ("--spec-method ngram --spec-tokens 5", r#"{"draft_model":"ngram","draft_tokens":5}"#),
        ("-tp 8 --nnodes 2", r#"{"tp":8,"gpus_per_node":4}"#),
        ("-dp 16 -dpl 8", r#"{"dp":16,"gpus_per_node":8}"#),
        ("--no-enable-lora --cpu-offload-gb 0 -O3 --compilation-config {} --no-enforce-eager", "{}"),
        ("--served-model-name a b --seed -1 --max-num-seqs 3 --max-num-seqs 4", r#"{"max_num_seqs":4}"#),
    ] {
        let expected: Map<String, Value> = serde_json::from_str(expected).unwrap();
        assert_eq!(keys(&read(line).unwrap().scenario), expected, "{line}");
    }
}

#[test]
fn flags_without_an_effect_are_listed_once() {
    let serve = read("--port 1 --host a --port=2 --trust-remote-code --no-enable-log-requests").unwrap();
    assert_eq!(serve.without_effect, ["--host", "--port", "--trust-remote-code", "--no-enable-log-requests"]);
}

#[test]
fn flags_are_those_of_the_version() {
    let (old, new) = (engine::find("vllm-0.11.0").unwrap(), engine::find("vllm-0.33.0").unwrap());
    assert!(read_for("--swap-space 4", old).is_ok() && read_for("--swap-space 4", new).is_err());
    assert!(read_for("--disable-prefix-caching", old).is_err());
    assert_eq!(keys(&read_for("--disable-prefix-caching", new).unwrap().scenario)["prefix_caching"], "off");
    let error = read_for("--watermark 0.1", old).unwrap_err().to_string();
    assert!(error.contains("a flag of vLLM 0.24.0 and later, not of vllm-0.11.0"), "{error}");
}

/// Each has the values of a key, none among them.
const GRID: [&[&str]; 7] = [
    &["", "model = 'deepseek-v3'\n", "model = 'Qwen/Qwen3-32B'\n", "model = 'dir/config.json'\n"],
    &["", "tp = 8\n", "tp = 4\npp = 2\n", "dp = 2\nexpert_parallel = true\n"],
    &["", "kv_dtype = 'fp8'\nsampler = 'plain'\n", "kv_dtype = 'bf16'\nengine = 'vllm-0.33.0'\n"],
    &["[server]\n"],
    &[
        "",
        "max_num_seqs = 7\nmax_num_batched_tokens = 2048\nmax_model_len = 4096\n",
        "kv_blocks = 500\nblock_size = 32\n",
    ],
    &["", "prefix_caching = 'off'\nscheduling = 'sync'\nscheduler_reserve_full_isl = false\n", "policy = 'fcfs'\n"],
    &[
        "",
        "draft_tokens = 2\ndraft_model = 'mtp'\n",
        "draft_tokens = 3\ndraft_model = 'ngram'\nwatermark = 0.05\n",
        "draft_tokens = 4\ndraft_model = 'meta-llama/Llama-3.2-1B-Instruct'\ngpu_memory_utilization = 0.85\n",
    ],
];

/// All texts with one value of each key.
fn combinations() -> Vec<String> {
    GRID.iter().fold(vec![String::new()], |texts, values| {
        let with = |text: &String| values.iter().map(|value| text.clone() + value).collect::<Vec<_>>();
        texts.iter().flat_map(with).collect()
    })
}

#[test]
fn a_command_is_read_as_the_server_that_it_is_written_for() {
    let texts = combinations();
    assert!(texts.len() > 1000);
    for text in texts {
        let file = ScenarioFile::read(text.as_bytes()).unwrap();
        let stack = Engine::find(file.scenario().target.engine()).unwrap().stack;
        let command = file.scenario().vllm_command(stack);
        let words: Vec<String> =
            command.words().unwrap().iter().map(|word| word.trim_matches('\'').to_owned()).collect();
        assert_eq!(words[..2], ["vllm", "serve"]);
        let mut read = VllmServe::read(&words[2..], stack).unwrap().scenario;
        let mut expected = file.scenario().clone();
        expected.target.engine = None;
        // The model has another name.
        let name = expected.target.model().trim_end_matches("/config.json").to_owned();
        let (served, asked) = (read.target.model.take().unwrap(), expected.target.model.take());
        assert!(served == name || model::find(&served) == model::find(&name), "{served} {asked:?}");
        assert_eq!(keys(&read), keys(&expected), "{text}\n{words:?}");
    }
}

#[test]
fn each_model_has_an_id_that_vllm_loads() {
    for entry in model::CATALOG {
        let mut scenario = Scenario::default();
        scenario.target.model = Some(entry.name.to_owned());
        let command = scenario.vllm_command(&engine::DEFAULT);
        let served = &command.words().unwrap()[2];
        assert!(served.contains('/') && model::find(served) == Some(entry), "{}: {served}", entry.name);
    }
}

#[test]
fn settings_without_a_flag_have_no_command() {
    for (text, expected) in [
        ("dtype = 'nvfp4'", "dtype = nvfp4: vLLM needs a checkpoint with such weights"),
        ("[server]\nmax_waiting = 5", "max_waiting = 5: vLLM has no flag for it"),
        ("[server]\npolicy = 'shortest-prompt'", "policy = shortest-prompt: vLLM has no such value"),
        ("[server]\nprefill_replicas = 1\ndecode_replicas = 1", "prefill_replicas = 1: vLLM has no flag for it"),
        ("engine = 'vllm-0.11.0'\n[server]\nwatermark = 0.1", "watermark = 0.1: vLLM has no flag for it"),
    ] {
        let file = ScenarioFile::read(text.as_bytes()).unwrap();
        let stack = Engine::find(file.scenario().target.engine()).unwrap().stack;
        let command = file.scenario().vllm_command(stack);
        assert_eq!(command.words().unwrap_err().to_string(), expected);
        assert_eq!(serde_json::to_value(&command).unwrap(), Value::Null);
    }
}
