//! `rooflut run --scenario` with speculative decoding, and with prefill and decode on servers of their own.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::json;
use crate::support::scenarios::{answer, refusal};
use serde_json::json;

/// The server of a scenario: drafts, and prefill and decode on servers of their own.
const DRAFTS: &str = "[server]\ndraft_tokens = 4\nacceptance = 0.7\ndraft_model = 'ngram'\n";
const POOLS: &str = "[server]\nprefill_replicas = 2\ndecode_replicas = 1\nlink_bandwidth = 50.5\n\
                     link_latency = 5\n";

#[test]
fn drafts_and_pools_of_a_scenario_are_those_of_the_flags() {
    let drafts = "--draft-tokens 4 --acceptance 0.7 --draft-model ngram";
    let pools = "--prefill-replicas 2 --decode-replicas 1 --link-bandwidth 50.5 --link-latency 5";
    for (server, flags, told) in [
        (DRAFTS, &drafts[..], "speculation"),
        (POOLS, &pools, "disaggregation"),
    ] {
        let said = answer(&format!("pp = 1\ndp = 1\n{server}"), "--requests 20");
        let mut flagged = json(&format!("run --requests 20 {flags}"));
        assert!(flagged[told].is_object(), "{flagged}");
        flagged["scenario"] = said["scenario"].clone();
        assert_eq!(said, flagged);
    }
}

#[test]
fn drafts_and_pools_of_a_scenario_give_way_to_what_cannot_be_with_them() {
    let few = "--requests 9";
    let pools = "--prefill-replicas 1 --decode-replicas 1 --link-bandwidth 100 --link-latency 5";
    let drafts = "--draft-tokens 2 --acceptance 1 --draft-model ngram";
    let of_drafts = ["draft_tokens", "acceptance", "draft_model"];
    let of_pools = [
        "prefill_replicas",
        "decode_replicas",
        "link_bandwidth",
        "link_latency",
    ];
    let ahead = "[server]\nscheduling = 'async'\n";
    for (text, flags, replaced) in [
        (DRAFTS, pools, &of_drafts[..]),
        (DRAFTS, "--scheduling async", &of_drafts),
        (DRAFTS, "--scheduling sync", &[]),
        (ahead, drafts, &["scheduling"]),
        (POOLS, "--replicas 2", &of_pools),
        ("[server]\nreplicas = 2\n", pools, &["replicas"]),
        (POOLS, "--link-latency 9", &["link_latency"]),
    ] {
        let answer = answer(text, &format!("{few} {flags}"));
        let found = &answer["scenario"]["replaced"];
        assert_eq!(found, &json!(replaced), "{text}, {flags:?}");
    }
    // Half of the pools is not enough.
    let message = refusal(DRAFTS, "--prefill-replicas 1");
    assert!(
        message.starts_with("--prefill-replicas needs --decode-replicas"),
        "{message}"
    );
    let message = refusal(POOLS, &drafts);
    assert!(
        message.starts_with("FILE:3: --decode-replicas needs --prefill-replicas"),
        "{message}"
    );
}

