//! `rooflut-lab validate`.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]

use std::path::PathBuf;

use crate::support::{json, list, number, rooflut, success, text, workspace};
use serde_json::Value;
use tempfile::TempDir;

/// Files in a folder that goes away.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    /// Writes a file and answers with its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }
}

const STEPS: &str = "experiment,gpu,model,tp,engine,decode_requests,mean_context_tokens,step_ms\n";

/// A row of [`STEPS`].
fn step(model: &str, engine: &str, requests: u32, step_ms: &str) -> String {
    format!("d,h100,{model},1,{engine},{requests},700,{step_ms}\n")
}

fn report(name: &str, text: &str) -> Value {
    let folder = Folder::new();
    json(&format!("validate {}", folder.file(name, text)))
}

#[test]
fn rows_and_summaries_have_their_keys_and_agree() {
    let rows = [("7", 8), ("8.5", 16), ("10", 64), ("9", 100)]
        .map(|(ms, requests)| step("llama-3.1-8b", "vllm-0.15.1", requests, ms));
    let report = report("steps.csv", &format!("{STEPS}{}", rows.concat()));
    let rows = list(&report, "/rows");
    let mut signed = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        assert_eq!(text(row, "/file"), "steps.csv");
        assert_eq!((text(row, "/id"), text(row, "/metric")), ("d", "step"));
        assert_eq!(row["stage"], place);
        let (predicted, actual) = (number(row, "/predicted"), number(row, "/actual"));
        let error = 100.0 * (predicted - actual) / actual;
        assert!((number(row, "/signed") - error).abs() < 1e-9);
        assert!((number(row, "/ape") - error.abs()).abs() < 1e-9);
        signed.push(error);
    }
    let [summary] = list(&report, "/summary") else {
        panic!("{report}");
    };
    let words = ["/file", "/gpu", "/metric"].map(|key| text(summary, key));
    assert_eq!(words, ["steps.csv", "h100", "step"]);
    assert_eq!(summary["n"], 4);
    let mut apes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    apes.sort_by(f64::total_cmp);
    for (key, expected) in [
        ("/median_ape", f64::midpoint(apes[1], apes[2])),
        ("/mean_ape", apes.iter().sum::<f64>() / 4.0),
        ("/p90_ape", apes[2] + 0.7 * (apes[3] - apes[2])),
        ("/max_ape", apes[3]),
        ("/mean_signed", signed.iter().sum::<f64>() / 4.0),
    ] {
        assert!((number(summary, key) - expected).abs() < 1e-9, "{key}");
    }
    assert!(list(&report, "/skipped").is_empty() && list(&report, "/notes").is_empty());
}

