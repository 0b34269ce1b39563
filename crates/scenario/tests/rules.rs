//! Keys that need, exclude or replace each other, and values out of range.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut_scenario::{Scenario, ScenarioFile};

fn read(text: &str) -> Scenario {
    let file = ScenarioFile::read(text.as_bytes()).unwrap();
    file.scenario().clone()
}

#[test]
fn keys_that_mean_nothing_or_too_little_alone_need_others() {
    for (section, keys, message) in [
        (
            "workload",
            "burstiness = 2",
            "burstiness needs arrival = gamma",
        ),
        (
            "workload",
            "burstiness = 2, arrival = 'poisson'",
            "burstiness needs arrival = gamma",
        ),
        (
            "workload",
            "arrival = 'gamma'",
            "arrival = gamma needs burstiness",
        ),
        (
            "workload",
            "think_time = 3",
            "think_time needs users or turns",
        ),
        ("workload", "turns = 3", "turns needs think_time or users"),
        (
            "workload",
            "priorities = [0.5, 0.5]",
            "priorities needs policy = priority",
        ),
        (
            "server",
            "policy = 'priority'",
            "policy = priority needs priorities or trace",
        ),
        (
            "server",
            "router = 'least-tokens'",
            "router needs replicas or prefill_replicas",
        ),
        (
            "workload",
            "trace_format = 'azure'",
            "trace_format needs trace",
        ),
        ("workload", "where = 'a=b'", "where needs trace"),
        (
            "server",
            "acceptance = 0.5",
            "acceptance needs draft_tokens and draft_model",
        ),
        (
            "server",
            "draft_model = 'ngram'",
            "draft_model needs draft_tokens and acceptance",
        ),
        (
            "server",
            "draft_tokens = 4",
            "draft_tokens needs draft_model and acceptance",
        ),
        (
            "server",
            "draft_tokens = 4, acceptance = 0.5",
            "draft_tokens needs draft_model",
        ),
        (
            "server",
            "draft_tokens = 4, draft_model = 'a'",
            "draft_tokens needs acceptance",
        ),
        (
            "server",
            "prefill_replicas = 1",
            "prefill_replicas needs decode_replicas, link_bandwidth and link_latency",
        ),
        (
            "server",
            "decode_replicas = 1",
            "decode_replicas needs prefill_replicas, link_bandwidth and link_latency",
        ),
        (
            "server",
            "link_bandwidth = 1",
            "link_bandwidth needs prefill_replicas, decode_replicas and link_latency",
        ),
        (
            "server",
            "link_latency = 1",
            "link_latency needs prefill_replicas, decode_replicas and link_bandwidth",
        ),
        (
            "server",
            "prefill_replicas = 1, decode_replicas = 1, link_latency = 1",
            "prefill_replicas needs link_bandwidth",
        ),
        (
            "server",
            "prefill_replicas = 1, decode_replicas = 1, link_bandwidth = 1",
            "prefill_replicas needs link_latency",
        ),
    ] {
        let error = read(&format!("{section} = {{ {keys} }}"))
            .check()
            .unwrap_err();
        let them = if message.contains(" and ") {
            "them"
        } else {
            "it"
        };
        assert_eq!(error.to_string(), format!("{message}; add {them}"));
    }
}