#[test]
fn values_of_drafts_and_pools_that_cannot_be_come_with_their_line() {
    for (text, expected) in [
        (
            "draft_tokens = 4\nacceptance = 0.5",
            "FILE:2: --draft-tokens needs --draft-model; add it",
        ),
        (
            "draft_tokens = 4\ndraft_model = 'ngram'",
            "FILE:2: --draft-tokens needs --acceptance; add it",
        ),
        (
            "\nacceptance = 0.5",
            "FILE:3: --acceptance needs --draft-tokens; add it",
        ),
        (
            "draft_model = 'ngram'",
            "FILE:2: --draft-model needs --draft-tokens; add it",
        ),
        (
            "prefill_replicas = 1",
            "FILE:2: --prefill-replicas needs --decode-replicas; add it",
        ),
        (
            "decode_replicas = 1",
            "FILE:2: --decode-replicas needs --prefill-replicas; add it",
        ),
        (
            "prefill_replicas = 1\ndecode_replicas = 1\nlink_latency = 1",
            "FILE:2: --prefill-replicas needs --link-bandwidth; add it",
        ),
        (
            "link_bandwidth = 1",
            "FILE:2: --link-bandwidth needs --prefill-replicas; add it",
        ),
        (
            "link_latency = 1",
            "FILE:2: --link-latency needs --prefill-replicas; add it",
        ),
        (
            "draft_tokens = 17",
            "FILE:2: --draft-tokens: expected a whole number from 1 to 16, found 17",
        ),
        (
            "acceptance = 1.5",
            "FILE:2: --acceptance: expected a number from 0 to 1, found 1.5",
        ),
        (
            "decode_replicas = 0",
            "FILE:2: --decode-replicas: expected a whole number from 1 to 4096, found 0",
        ),
        (
            "link_bandwidth = 0",
            "FILE:2: --link-bandwidth: expected a positive number of GB/s, found 0",
        ),
        (
            "link_latency = -1",
            "FILE:2: --link-latency: expected microseconds, at least 0",
        ),
        (
            "pp = 1",
            "FILE:2: pp: expected above the first table; move it there",
        ),
    ] {
        let message = refusal(&format!("[server]\n{text}"), "");
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    for (text, expected) in [
        (
            "pp = 2",
            "FILE:1: --pp: expected 1 (pipeline parallelism is not modelled",
        ),
        ("\ndp = 2", "FILE:2: --dp: expected 1 ("),
        (
            "pp = '1'",
            "FILE:1: pp: invalid type: string \"1\", expected u32",
        ),
        ("draft_tokens = 4", "FILE:1: draft_tokens"),
    ] {
        let message = refusal(text, "");
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

#[test]
fn what_cannot_be_together_or_is_found_out_later_comes_with_its_line() {
    let pools = POOLS.strip_prefix("[server]\n").expect("a section");
    let drafts = |model: &str| DRAFTS.replace("ngram", model);
    for (text, expected) in [
        (
            format!("{DRAFTS}scheduling = 'async'"),
            "FILE:5: --scheduling async cannot be used with --draft-tokens: the tokens",
        ),
        (
            format!("{DRAFTS}{pools}"),
            "FILE:2: --draft-tokens cannot be used with --prefill-replicas: speculative decoding",
        ),
        (
            drafts("qwen3-0.6b"),
            "FILE:4: --draft-model qwen3-0.6b: expected the vocabulary of llama-3.1-8b",
        ),
        (
            format!(
                "model = 'codellama-34b'\ntp = 2\n{}max_model_len = 8000",
                drafts("llama-2-7b")
            ),
            "FILE:7: --max-model-len: expected at most 4096, the longest request of the draft model",
        ),
        (
            format!("{DRAFTS}max_num_batched_tokens = 600"),
            "FILE:5: --max-num-batched-tokens: expected at least --max-num-seqs 128 x 5",
        ),
        (
            "[server]\nmax_num_seqs = 4000".to_owned(),
            "FILE:2: --max-num-batched-tokens: expected at least --max-num-seqs 4000, found",
        ),
        (
            "\ngpu = 'h10'".to_owned(),
            "FILE:2: unknown table set \"h10\"",
        ),
        ("tp = 3".to_owned(), "FILE:1: llama-3.1-8b: "),
        (
            "[workload]\nprompt = 10\ncached_prompt = 11".to_owned(),
            "FILE:3: --cached-prompt: expected at most the shortest --prompt, 10, found 11",
        ),
    ] {
        let message = refusal(&text, "");
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    // Values of the command line have no line.
    let message = refusal(DRAFTS, "--max-num-batched-tokens 600 --draft-tokens 4");
    assert!(
        message.starts_with("--max-num-batched-tokens: expected"),
        "{message}"
    );
    let message = refusal(
        "[workload]\nrate = 5",
        "--draft-tokens 4 --acceptance 1 --draft-model ngram --scheduling async",
    );
    assert!(
        message.starts_with("--scheduling async cannot be used with"),
        "{message}"
    );
}
