//! `rooflut run` with speculative decoding.

use crate::support::{failure, json, new_path, number, success};

const LOAD: &str = "run --rate 2 --requests 60";

fn answer(flags: &str) -> serde_json::Value {
    json(&format!("{LOAD} {flags}"))
}

fn drafts(model: &str, acceptance: f64) -> String {
    format!("--draft-tokens 4 --acceptance {acceptance} --draft-model {model}")
}

#[test]
fn accepted_drafts_make_tokens_come_faster_and_rejected_ones_slower() {
    let tpot = |flags: &str| number(&answer(flags), "/tpot_ms/mean");
    let alone = tpot("--scheduling sync");
    let good = tpot(&drafts("llama-3.2-1b", 0.9));
    let bad = tpot(&drafts("llama-3.2-1b", 0.05));
    assert!(good < 0.9 * alone, "{good} {alone}");
    assert!(bad > 1.3 * alone, "{bad} {alone}");
    // All of four accepted: a fifth of the steps, each a little longer.
    let certain = tpot(&drafts("ngram", 1.0));
    assert!(certain > alone / 5.0 && certain < alone / 4.0, "{certain} {alone}");
}

#[test]
fn the_seed_of_drawn_acceptances_is_told() {
    for (acceptance, is_told) in [(0.7, true), (1.0, false)] {
        let flags = format!("run --users 1 --requests 9 --seed 3 {}", drafts("ngram", acceptance));
        assert_eq!(success(&flags).contains("(seed 3)"), is_told, "{acceptance}");
    }
}

#[test]
fn drafts_are_scheduled_ahead_where_the_engine_supports_it() {
    let scheduling = |flags: &str| answer(flags)["scheduling"].clone();
    let (model, ngram) = (drafts("llama-3.2-1b", 0.7), drafts("ngram", 0.7));
    assert_eq!(scheduling(&format!("{model} --scheduling async")), "async");
    assert_eq!(scheduling(&format!("{ngram} --engine vllm-0.33.0")), "async");
}

#[test]
fn the_answer_tells_what_was_drafted_and_what_came_of_it() {
    let answer = answer(&drafts("llama-3.2-1b", 0.7));
    let told = &answer["speculation"];
    assert_eq!((&told["draft_tokens"], &told["draft_model"]), (&4.into(), &"llama-3.2-1b".into()));
    let expected = number(told, "/tokens_per_step_expected");
    assert!((expected - 2.7731).abs() < 1e-9);
    assert!((number(told, "/tokens_per_step") / expected - 1.0).abs() < 0.03);
    let share = number(told, "/draft_time_share");
    assert!(share > 0.2 && share < 0.6, "{share}");
    assert_eq!(answer["scheduling"], "sync");
    // Weights and KV entries of both.
    let alone = number(&json("run"), "/kv_blocks");
    let blocks = number(&answer, "/kv_blocks");
    assert!(blocks < alone * 0.8 && blocks > alone * 0.7, "{blocks} {alone}");
    assert_eq!(json("run")["speculation"], serde_json::Value::Null);

    let text = success(&format!("{LOAD} {}", drafts("ngram", 0.7)));
    assert!(text.contains("4 tokens drafted by ngram, 70 % of them accepted"), "{text}");
    assert!(text.contains("tokens a request and step (2.77 expected)"), "{text}");
}

#[test]
fn a_layer_of_the_model_drafts() {
    let v3 = "--model deepseek-v3 --gpu h200 --tp 8";
    let answer = answer(&format!("{v3} {}", drafts("mtp", 0.8)));
    let told = &answer["speculation"];
    assert_eq!(told["draft_model"], "mtp");
    let share = number(told, "/draft_time_share");
    assert!(share > 0.02 && share < 0.2, "{share}");
    assert_eq!(answer["scheduling"], "async");
    let alone = json(&format!("{LOAD} {v3}"));
    let [drafted, alone] = [&answer, &alone].map(|answer| number(answer, "/kv_blocks"));
    assert!(drafted < alone * 61.0 / 62.0 && drafted > alone * 0.9);
    // The drafter of all seeds is that of the first.
    let seeds = json(&format!("{LOAD} {v3} {} --seeds 2", drafts("mtp", 0.8)));
    assert_eq!(seeds["speculation"]["draft_model"], "mtp");
}

#[test]
fn an_eagle3_head_drafts_with_weights_and_time_of_its_own() {
    let head = "examples/eagle3_head.json";
    let answer = answer(&drafts(head, 0.8));
    let told = &answer["speculation"];
    assert_eq!((&told["draft_model"], &answer["scheduling"]), (&head.into(), &"async".into()));
    let share = number(told, "/draft_time_share");
    assert!(share > 0.1 && share < 0.4, "{share}");
    // 32 layers and one more; 0.85 GB of weights are 400 blocks of 2.1 MB.
    let alone = json(LOAD);
    let [drafted, alone] = [&answer, &alone].map(|answer| number(answer, "/kv_blocks"));
    let expected = alone * 32.0 / 33.0 - 400.0;
    assert!((drafted / expected - 1.0).abs() < 0.01, "{drafted} {expected}");
    let text = success(&format!("{LOAD} {}", drafts(head, 0.8))).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the EAGLE-3 head takes"), "{text}");
    // The context is the target's, not that of the file.
    assert_eq!(answer["max_model_len"], 131_072);
}

#[test]
fn steps_tell_what_was_drafted_and_accepted() {
    let (_folder, path) = new_path("steps.csv");
    let flags = format!("{} --steps-out {path}", drafts("ngram", 0.5));
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
fn a_measured_acceptance_is_the_default_and_reported() {
    let qwen = "run --model qwen3.5-397b-a17b --gpu h200 --tp 8 --dtype fp8 --users 2 --requests 40 --draft-model mtp \
                --draft-tokens 2";
    let reported = json(qwen)["speculation"].clone();
    assert_eq!(reported["measured_acceptance"]["tokens_per_step"], 2.73);
    assert_eq!(reported["measured_acceptance"]["prompts"], "coding prompts, thinking on");
    assert!((number(&reported, "/tokens_per_step_expected") - 2.73).abs() < 1e-9);
    // A run with this rate as given has no measurement.
    let given = json(&format!("{qwen} --acceptance {}", number(&reported, "/acceptance")))["speculation"].clone();
    assert_eq!(given["measured_acceptance"], serde_json::Value::Null);
    assert_eq!(given["tokens_per_step"], reported["tokens_per_step"]);

    let text = success(qwen).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("as measured: 2.73 tokens a step on coding prompts, thinking on (InferenceX"), "{text}");
}

#[test]
fn every_command_rejects_speculators_by_name() {
    for command in ["run", "saturate --goodput ttft:500", "plan --rate 2 --goodput ttft:500"] {
        for name in ["eagle3", "dspark"] {
            let message = failure(&format!("{command} --draft-tokens 2 --acceptance 0.5 --draft-model {name}"));
            assert!(message.contains(&format!("found {name}, ")), "{message}");
        }
    }
}
