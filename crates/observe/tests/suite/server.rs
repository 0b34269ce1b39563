//! Logs, metrics and steps of servers.

use super::*;

const LOG: &str = "\
(APIServer pid=1) INFO 11-29 12:00:00 [api_server.py:1839] vLLM API server version 0.11.0\n\
(APIServer pid=1) INFO 11-29 12:00:00 [utils.py:233] non-default args: {'model_tag': 'meta-llama/Llama-3.1-8B-Instruct', \
'port': 8001, 'model': 'meta-llama/Llama-3.1-8B-Instruct', 'tensor_parallel_size': 2, 'max_num_seqs': 64, \
'enable_prefix_caching': False, 'enable_lora': True, 'served_model_name': ['llama, the small', 'b'], 'seed': None}\n\
(APIServer pid=1) INFO 11-29 12:00:01 [scheduler.py:205] Chunked prefill is enabled with max_num_batched_tokens=4096.\n\
\u{1b}[1;36m(EngineCore_DP0 pid=2)\u{1b}[0;0m INFO 11-29 12:00:02 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, \
kv_cache_dtype=auto, enable_prefix_caching=False, compilation_config={\"level\":3,\"cudagraph_capture_sizes\":[128,120,8,4,2,1],\
\"max_capture_size\":128}\n\
(Worker_TP0 pid=3) INFO 11-29 12:00:30 [gpu_model_runner.py:2653] Model loading took 7.5123 GiB and 12.000000 seconds\n\
(Worker_TP0 pid=3) INFO 11-29 12:00:40 [gpu_worker.py:298] Available KV cache memory: 60.50 GiB\n\
(EngineCore_DP0 pid=2) INFO 11-29 12:00:41 [kv_cache_utils.py:1087] GPU KV cache size: 991,232 tokens\n\
(Worker_TP0 pid=3) INFO 11-29 12:00:50 [gpu_model_runner.py:3480] Graph capturing finished in 9 secs, took 0.55 GiB\n";

#[test]
fn a_log_tells_the_deployment() {
    let measured = read_with("gpu = 'h100'\n", &[("server.log", LOG), ("a.json", &result().to_string())]).unwrap();
    let scenario = measured.scenario(0).unwrap();
    let (target, server) = (&scenario.target, &scenario.server);
    assert_eq!(target.model.as_deref(), Some("meta-llama/Llama-3.1-8B-Instruct"));
    assert_eq!((target.engine.as_deref(), target.tp), (Some("vllm-0.11.0"), Some(2)));
    assert_eq!((server.max_num_seqs, server.max_num_batched_tokens), (Some(64), Some(4096)));
    assert_eq!((server.max_model_len, server.kv_blocks), (Some(8192), Some(61_952)));
    assert_eq!(server.prefix_caching.map(|caching| caching.to_string()).as_deref(), Some("off"));
    assert_eq!(measured.facts["model_memory_gib"].value, json!(7.5123));
    assert_eq!(measured.facts["graph_memory_gib"].value, json!(0.55));
    assert_eq!(measured.facts["graph_max_tokens"].value, json!(128));
    assert_eq!(measured.deployment["tp"].source, "server.log");
    assert!(measured.missing.is_empty(), "{:?}", measured.missing);
    let [note] = measured.notes.as_slice() else { panic!("{:?}", measured.notes) };
    assert!(note.starts_with("server.log: left out: --enable-lora: LoRA adapters are not modelled"), "{note}");
}

#[test]
fn graphs_that_end_early_are_named() {
    let graphs = |requests: &str| {
        let log = LOG.replace("[128,120,8", "[16,8").replace("'max_num_seqs': 64", requests);
        let notes = read(&[("server.log", &log)]).unwrap().notes;
        notes.into_iter().find(|note| note.starts_with("CUDA graphs"))
    };
    let expected =
        "CUDA graphs are captured up to 16 tokens, 128 are modelled: larger steps may take longer than predicted";
    assert_eq!(graphs("'max_num_seqs': 64").as_deref(), Some(expected));
    assert_eq!(graphs("'max_num_seqs': 8"), None);
}

#[test]
fn a_log_that_is_cut_off_loses_its_last_line_only() {
    let cut = LOG.split_once("232 tokens").unwrap().0;
    let measured = read(&[("server.log", cut)]).unwrap();
    assert!(!measured.facts.contains_key("kv_tokens") && measured.facts.contains_key("kv_memory_gib"));
    assert!(measured.notes.iter().any(|note| note.contains("the last line of the log has no end")));
}

#[test]
fn other_settings_replace_those_of_a_log_and_are_named() {
    let measured =
        read_with("gpu = 'h100'\ntp = 4\n", &[("server.log", LOG), ("a.json", &result().to_string())]).unwrap();
    assert_eq!(measured.scenario(0).unwrap().target.tp, Some(4));
    assert!(measured.notes.iter().any(|note| note == "tp: 2 of server.log is replaced by 4 of the command line"));
}

#[test]
fn other_loads_than_those_sent_are_named() {
    let given = "gpu = 'h100'\nmodel = 'llama-3.1-8b'\n[workload]\nusers = 3\nprompt = 100\n";
    let (first, mut second) = (result(), result());
    second["max_concurrency"] = json!(2);
    let files = [("a.json", first.to_string()), ("b.json", second.to_string())];
    let notes = read_with(given, &files.each_ref().map(|(name, text)| (*name, text.as_str()))).unwrap().notes;
    assert_eq!(notes, ["users: 4 of a.json (another run differs, too) is replaced by 3 of the command line"]);
}

