//! `rooflut tables check`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as tests do"
)]

use crate::support::made_up::{MadeUp, OPERATIONS};
use crate::support::{failure, failure_with_answer, json, list, number, success, text};
use serde_json::Value;

const SETS: [&str; 6] = ["a100", "b200", "h100", "h100-infersim", "h200", "l40s"];

fn check(set: &str) -> Value {
    json(&format!("tables check {set}"))
}

/// Kind, file and line of each row that a warning names.
fn warned(answer: &Value) -> Vec<(String, String, u64)> {
    let mut rows = Vec::new();
    for warning in list(answer, "/warnings") {
        for row in list(warning, "/rows") {
            let line = row["line"].as_u64().expect("a line");
            rows.push((
                text(warning, "/kind").into(),
                text(row, "/file").into(),
                line,
            ));
        }
    }
    rows
}

#[test]
fn a_good_set_has_no_warnings() {
    let set = MadeUp::new();
    let answer = check(&set.path);
    assert_eq!(warned(&answer), []);
    assert_eq!(text(&answer, "/set"), "made-up");
    let people = success(&format!("tables check {} --deny-warnings", set.path));
    assert!(people.contains("warnings none"), "{people}");
    // The flag of all commands is as good as the argument.
    assert_eq!(
        success(&format!("tables check --tables {}", set.path)),
        people
    );
    assert_eq!(
        success(&format!("--tables {} tables check", set.path)),
        people
    );
}

#[test]
fn one_slow_row_is_named_and_no_other() {
    for file in OPERATIONS {
        let rows = MadeUp::new().rows(file);
        for row in [0, rows / 3, rows - 1] {
            let set = MadeUp::new();
            let line = set.scale(file, row, 1.8);
            let answer = check(&set.path);
            let place = format!("measured/{file}");
            assert_eq!(
                warned(&answer),
                [("outlier".into(), place.clone(), line)],
                "{answer:#}"
            );
            let warning = &list(&answer, "/warnings")[0];
            assert!((number(warning, "/ratio") - 1.8).abs() < 0.25, "{warning}");
            let message = text(warning, "/message");
            for words in [
                &format!("{place}:{line}: "),
                " us, expected about ",
                "measure again",
            ] {
                assert!(message.contains(words), "no {words} in {message}");
            }
            let people = success(&format!("tables check {}", set.path));
            assert!(people.contains(&format!("{place}:{line} ")), "{people}");
            assert!(
                people.contains(": 1 row far from its neighbours;"),
                "{people}"
            );
            assert!(
                people.contains("warnings 1: 1 outlier, 0 groups of dips"),
                "{people}"
            );
        }
    }
}

#[test]
fn one_fast_row_between_others_is_named_and_no_other() {
    let set = MadeUp::new();
    let line = set.scale("gemm.csv", 2, 0.6);
    assert_eq!(
        warned(&check(&set.path)),
        [("outlier".into(), "measured/gemm.csv".into(), line)]
    );
}

#[test]
fn less_time_for_more_work_names_both_rows() {
    let set = MadeUp::new();
    let before = set.scale("gemm.csv", 0, 1.12);
    let behind = set.scale("gemm.csv", 1, 0.93);
    let answer = check(&set.path);
    let place = |line| ("dips".to_owned(), "measured/gemm.csv".to_owned(), line);
    assert_eq!(
        warned(&answer),
        [place(behind), place(before)],
        "{answer:#}"
    );
    let message = text(&list(&answer, "/warnings")[0], "/message");
    assert!(
        message.starts_with(
            "gemm bf16: latency falls along m in one place, most at measured/gemm.csv:3: "
        ),
        "{message}"
    );
    let people = success(&format!("tables check {}", set.path));
    assert!(
        people.contains("us  line before  its us  less %"),
        "{people}"
    );
}

