//! `rooflut run --scenario` with speculative decoding, and with prefill and decode on servers of their own.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::json;
use crate::support::scenarios::{answer, refusal};

/// The server of a scenario: drafts, and prefill and decode on servers of their own.
const DRAFTS: &str = "[server]\ndraft_tokens = 4\nacceptance = 0.7\ndraft_model = 'ngram'\n";
const POOLS: &str = "[server]\nprefill_replicas = 2\ndecode_replicas = 1\nlink_bandwidth = 50.5\n\
                     link_latency = 5\n";

#[test]
fn drafts_and_pools_of_a_scenario_are_those_of_the_flags() {
    let drafts = "--draft-tokens 4 --acceptance 0.7 --draft-model ngram";
    let pools = "--prefill-replicas 2 --decode-replicas 1 --link-bandwidth 50.5 --link-latency 5";
    for (server, flags, told) in [
        (DRAFTS, drafts, "speculation"),
        (POOLS, pools, "disaggregation"),
    ] {
        let said = answer(&format!("pp = 1\ndp = 1\n{server}"), "--requests 20");
        let mut flagged = json(&format!("run --requests 20 {flags}"));
        assert!(flagged[told].is_object(), "{flagged}");
        flagged["scenario"] = said["scenario"].clone();
        assert_eq!(said, flagged);
    }
}

#[test]
fn half_of_the_pools_is_not_enough() {
    let message = refusal(DRAFTS, "--prefill-replicas 1");
    assert!(
        message.starts_with("--prefill-replicas needs --decode-replicas"),
        "{message}"
    );
    let drafts = "--draft-tokens 2 --acceptance 1 --draft-model ngram";
    let message = refusal(POOLS, drafts);
    assert!(
        message.starts_with("FILE:3: decode_replicas needs prefill_replicas"),
        "{message}"
    );
}

#[test]
fn what_cannot_be_together_or_is_found_out_later_comes_with_its_line() {
    let pools = POOLS.strip_prefix("[server]\n").expect("a section");
    let drafts = |model: &str| DRAFTS.replace("ngram", model);
    for (text, expected) in [
        (
            format!("{DRAFTS}scheduling = 'async'"),
            "FILE:5: scheduling: expected sync with speculative decoding, found async, which this engine",
        ),
        (
            format!("{DRAFTS}{pools}"),
            "FILE:2: draft_tokens cannot be used with prefill_replicas: speculative decoding",
        ),
        (
            drafts("qwen3-0.6b"),
            "FILE:4: draft_model = qwen3-0.6b: expected the vocabulary of llama-3.1-8b",
        ),
        (
            format!(
                "model = 'codellama-34b'\ntp = 2\n{}max_model_len = 8000",
                drafts("llama-2-7b")
            ),
            "FILE:7: max_model_len: expected at most 4,096, the longest request of the draft model",
        ),
        (
            format!("{DRAFTS}max_num_batched_tokens = 600"),
            "FILE:5: max_num_batched_tokens: expected at least max_num_seqs = 128 x 5",
        ),
        (
            format!("{DRAFTS}long_prefill_token_threshold = 512"),
            "FILE:5: long_prefill_token_threshold: it may cut drafts, which is not modelled",
        ),
        (
            "[server]\nmax_num_seqs = 4000".to_owned(),
            "FILE:2: max_num_batched_tokens: expected at least max_num_seqs = 4000, found",
        ),
        (
            "\ngpu = 'h10'".to_owned(),
            "FILE:2: unknown table set \"h10\"",
        ),
        ("tp = 3".to_owned(), "FILE:1: llama-3.1-8b: "),
        (
            "\nmodel = 'lama'".to_owned(),
            "FILE:2: unknown model \"lama\"",
        ),
        (
            "tables = 'nowhere'".to_owned(),
            "FILE:1: nowhere: expected a table set",
        ),
        (
            "[workload]\n\ntrace = 'nowhere.csv'".to_owned(),
            "FILE:3: cannot read nowhere.csv: ",
        ),
        (
            "[workload]\nprompt = 9\noutput = 'file:nowhere.txt'".to_owned(),
            "FILE:3: cannot read nowhere.txt: ",
        ),
        (
            "tp = 1\n[server]\nmax_num_batched_tokens = 4000000".to_owned(),
            "FILE:3: max_num_batched_tokens = 4000000: the activations of such a step do not fit h100",
        ),
        (
            "[workload]\nprompt = 10\ncached_prompt = 11".to_owned(),
            "FILE:3: cached_prompt: expected at most the shortest prompt, 10, found 11",
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
}