#[test]
fn keys_that_change_nothing_are_rejected() {
    let drawn = "[workload]\nseeds = 5\narrival = 'constant'\n";
    let pools = "[server]\nrouter = 'least-tokens'\nlink_bandwidth = 1\nlink_latency = 1\nprefill_replicas = 1\n";
    for (text, more, message) in [
        (
            "[server]\nreplicas = 1\nrouter = 'least-tokens'",
            "[server]\nreplicas = 2\nrouter = 'least-tokens'",
            "router has no effect: there is one server",
        ),
        (
            &format!("{pools}decode_replicas = 1"),
            &format!("{pools}decode_replicas = 2"),
            "router has no effect: there is one server",
        ),
        (
            "[server]\nreplicas = 2\nrouter = 'prefix-affinity'\nprefix_caching = 'off'",
            "[server]\nreplicas = 2\nrouter = 'least-tokens'\nprefix_caching = 'off'",
            "router = prefix-affinity has no effect: servers without prefix caching",
        ),
        (
            "[workload]\nturns = 1\nthink_time = 5",
            "[workload]\nturns = 1\nthink_time = 5\nusers = 3",
            "think_time has no effect: no turn follows",
        ),
        (
            drawn,
            &format!("{drawn}prompt = 'uniform:1..9'"),
            "seeds has no effect: nothing is drawn",
        ),
        (
            &format!("{drawn}[server]\ndraft_tokens = 2\ndraft_model = 'ngram'\nacceptance = 1"),
            &format!("{drawn}[server]\ndraft_tokens = 2\ndraft_model = 'ngram'\nacceptance = 0.5"),
            "seeds has no effect: nothing is drawn",
        ),
        (
            "[workload]\nseeds = 5\nusers = 5",
            "[workload]\nseeds = 5\nusers = 5\nthink_time = 1",
            "seeds has no effect: nothing is drawn",
        ),
    ] {
        let error = read(text).check().unwrap_err().to_string();
        assert!(
            error.starts_with(message) && error.ends_with("; leave it out"),
            "{error}"
        );
        assert_eq!(read(more).check(), Ok(()), "{more}");
    }
}

#[test]
fn keys_that_contradict_each_other_are_rejected() {
    for (key, others, text) in [
        ("users", "rate = 2", "workload.users = 3"),
        ("users", "arrival = 'constant'", "workload.users = 3"),
        ("users", "burstiness = 2", "workload.users = 3"),
        (
            "cached_prompt",
            "prefixes = '2x9'",
            "workload.cached_prompt = 5",
        ),
        ("cached_prompt", "turns = 2", "workload.cached_prompt = 5"),
        ("trace", "rate = 3", "workload.trace = 'x'"),
        ("trace", "users = 3", "workload.trace = 'x'"),
        ("trace", "requests = 3", "workload.trace = 'x'"),
        ("trace", "prompt = 3", "workload.trace = 'x'"),
        ("trace", "output = 3", "workload.trace = 'x'"),
        ("trace", "cached_prompt = 3", "workload.trace = 'x'"),
        ("trace", "prefixes = '3x3'", "workload.trace = 'x'"),
        ("trace", "turns = 3", "workload.trace = 'x'"),
        ("trace", "think_time = 3", "workload.trace = 'x'"),
        ("trace", "priorities = [1]", "workload.trace = 'x'"),
        ("trace", "seed = 3", "workload.trace = 'x'"),
        ("trace", "seeds = 3", "workload.trace = 'x'"),
    ] {
        let (other, _) = others.split_once(' ').unwrap();
        let error = read(&format!("{text}\nworkload.{others}"))
            .check()
            .unwrap_err();
        let expected = format!("{key} cannot be used with {other}; leave one of them out");
        assert_eq!(error.to_string(), expected);
    }
    for (server, message) in [
        (
            "prefill_replicas = 1, replicas = 2",
            "prefill_replicas cannot be used with replicas;",
        ),
        (
            "decode_replicas = 1, replicas = 2",
            "decode_replicas cannot be used with replicas;",
        ),
        (
            "kv_blocks = 9, gpu_memory_utilization = 0.5",
            "kv_blocks cannot be used with gpu_memory_utilization: it determines",
        ),
        (
            "draft_tokens = 1, prefill_replicas = 1",
            "draft_tokens cannot be used with prefill_replicas: speculative decoding on servers",
        ),
    ] {
        let error = read(&format!("server = {{ {server} }}"))
            .check()
            .unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
    }
    let error = read("tables = 'a'\ngpu = 'h100'").check().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("tables cannot be used with gpu"),
        "{error}"
    );
}

