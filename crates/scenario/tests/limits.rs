//! Limits that are not given, and the limits that hold requests back.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut_report::Report;

use support::report;

fn limits(report: &Report) -> (u32, u32, f64, u32) {
    let server = report.server;
    (
        server.max_num_seqs.unwrap(),
        server.max_num_batched_tokens.unwrap(),
        server.gpu_memory_utilization.unwrap(),
        server.cuda_graph_max_tokens.unwrap(),
    )
}

#[test]
fn a_scenario_without_limits_has_those_of_its_engine_and_says_which_it_cuts() {
    let few = "[workload]\nrequests = 2\n";
    let of = |text: &str| {
        let report = report(&format!("{few}{text}"));
        (limits(&report), report.notes)
    };
    assert_eq!(of(""), ((1_024, 8_192, 0.92, 512), vec![]));
    let given = "[server]\nmax_num_seqs = 100\nmax_num_batched_tokens = 4096\ngpu_memory_utilization = 0.8";
    assert_eq!(of(given), ((100, 4_096, 0.8, 200), vec![]));
    let newer = report(&format!("engine = 'vllm-0.33.0'\n{few}"));
    assert_eq!(limits(&newer), (1_024, 8_192, 0.92, 512));
    let (cut, notes) = of("[server]\nmax_num_batched_tokens = 600");
    assert_eq!(cut, (600, 600, 0.92, 512));
    assert_eq!(
        notes,
        ["at most 600 sequences run, to fit into a step of 600 tokens; vllm-0.25.0 takes 1024 in larger steps"]
    );
    let (cut, notes) = of("[server]\nmax_num_seqs = 2\nmax_model_len = 1000");
    assert_eq!(cut, (2, 2_000, 0.92, 4));
    assert_eq!(
        notes,
        ["a step has at most 2000 tokens, for 2 longest requests; vllm-0.25.0 takes 8192 if more requests run"]
    );
}

#[test]
fn the_limit_that_holds_requests_back_has_the_largest_share() {
    let shares = |load: &str, server: &str| {
        let text = format!("[workload]\nrequests = 300\n{load}\n[server]\n{server}\n");
        let limited = report(&text).limited_by.unwrap();
        [limited.max_num_seqs, limited.max_num_batched_tokens, limited.kv_cache]
    };
    let light = shares("rate = 2", "");
    assert!(light.iter().all(|share| *share < 0.01), "{light:?}");
    let [seqs, tokens, kv] = shares("rate = 100", "max_num_seqs = 16");
    assert!(seqs > 0.9 && tokens < 0.05 && kv < 0.01, "{seqs} {tokens} {kv}");
    let [seqs, tokens, kv] = shares("rate = 100\noutput = 1", "max_num_batched_tokens = 256");
    assert!(tokens > 0.9 && seqs < 0.05 && kv < 0.01, "{seqs} {tokens} {kv}");
    let [seqs, tokens, kv] = shares("rate = 100", "kv_blocks = 1000\nmax_model_len = 4000");
    assert!(kv > 0.8 && seqs < 0.01, "{seqs} {tokens} {kv}");
}