fn metrics(requests: u64, blocks: u64) -> String {
    let time = |name: &str, seconds: f64| {
        let labels = "{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"}";
        format!(
            "# TYPE vllm:{name} histogram\nvllm:{name}_bucket{{le=\"+Inf\"}} {requests}\nvllm:{name}_sum{labels} {}\nvllm:{name}_count{labels} {requests}\n",
            requests as f64 * seconds
        )
    };
    let total = |name: &str, each: u64| format!("vllm:{name}_total{{engine=\"0\"}} {}.0\n", each * requests);
    let config = format!(
        "vllm:cache_config_info{{block_size=\"16\",num_gpu_blocks=\"{blocks}\",enable_prefix_caching=\"True\",gpu_memory_utilization=\"0.9\"}} 1.0\n"
    );
    let others =
        "# HELP python_gc_objects_collected_total Objects\npython_gc_objects_collected_total{generation=\"0\"} 5.0\n";
    others.to_owned()
        + &config
        + &total("request_success", 1)
        + &total("prompt_tokens", 100)
        + &total("generation_tokens", 11)
        + &total("prefix_cache_queries", 100)
        + &total("prefix_cache_hits", 25)
        + &time("time_to_first_token_seconds", 0.025)
        + &time("request_queue_time_seconds", 0.001)
}

#[test]
fn two_scrapes_tell_what_lies_between_them_in_any_order() {
    let (before, after) = (metrics(5, 1000), metrics(15, 1000));
    let result = result().to_string();
    let files = [("after", after.as_str()), ("a.json", &result), ("before", &before)];
    let measured = read_with("gpu = 'h100'\n", &files).unwrap();
    assert_eq!(measured.metric_files, ["before", "after"]);
    let figure = |name: &str| measured.metrics[name];
    assert_eq!((figure("requests"), figure("prompt_tokens"), figure("prefix_hit_rate")), (10.0, 1000.0, 0.25));
    assert!((figure("ttft_ms") - 25.0).abs() < 1e-9 && (figure("queue_ms") - 1.0).abs() < 1e-9);
    assert_eq!(measured.notes, Vec::<String>::new());
    let scenario = measured.scenario(0).unwrap();
    assert_eq!((scenario.server.kv_blocks, scenario.workload.prefix_hit_rate), (Some(1000), Some(0.25)));

    let notes = read(&files[..2]).unwrap().notes;
    assert!(notes[0].starts_with("one scrape of metrics counts since the start"), "{notes:?}");
    assert!(notes[1].starts_with("the server counts 15 requests, the clients 10"), "{notes:?}");
}

#[test]
fn token_counts_that_differ_are_named() {
    let mut result = result();
    result["total_output_tokens"] = json!(90);
    let files = [("b", metrics(5, 9)), ("c", metrics(15, 9)), ("a.json", result.to_string())];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let notes = read(&files).unwrap().notes;
    assert!(notes.iter().any(|note| note == "output tokens: the clients count 90, the server 110"), "{notes:?}");
}

#[test]
fn metrics_of_other_servers_are_refused() {
    let error = message(&[("a", &metrics(5, 1000)), ("b", &metrics(15, 2000))]);
    assert!(error.contains("kv_blocks: a has 1000, b has 2000, so these are two servers"), "{error}");
    let restarted = metrics(15, 1000)
        .replace("vllm:prompt_tokens_total{engine=\"0\"} 1500.0", "vllm:prompt_tokens_total{engine=\"0\"} 3.0");
    let error = message(&[("a", &metrics(5, 1000)), ("b", &restarted)]);
    assert!(error.contains("vllm:prompt_tokens_total falls from 500 to 3"), "{error}");
    let later = LOG.replace("0.11.0", "0.15.1");
    let error = message(&[("a.log", LOG), ("b.log", &later)]);
    assert!(error.contains("a.log is of vLLM 0.11.0, b.log of vLLM 0.15.1"), "{error}");
}

#[test]
fn steps_are_read_from_the_columns_that_are_documented() {
    let own = "start_ms,duration_ms,prefill_chunks,prefill_tokens,decode_requests,kv_tokens,x\n0,7.5,0,0,8,4096,1\n7.5,30,1,512,8,4104,1\n";
    let measured = read(&[("steps.csv", own)]).unwrap();
    let steps: Vec<_> = measured.steps.iter().map(|it| (it.duration_ms, it.prefill_tokens, it.kv_tokens)).collect();
    assert_eq!(steps, [(7.5, 0, Some(4096)), (30.0, 512, Some(4104))]);
    let short = "duration_ms,prefill_tokens,decode_requests\n1,2,3\n";
    assert_eq!(read(&[("a", short)]).unwrap().steps[0].kv_tokens, None);
    for (text, expected) in [
        (
            "duration_ms,prefill_tokens,decode_requests\n0,2,3\n",
            "line 2: duration_ms: expected a positive number, found \"0\"",
        ),
        ("duration_ms,prefill_tokens,decode_requests\n1,2\n", "line 2: expected CSV"),
        ("duration_ms,prefill_tokens,decode_requests\n1,2,3", "the last line has no end"),
        ("duration_ms,prefill_tokens,decode_requests\n", "expected a line for each step"),
    ] {
        let message = message(&[("a", text)]);
        assert!(message.replace("a:2:", "a: line 2:").contains(expected), "{message}");
    }
}