#[test]
fn values_out_of_range_are_rejected_with_their_line() {
    for (text, message) in [
        (
            "server.draft_tokens = 17",
            "draft_tokens: expected a whole number from 1 to 16, found 17",
        ),
        (
            "server.watermark = 1",
            "watermark: expected a number from 0 to below 1, found 1",
        ),
        (
            "server.acceptance = 1.5",
            "acceptance: expected a number from 0 to 1, found 1.5",
        ),
        (
            "server.link_bandwidth = 0",
            "link_bandwidth: expected a positive number of GB/s, found 0",
        ),
        (
            "server.link_latency = -1",
            "link_latency: expected microseconds, at least 0",
        ),
        (
            "server.decode_replicas = 0",
            "decode_replicas: expected a whole number from 1 to 4,096",
        ),
        (
            "workload.users = 0",
            "users: expected a whole number from 1 to 1,000,000, found 0",
        ),
        (
            "pp = 2",
            "pp: expected 1, found 2: pipeline parallelism is not modelled; use tp, which divides",
        ),
        ("dp = 2", "dp: expected 1, found 2: attention on each rank"),
        (
            "server.block_size = 24",
            "block_size: expected one of 16, 32, 64, 128, 256 tokens, the KV blocks of vLLM on GPUs, found 24",
        ),
        (
            "kv_dtype = 'nvfp4'",
            "kv_dtype: expected one of bf16, fp8, found nvfp4",
        ),
    ] {
        let error = ScenarioFile::read(format!("\n{text}").as_bytes()).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("line 2: {message}")),
            "{error}"
        );
    }
}

#[test]
fn given_keys_replace_those_of_a_file_and_what_they_bring_along() {
    let gamma = "workload = { rate = 5, arrival = 'gamma', burstiness = 0.5, requests = 9 }";
    let users = "workload = { users = 5, think_time = 1, requests = 9 }";
    let routed = "server = { replicas = 4, router = 'prefix-affinity' }";
    let sessions = "workload = { turns = 4, think_time = 1 }";
    let chat = "workload = { users = 5, think_time = 1, turns = 2, requests = 9 }";
    let trace = "workload = { trace = 'a', trace_format = 'rooflut' }";
    let drafts = "server = { draft_tokens = 4, acceptance = 0.7, draft_model = 'ngram' }";
    let pools = "server = { prefill_replicas = 2, decode_replicas = 1, link_bandwidth = 50.5, link_latency = 5 }";
    for (file, given, replaced) in [
        (gamma, "workload.rate = 7", "rate"),
        (gamma, "workload.burstiness = 2", "burstiness"),
        (gamma, "workload.arrival = 'gamma'", "arrival"),
        (gamma, "workload.arrival = 'poisson'", "arrival burstiness"),
        (gamma, "workload.users = 2", "rate arrival burstiness"),
        (
            gamma,
            "workload.trace = 'a'",
            "rate arrival burstiness requests",
        ),
        (users, "workload.rate = 5", "users think_time"),
        (chat, "workload.rate = 5", "users"),
        (chat, "workload.think_time = 5", "think_time"),
        (
            trace,
            "workload = { users = 5, requests = 9 }",
            "trace trace_format",
        ),
        (drafts, pools, "draft_tokens acceptance draft_model"),
        (drafts, "server.scheduling = 'async'", ""),
        (
            pools,
            "server.replicas = 2",
            "prefill_replicas decode_replicas link_bandwidth link_latency",
        ),
        ("server.replicas = 2", pools, "replicas"),
        (pools, "server.link_latency = 9", "link_latency"),
        (routed, "server.replicas = 1", "replicas router"),
        (routed, "server.prefix_caching = 'off'", "router"),
        (chat, "workload.turns = 1", "turns"),
        (sessions, "workload.turns = 1", "turns think_time"),
    ] {
        let mut file = ScenarioFile::read(file.as_bytes()).unwrap();
        let found = file.remove_replaced(&read(given)).unwrap();
        assert_eq!(found.join(" "), replaced, "{given}");
    }
}
