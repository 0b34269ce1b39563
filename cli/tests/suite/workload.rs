//! `rooflut run` with loads that are generated.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a helper of tests fails as tests do")]

use crate::support::{file, json, new_path, number, success};
use std::collections::BTreeSet;

/// A request as `--requests-out` has it: arrival and end in ms, prompt, output.
struct Row {
    arrival: f64,
    end: f64,
    prompt: u32,
    output: u32,
}

/// The requests of a run with these flags.
fn rows(flags: &str) -> Vec<Row> {
    let (_folder, path) = new_path("requests.csv");
    success(&format!("run --requests-out {path} {flags}"));
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let rows = reader.records().map(|row| {
        let row = row.expect("a row");
        let ms = |column: usize| row[column].parse::<f64>().expect("ms");
        let tokens = |column: usize| row[column].parse().expect("tokens");
        Row { arrival: ms(1), end: ms(1) + ms(9), prompt: tokens(2), output: tokens(3) }
    });
    rows.collect()
}

#[test]
fn gamma_arrivals_are_as_bursty_as_asked() {
    let run = |flags: &str| json(&format!("run --requests 500 {flags}"));
    let gamma = |shape| run(&format!("--arrival gamma --burstiness {shape}"));
    let poisson = run("");
    assert_eq!(gamma("1")["e2e_ms"], poisson["e2e_ms"]);
    let ttft = |shape| number(&gamma(shape), "/ttft_ms/p99");
    assert!(ttft("0.2") > ttft("1") && ttft("1") > ttft("5"));
}

#[test]
fn lengths_are_those_of_their_distributions() {
    let drawn = |prompt: &str, output: &str| {
        let flags = format!("--requests 200 --prompt {prompt} --output {output}");
        let rows = rows(&flags);
        let prompts: BTreeSet<u32> = rows.iter().map(|row| row.prompt).collect();
        let outputs: BTreeSet<u32> = rows.iter().map(|row| row.output).collect();
        (prompts, outputs)
    };
    let (prompts, outputs) = drawn("uniform:100..900", "normal:60,20@50..70");
    assert!(prompts.len() > 150 && prompts.first() >= Some(&100) && prompts.last() <= Some(&900));
    assert_eq!((outputs.first(), outputs.last()), (Some(&50), Some(&70)));
    let (_folder, path) = file("lengths.txt", "10\n20,2\n");
    let file = format!("file:{path}");
    let (prompts, outputs) = drawn("lognormal:512,0.6", &file);
    assert!(prompts.len() > 100 && prompts.first() < Some(&300) && prompts.last() > Some(&900));
    assert_eq!(Vec::from_iter(outputs), [10, 20]);
    let (prompts, _) = drawn(&format!("{file}@15..18"), "1");
    assert_eq!(Vec::from_iter(prompts), [15, 18]);
}

#[test]
fn prefixes_come_before_prompts_and_turns_after_one_another() {
    let base = "--requests 60 --prompt 100 --output 10";
    let with = |flags: &str| rows(&format!("{base} {flags}"));
    let prefixed = with("--prefixes 3x500");
    assert!(prefixed.iter().all(|row| row.prompt == 600));
    let turns = "--rate 1 --turns 3 --think-time 5 --prefixes 1x50";
    let chat = with(turns);
    let prompts: BTreeSet<u32> = chat.iter().map(|row| row.prompt).collect();
    assert_eq!(Vec::from_iter(prompts), [150, 260, 370]);
    let first = chat.iter().find(|row| row.prompt == 150).expect("a first turn");
    let second = chat.iter().find(|row| row.prompt == 260).expect("a second turn");
    assert!((second.arrival - first.arrival - 5_000.0).abs() < 1e-3);
    // A session ends before a turn that the server cannot take.
    let short = with(&format!("{turns} --max-model-len 300"));
    assert!(short.iter().all(|row| row.prompt < 300));
}

#[test]
fn users_wait_for_their_answers() {
    let flags = "--users 4 --requests 50 --prompt uniform:100..900";
    let rows = rows(flags);
    assert_eq!(rows.len(), 50);
    let mut ends: Vec<f64> = rows.iter().map(|row| row.end).collect();
    ends.sort_by(f64::total_cmp);
    assert!(rows[..4].iter().all(|row| row.arrival.abs() < f64::EPSILON));
    for (row, end) in rows[4..].iter().zip(ends) {
        assert!((row.arrival - end).abs() < 1e-3);
    }
    let makespan = |more: &str| {
        let answer = json(&format!("run {flags} {more}"));
        number(&answer, "/makespan_s")
    };
    assert!(makespan("--think-time 2") > makespan("") + 20.0);
    // However many there are, a queue that only waits is no overload.
    let crowd = success("run --users 600 --requests 1500");
    assert!(!crowd.contains("does not keep up"), "{crowd}");
}

#[test]
fn the_seed_is_that_of_everything() {
    let flags = "run --requests 50 --arrival constant --output uniform:1..99";
    let with = |seed| json(&format!("{flags} --seed {seed}"));
    assert_eq!(with("1"), with("1"));
    assert_ne!(with("1")["e2e_ms"], with("2")["e2e_ms"]);
}