#[test]
fn files_are_told_apart_by_as_much_of_their_path_as_it_takes() {
    let folder = Folder::new();
    let rows = format!("{STEPS}{}", step("llama-3.1-8b", "vllm-0.15.1", 8, "7"));
    let blocks = "gpu,model,tp,engine,kv_blocks_16_tokens\nh100,llama-3.1-8b,1,vllm-0.15.1,29000\n";
    let [a, b] = ["a/steps.csv", "b/steps.csv"].map(|name| folder.file(name, &rows));
    let c = folder.file("c/blocks.csv", blocks);
    let files = |first: &str, second: &str| {
        let report = json(&format!("validate {first} {second}"));
        let rows = list(&report, "/rows").iter();
        rows.map(|row| text(row, "/file").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(files(&c, &a), ["blocks.csv", "steps.csv"]);
    assert_eq!(files(&a, &b), [a.as_str(), &b]);
    let report = json(&format!("validate {c}"));
    assert_eq!(text(&report, "/rows/0/id"), "llama-3.1-8b tp1 vllm-0.15.1");
    assert_eq!(text(&report, "/rows/0/metric"), "kv_blocks");
}

#[test]
fn many_rows_are_summed_up_unless_all_are_asked_for() {
    let rows: String = (1..=40).map(|requests| step("llama-3.1-8b", "vllm-0.15.1", requests, "7")).collect();
    let folder = Folder::new();
    let path = folder.file("steps.csv", &format!("{STEPS}{rows}"));
    // Not the header.
    let is_row = |line: &&str| {
        let has_step = line.split(' ').any(|word| word == "step");
        line.starts_with("  d ") || has_step && line.contains('.')
    };
    let lines = |text: &str| text.lines().filter(is_row).count();
    // The summary, the coverage, the run and its three worst rows.
    assert_eq!(lines(&success(&format!("validate {path}"))), 6);
    assert_eq!(lines(&success(&format!("validate --rows {path}"))), 42);
}

#[test]
fn load_stages_are_printed_with_their_rate_and_all_their_metrics() {
    let folder = Folder::new();
    let path = folder.file(
        "stages.csv",
        "id,stage,gpu,model,tp,engine,arrival,rate_rps,duration_s,prompt_tokens,output_tokens,\
         ttft_mean_ms,tpot_mean_ms,e2e_mean_ms\n\
         run,warm,H100,llama-3.1-8b,1,vllm-0.15.1,constant,2.5,4,100,10,30,,3000\n\
         run,2,H100,llama-3.1-8b,1,vllm-0.15.1,constant,2.5,4,100,10,30,7,\n",
    );
    let report = json(&format!("validate {path}"));
    assert_eq!(text(&report, "/rows/0/stage"), "warm");
    assert_eq!(text(&report, "/rows/0/gpu"), "h100");
    let in_columns = |columns: &str| {
        let output = rooflut(&format!("validate {path}")).env("COLUMNS", columns).output();
        String::from_utf8(output.expect("it starts").stdout).expect("UTF-8")
    };
    let people = in_columns("200");
    let line = people.lines().find(|line| line.starts_with("  run "));
    let cells: Vec<&str> = line.expect("the stage").split_whitespace().collect();
    assert_eq!(cells[..6].join(" "), "run warm llama-3.1-8b h100 1 2.5");
    assert_eq!((cells[7], cells[13]), ("30.00", "3000.00"));
    assert_eq!(cells[9..12], ["-", "-", "-"], "{people}");
    // A narrow terminal has a line for each metric, and the run beside the first of them.
    let people = in_columns("80");
    for part in ["  run (llama-3.1-8b, h100, tp  TTFT    warm   2.5 ", " TPOT    2      2.5 ", " E2E     warm   2.5 "] {
        assert!(people.contains(part), "{people}");
    }
    // rate x E2E = 7.5 requests in the server
    let document = success(&format!("validate --markdown {path}"));
    assert!(document.contains("\n| h100 | below 8 | 1 |"), "{document}");
    assert!(!document.contains("Not covered"), "that is about the project's runs");
}

#[test]
fn the_coverage_of_intervals_is_that_of_the_stages() {
    let header = "id,gpu,model,tp,arrival,rate_rps,duration_s,prompt_tokens,output_tokens,ttft_mean_ms,tpot_mean_ms";
    // A prediction that holds, and a server that takes twice as long.
    let row = "a,h100,llama-3.1-8b,1,constant,1,20,500,100";
    let predicted = report("stages.csv", &format!("{header}\n{row},30,7\n"));
    let ms = |place: &str| number(&predicted, place);
    let (ttft, tpot) = (ms("/rows/0/predicted"), ms("/rows/1/predicted"));
    let stages = format!("{header}\n{row},{ttft},{tpot}\n{row},{ttft},{}\n", 2.0 * tpot);
    let answer = report("stages.csv", &stages);
    let rows = list(&answer, "/coverage").iter();
    let of_stages = rows.filter(|row| row["file"] == "stages.csv");
    let found = of_stages.map(|row| {
        let [nominal, covered] = ["/nominal", "/covered"].map(|key| number(row, key));
        assert_eq!(row["n"], 2);
        (text(row, "/metric"), nominal, covered)
    });
    let expected = [("ttft", 0.8, 1.0), ("ttft", 0.95, 1.0), ("tpot", 0.8, 0.5), ("tpot", 0.95, 0.5)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // The kernels of the one GPU, at two nominal coverages.
    let rows = list(&answer, "/coverage").iter();
    let of_kernels: Vec<_> = rows.filter(|row| row["file"] == "tables").collect();
    assert_eq!(of_kernels.len(), 10);
    assert!(of_kernels.iter().all(|row| row["gpu"] == "h100"));
}

/// The document and its plots.
const ACCURACY: &str = "docs/accuracy.md";
const PLOTS: [&str; 2] = ["docs/calibration.svg", "docs/scatter.svg"];

#[test]
fn the_document_on_accuracy_is_what_the_command_writes() {
    let path: PathBuf = workspace().join(ACCURACY);
    let found = std::fs::read_to_string(path).expect("the document");
    let folder = TempDir::new().expect("a folder");
    let plots = PLOTS.map(|plot| (plot, folder.path().join(plot.trim_start_matches("docs/"))));
    let [calibration, scatter] = plots.each_ref().map(|(_, path)| path.display());
    let written = success(&format!("validate --markdown --calibration {calibration} --scatter {scatter}"));
    let differs = found.lines().zip(written.lines()).find(|(old, new)| old != new);
    assert!(
        found == written,
        "{ACCURACY} is out of date ({differs:?}); write it again: cargo run --release -p rooflut-lab -- validate \
         --markdown --calibration {calibration} --scatter {scatter} > {ACCURACY}",
        calibration = PLOTS[0],
        scatter = PLOTS[1]
    );
    let contents = [&["TPOT (50)", "E2E (50)", "TTFT (50)", "gemm (", "moe ("][..], &["h100 (", "b200 ("]];
    for ((name, plot), contents) in plots.iter().zip(contents) {
        let [drawn, committed] =
            [plot, &workspace().join(name)].map(|path| std::fs::read_to_string(path).expect("a plot"));
        assert!(drawn == committed, "{name} is out of date");
        for drawn in contents {
            assert!(committed.contains(drawn), "{drawn}");
        }
        // XML allows no "--" within a comment: a browser would refuse the picture.
        let comment = committed.split_once("<!--").expect("a comment").1.split_once("-->").expect("its end").0;
        assert!(!comment.contains("--"), "{comment}");
    }
    assert!(written.contains("\n## Not covered\n"));
}
