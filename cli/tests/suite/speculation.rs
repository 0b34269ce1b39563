//! `rooflut run` with speculative decoding.

use crate::support::{failure, json, number, success};

const LOAD: [&str; 5] = ["run", "--rate", "2", "--requests", "60"];

fn with(flags: &[&str]) -> Vec<String> {
    let all = LOAD.iter().chain(flags);
    all.map(|flag| (*flag).to_owned()).collect()
}

fn answer(flags: &[&str]) -> serde_json::Value {
    let all = with(flags);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    json(&all)
}

fn drafts<'f>(model: &'f str, acceptance: &'f str) -> [&'f str; 6] {
    [
        "--draft-tokens",
        "4",
        "--acceptance",
        acceptance,
        "--draft-model",
        model,
    ]
}

#[test]
fn accepted_drafts_make_tokens_come_faster_and_rejected_ones_slower() {
    let tpot = |flags: &[&str]| number(&answer(flags), "/tpot_ms/mean");
    let alone = tpot(&["--scheduling", "sync"]);
    let good = tpot(&drafts("llama-3.2-1b", "0.9"));
    let bad = tpot(&drafts("llama-3.2-1b", "0.05"));
    assert!(good < 0.9 * alone, "{good} {alone}");
    assert!(bad > 1.3 * alone, "{bad} {alone}");
    // All of four accepted: a fifth of the steps, each a little longer.
    let certain = tpot(&drafts("ngram", "1"));
    assert!(
        certain > alone / 5.0 && certain < alone / 4.0,
        "{certain} {alone}"
    );
}

#[test]
fn the_answer_tells_what_was_drafted_and_what_came_of_it() {
    let answer = answer(&drafts("llama-3.2-1b", "0.7"));
    let told = &answer["speculation"];
    assert_eq!(
        (&told["draft_tokens"], &told["draft_model"]),
        (&4.into(), &"llama-3.2-1b".into())
    );
    let expected = number(told, "/tokens_per_step_expected");
    assert!((expected - 2.7731).abs() < 1e-9);
    assert!((number(told, "/tokens_per_step") / expected - 1.0).abs() < 0.03);
    let share = number(told, "/draft_time_share");
    assert!(share > 0.2 && share < 0.6, "{share}");
    assert_eq!(answer["scheduling"], "sync");
    // Weights and KV entries of both.
    let alone = number(&json(&["run"]), "/kv_blocks");
    let blocks = number(&answer, "/kv_blocks");
    assert!(
        blocks < alone * 0.8 && blocks > alone * 0.7,
        "{blocks} {alone}"
    );
    assert_eq!(json(&["run"])["speculation"], serde_json::Value::Null);

    let all = with(&drafts("ngram", "0.7"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let text = success(&all);
    assert!(
        text.contains("4 tokens drafted by ngram, 70 % of them accepted"),
        "{text}"
    );
    assert!(
        text.contains("tokens a request and step (2.77 expected)"),
        "{text}"
    );
}

#[test]
fn steps_tell_what_was_drafted_and_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.csv");
    let path = path.to_str().unwrap();
    let flags = [&drafts("ngram", "0.5")[..], &["--steps-out", path]].concat();
    let answer = answer(&flags);
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let place = |name| header.iter().position(|found| *found == name).unwrap();
    let places = ["decode_requests", "drafted_tokens", "accepted_tokens"].map(place);
    let mut sums = [0_u64; 3];
    for row in rows {
        let counts = places.map(|place| row[place].parse::<u64>().unwrap());
        assert_eq!(counts[1], 4 * counts[0]);
        assert!(counts[2] <= counts[1]);
        sums = [0, 1, 2].map(|i| sums[i] + counts[i]);
    }
    let share = sums[2] as f64 / sums[1] as f64;
    assert!((share - number(&answer, "/speculation/accepted_share")).abs() < 1e-12);
    assert!(sums[0] > 1_000);
}

#[test]
fn what_cannot_be_is_refused_with_a_way_out() {
    let refused = |flags: &[&str]| failure(&[&["run"][..], flags].concat());
    for (flags, part) in [
        (
            &["--draft-tokens", "4"][..],
            "--draft-tokens needs --draft-model",
        ),
        (
            &["--acceptance", "0.5"],
            "--acceptance needs --draft-tokens",
        ),
        (
            &drafts("qwen3-0.6b", "0.5"),
            "expected the vocabulary of llama-3.1-8b, 128256 tokens",
        ),
        (&drafts("lama-3.2-1b", "0.5"), "llama-3.2-1b"),
        (&drafts("ngram", "1.5"), "expected a number from 0 to 1"),
        (
            &[&drafts("ngram", "0.5")[..], &["--scheduling", "async"]].concat(),
            "--scheduling async cannot be used with --draft-tokens",
        ),
        (
            &[
                &drafts("ngram", "0.5")[..],
                &["--max-num-batched-tokens", "600"],
            ]
            .concat(),
            "--max-num-seqs 128 x 5 tokens with drafts, found 600",
        ),
        (
            &[
                &drafts("llama-2-7b", "0.5")[..],
                &["--model", "codellama-34b", "--tp", "2"],
                &["--max-model-len", "8000"],
            ]
            .concat(),
            "--max-model-len: expected at most 4096, the longest request of the draft model llama-2-7b",
        ),
        (&["--pp", "2"], "pipeline parallelism is not modelled; --tp"),
        (
            &["--dp", "8"],
            "replicas of a whole model are `rooflut run --replicas`",
        ),
        (&["--pp", "x"], "invalid value 'x' for '--pp <PP>'"),
    ] {
        let message = refused(flags);
        assert!(message.contains(part), "{flags:?}: {message}");
    }
}