#[test]
fn what_most_shapes_do_is_told_once() {
    let set = MadeUp::new();
    for row in (0..set.rows("gemm.csv")).step_by(MadeUp::POINTS) {
        set.scale("gemm.csv", row, 1.5);
    }
    let answer = check(&set.path);
    let [warning] = list(&answer, "/warnings") else {
        panic!("{answer:#}");
    };
    let message = text(warning, "/message");
    assert!(
        message.contains("from m 1 to m 4 in 6 of 6 places"),
        "{message}"
    );
    assert!(message.contains("most do"), "{message}");
    assert_eq!(list(warning, "/rows").len(), 12);
}

#[test]
fn a_set_in_one_file_is_checked_with_its_own_lines() {
    let set = MadeUp::new();
    let line = set.scale("gemm.csv", 2, 1.8);
    let (file, offset) = set.as_one_file();
    let place = (
        "outlier".to_owned(),
        "made-up.tables".to_owned(),
        line + offset,
    );
    assert_eq!(warned(&check(&file)), [place]);
}

#[test]
fn rows_that_the_set_excludes_are_listed_with_their_reason() {
    let answer = check("bench_data/b200");
    let excluded = list(&answer, "/excluded");
    let rows: Vec<usize> = excluded
        .iter()
        .map(|entry| list(entry, "/rows").len())
        .collect();
    assert_eq!(rows, [35, 10, 7, 1]);
    assert_eq!(text(&excluded[1], "/file"), "b200/gemm.csv");
    assert!(text(&excluded[1], "/reason").starts_with("Slower than GB200's row by 23 to 67 %"));
    assert_eq!(list(&excluded[1], "/rows")[0], "fp8,512,16384,16384,497.4");
    let people = success("tables check bench_data/b200");
    assert!(
        people.contains("  excluded 10 rows of b200/gemm.csv: Slower than"),
        "{people}"
    );
    // The compiled set does not have them.
    assert_eq!(list(&check("b200"), "/excluded").len(), 0);
}

#[test]
fn denied_warnings_fail_after_the_answer() {
    let set = MadeUp::new();
    set.scale("gemm.csv", 2, 1.8);
    let arguments = format!("tables check {}", set.path);
    let people = success(&arguments);
    let (answer, message) = failure_with_answer(&format!("{arguments} --deny-warnings"));
    assert_eq!(answer, people);
    assert_eq!(
        message,
        "made-up: expected no warning, found 1; measure the rows again or leave them out, or leave out \
         --deny-warnings"
    );
}

#[test]
fn errors_are_those_of_a_build() {
    let set = MadeUp::new();
    let line = set.scale("gemm.csv", 5, 1e-3);
    let message = failure(&format!("tables check {}", set.path));
    assert!(
        message.starts_with(&format!("{}/gemm.csv:{line}: ", set.path)),
        "{message}"
    );
    assert!(message.contains("TFLOP/s"), "{message}");
    assert_eq!(failure(&format!("tables plot {}", set.path)), message);
}

