//! Keys of a file that given keys replace.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use rooflut_scenario::{Scenario, ScenarioFile};

fn read(text: &str) -> Scenario {
    let file = ScenarioFile::read(text.as_bytes()).unwrap();
    file.scenario().clone()
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
        (gamma, "workload.trace = 'a'", "rate arrival burstiness requests"),
        (users, "workload.rate = 5", "users think_time"),
        (chat, "workload.rate = 5", "users"),
        (chat, "workload.think_time = 5", "think_time"),
        (trace, "workload = { users = 5, requests = 9 }", "trace trace_format"),
        (drafts, pools, "draft_tokens acceptance draft_model"),
        (drafts, "server.scheduling = 'async'", ""),
        (pools, "server.replicas = 2", "prefill_replicas decode_replicas link_bandwidth link_latency"),
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
