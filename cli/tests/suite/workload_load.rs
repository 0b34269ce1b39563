//! How `rooflut run` describes a load that it generates.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::{json, success};
use serde_json::json;

/// The line of the load, unwrapped.
fn load(flags: &str) -> String {
    let text = success(&format!("run --requests 20 {flags}"));
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let (_, load) = text.split_once(" load ").expect("a load");
    let (load, _) = load.split_once(" server ").expect("a server");
    load.to_owned()
}

#[test]
fn the_load_is_described_for_people() {
    assert_eq!(
        load("--arrival gamma --burstiness 0.5 --prompt uniform:100..2000"),
        "20 requests, 18 per second, gamma with burstiness 0.5 (seed 0); 100 to 2,000 (uniform) \
         prompt + 256 output tokens"
    );
    assert_eq!(
        load("--users 3 --output normal:60,20 --policy priority --priorities 0.8,0.2"),
        "20 requests, 3 users without a pause (seed 0); 512 prompt + 60 (mean, normal, sd 20) \
         output tokens; priorities in shares 0.8, 0.2"
    );
    let chat = "--turns 2 --think-time 3 --prefixes 2x1000 --seed 5";
    assert_eq!(
        load(chat),
        "20 requests, 18 sessions per second, Poisson (seed 5); 512 prompt + 256 output tokens; \
         before each prompt one of 2 texts of 1,000 tokens; sessions of 2 turns, 3 s apart"
    );
    // Users with a constant pause begin at any time within it.
    assert_eq!(
        load("--users 3 --think-time 5"),
        "20 requests, 3 users pausing 5 s (seed 0); 512 prompt + 256 output tokens"
    );
    // Nothing is drawn.
    assert_eq!(
        load("--arrival constant --cached-prompt 100"),
        "20 requests, 18 per second, equal gaps; 512 prompt (100 cached) + 256 output tokens"
    );
    assert_eq!(
        load("--users 1 --think-time exponential:2 --prompt lognormal:9,1@2..20"),
        "20 requests, 1 user pausing 2 s (exponential) (seed 0); 9 (median, lognormal, sigma 1, 2 \
         to 20) prompt + 256 output tokens"
    );
}

#[test]
fn the_load_is_described_for_programs() {
    let with = |flags: &str| {
        let answer = json(&format!("run --requests 5 {flags}"));
        answer["load"].clone()
    };
    assert_eq!(
        with("--cached-prompt 16"),
        json!({
            "kind": "poisson", "requests_per_s": 18.0, "prompt_tokens": 512,
            "cached_prompt_tokens": 16, "output_tokens": 256, "prefixes": null, "sessions": null,
            "priority_shares": null,
        })
    );
    let gamma = with("--arrival gamma --burstiness 2 --prompt normal:60,9@1..99");
    assert_eq!(gamma["kind"], "gamma");
    assert_eq!(gamma["burstiness"], 2.0);
    assert_eq!(
        gamma["prompt_tokens"],
        json!({"distribution": "normal", "mean": 60.0, "sd": 9.0, "min": 1, "max": 99})
    );
    let chat = with("--turns uniform:1..3 --think-time 2 --prefixes 2x9");
    assert_eq!(chat["sessions_per_s"], 18.0);
    assert_eq!(chat["prefixes"], json!({"groups": 2, "tokens": 9}));
    assert_eq!(
        chat["sessions"],
        json!({
            "turns": {"distribution": "uniform", "min": 1, "max": 3}, "think_time_s": 2.0
        })
    );
    let users =
        with("--users 2 --think-time exponential:3 --policy priority --priorities 0.25,0.75");
    assert_eq!(
        (&users["kind"], &users["users"]),
        (&json!("closed_loop"), &json!(2))
    );
    assert_eq!(
        users["think_time_s"],
        json!({"distribution": "exponential", "mean": 3.0})
    );
    assert_eq!(users["priority_shares"], json!([0.25, 0.75]));
}