#[test]
fn the_built_in_sets_have_warnings_and_no_errors() {
    for set in SETS {
        let answer = check(&format!("bench_data/{set}"));
        assert_eq!(text(&answer, "/set"), set);
        let rows: f64 = list(&answer, "/kernels")
            .iter()
            .map(|kernels| number(kernels, "/rows"))
            .sum();
        assert!((rows - number(&answer, "/rows")).abs() < 0.5);
        for kernels in list(&answer, "/kernels") {
            // Attention within a window (feature `window`) is not predicted from the other rows.
            if text(kernels, "/kernels").contains("_window ") {
                continue;
            }
            assert!(
                number(kernels, "/left_out/median_ape") < 8.0,
                "{set}: {kernels}"
            );
            assert!(number(kernels, "/left_out/rows") > 10.0);
        }
        let found = |figure: &str| -> f64 {
            let kernels = list(&answer, "/kernels").iter();
            // The document counts what is compiled in by default.
            let kernels = kernels.filter(|kernels| !text(kernels, "/kernels").contains("_window "));
            kernels.map(|kernels| number(kernels, figure)).sum()
        };
        let row = format!("| `{set}` | {} | {} | ", found("/outliers"), found("/dips"));
        let told = include_str!("../../../bench_data/README.md").contains(&row);
        assert!(told, "write into bench_data/README.md, Outliers: {row}");
        // Few enough to be read.
        assert!(list(&answer, "/warnings").len() < 80, "{set}");
        let compiled = check(set);
        assert_eq!(compiled["kernels"], answer["kernels"]);
        assert_eq!(compiled["coverage"], answer["coverage"]);
        assert_eq!(
            list(&compiled, "/warnings").len(),
            list(&answer, "/warnings").len()
        );
        for row in list(&compiled, "/warnings")
            .iter()
            .flat_map(|warning| list(warning, "/rows"))
        {
            assert_eq!((&row["file"], &row["line"]), (&Value::Null, &Value::Null));
        }
        for name in [set.to_owned(), format!("bench_data/{set}")] {
            let people = success(&format!("tables check {name}"));
            // Rows of attention within a window (feature `window`) have one more column and a longer name.
            let widest = if people.contains("_window") { 130 } else { 102 };
            assert!(
                people.lines().all(|line| line.chars().count() <= widest),
                "{people}"
            );
        }
    }
}

#[test]
fn known_bad_rows_of_the_built_in_sets_are_found() {
    for (set, kind, file, line) in [
        // 94 us between 23 and 24.
        ("a100", "outlier", "a100/attention_decode.csv", 1042),
        // 15 us between 6 and 7.
        ("a100", "outlier", "a100/allreduce.csv", 52),
        // 11.8 us between 7.6 and 8.3.
        ("b200", "outlier", "b200/gemm.csv", 224),
    ] {
        let found = warned(&check(&format!("bench_data/{set}")));
        let row = (kind.to_owned(), file.to_owned(), line);
        assert!(found.contains(&row), "no {row:?} in {found:?}");
    }
}

#[test]
fn coverage_is_told_for_each_model_and_number_of_gpus() {
    let models = json("models");
    let answer = check("h100");
    let coverage = list(&answer, "/coverage");
    assert_eq!(coverage.len(), 4 * list(&models, "").len());
    let of = |model: &str, tp: u32| {
        let mut found = coverage
            .iter()
            .filter(|row| row["model"] == model && row["tp"] == tp);
        found.next().unwrap_or_else(|| panic!("no {model}"))
    };
    assert_eq!(of("llama-3.1-8b", 2)["class"], "smoothed");
    assert_eq!(of("llama-3.1-8b", 1)["part"], "lm_head");
    assert_eq!(of("qwen2.5-7b", 8)["class"], Value::Null);
    assert!(text(of("qwen2.5-7b", 8), "/refused").contains("q_heads"));
    // A set without MoE cannot answer for experts, and says so.
    let people = success("tables check h100-infersim");
    assert!(people.contains("refused (1)"), "{people}");
    // Rows that are predicted from the others are not those that a set excludes.
    let heading = "rows  outliers  dips  predicted  median error %  p95 error %";
    assert!(people.contains(heading), "{people}");
    assert!(!people.contains("left out"), "{people}");
    assert!(people.contains("\n  (1)      "), "{people}");
}

#[test]
fn what_is_no_set_is_told_with_the_nearest() {
    let message = failure("tables check h10");
    assert!(
        message.contains("found \"h10\" (nearest: h100"),
        "{message}"
    );
    let message = failure("tables check bench_data/h10");
    assert!(
        message.contains("found nothing there; check the path"),
        "{message}"
    );
    for (arguments, found) in [
        ("tables check", "neither"),
        ("tables plot h100 --tables bench_data/h100", "both"),
    ] {
        let message = failure(arguments);
        assert!(
            message.contains(&format!("found {found}; see --help")),
            "{message}"
        );
    }
    let help = success("tables --help");
    assert!(
        help.contains("  check") && help.contains("  plot"),
        "{help}"
    );
    assert!(failure("tables chek h100").contains("check"));
}
