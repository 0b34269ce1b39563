//! Steps of engines: how rows of `steps_b300_vllm_0.20.1.csv` are read.
#![allow(
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use crate::support::tallies;
use rooflut_validation::{Case, FileReport, Kind, Metric, Predictor, Setting, embedded, read, validate};

const HEADER: &str = "gpu,engine,model,tp,dp,expert_parallel,decode_requests,decode_kv_tokens,\
                      prefill_requests,prefill_tokens,prefill_cached_tokens,latency_ms";

fn report(rows: &[&str]) -> FileReport {
    let text = format!("{HEADER}\n{}\n", rows.join("\n"));
    validate(&read("f.csv", text).unwrap(), &Predictor::default())
}

fn predicted(case: &Case) -> (Metric, f64) {
    let only = &case.comparisons[0];
    (only.metric, only.predicted)
}

#[test]
fn all_rows_but_suspect_ones_are_predicted() {
    let datasets = embedded().unwrap();
    let steps = datasets.iter().find(|of| of.kind == Kind::EngineSteps);
    let report = validate(steps.unwrap(), &Predictor::default());
    assert_eq!(tallies(&report.skipped), [("marked as suspect: the time cannot be that of the step", 3)]);
    assert_eq!(report.cases.len() + 3, report.rows);
    assert!(report.partly.is_empty());
    assert_eq!(tallies(&report.notes), []);
    let of = |model: &str, metric| {
        let cases = report.cases.iter().filter(|case| case.model == model);
        cases.filter(|case| predicted(case).0 == metric).count()
    };
    let dense = [Metric::Step, Metric::Prefill].map(|metric| of("qwen3-32b", metric));
    assert_eq!(dense, [124, 16]);
    let compressed = [Metric::Step, Metric::Prefill].map(|metric| of("deepseek-v4-flash", metric));
    assert_eq!(compressed, [161, 33]);
    assert!(report.cases.iter().all(|case| case.gpu == "b300" && case.engine == "vllm-0.20.1"));
}

#[test]
fn a_decode_step_is_that_of_decode_steps() {
    let own = report(&["h100,vllm-0.15.1,llama-3.1-8b,1,,,48,33600,0,0,,8"]);
    let header = "experiment,gpu,model,tp,engine,decode_requests,mean_context_tokens,step_ms";
    let other = format!("{header}\nd,h100,llama-3.1-8b,1,vllm-0.15.1,48,700,8\n");
    let other = validate(&read("f.csv", other).unwrap(), &Predictor::default());
    assert_eq!(own.cases[0].comparisons, other.cases[0].comparisons);
}

#[test]
fn sums_are_shared_by_the_prompts_and_context_takes_time() {
    let report = report(&[
        ",,qwen3-32b,2,,,0,0,1,4096,0,100",
        ",,qwen3-32b,2,,,0,0,2,8192,0,100",
        ",,qwen3-32b,2,,,0,0,1,8192,0,100",
        ",,qwen3-32b,2,,,0,0,1,4096,4096,100",
        ",,qwen3-32b,2,,,8,8000,1,4096,0,100",
    ]);
    let times: Vec<(Metric, f64)> = report.cases.iter().map(predicted).collect();
    assert!(times.iter().all(|(metric, _)| *metric == Metric::Prefill));
    let [one, two, long, cached, mixed] = [0, 1, 2, 3, 4].map(|row: usize| times[row].1);
    assert!(two > 1.8 * one && two < 2.1 * one && long > two);
    assert!(cached > one && cached < long && mixed > one);
}

#[test]
fn parallelism_names_the_run_and_ranks_without_experts_step_by_themselves() {
    let report = report(&[
        ",,qwen3-30b-a3b,2,2,1,8,8000,0,0,,10",
        ",,qwen3-30b-a3b,2,1,1,8,8000,0,0,,10",
        "b200,vllm-0.18.0,qwen3-30b-a3b,2,,0,8,8000,0,0,,10",
        ",,qwen3-32b,2,1,,8,8000,0,0,,10",
        ",,qwen3-32b,2,2,,8,8000,0,0,,10",
    ]);
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    let times: Vec<f64> = report.cases.iter().map(|case| predicted(case).1).collect();
    let [ranks, one, _, dense, dense_ranks] = times[..] else { panic!("{times:?}") };
    assert!(ranks != one && (dense - dense_ranks).abs() < 1e-12, "{times:?}");
    let of = |case: &Case| (case.label.id.clone(), case.gpu.clone());
    let found: Vec<_> = report.cases.iter().map(of).collect();
    let expected = [
        ("vllm-0.20.1 dp 2 ep", "b300"),
        ("vllm-0.20.1 ep", "b300"),
        ("vllm-0.18.0", "b200"),
        ("vllm-0.20.1", "b300"),
        ("vllm-0.20.1 dp 2", "b300"),
    ];
    assert_eq!(found, expected.map(|(id, gpu)| (id.to_owned(), gpu.to_owned())));
}

#[test]
fn every_second_configuration_of_the_shipped_file_is_fitted() {
    let shipped = |model, tp, dp, ep| format!(",,{model},{tp},{dp},{ep},8,8000,0,0,,10");
    let (dense, hybrid) = ("Qwen/Qwen3-32B", "Qwen/Qwen3.6-35B-A3B");
    let rows = [
        shipped(dense, 1, 1, 0),
        shipped(dense, 2, 1, 0),
        shipped(dense, 4, 1, 0),
        shipped(hybrid, 1, 1, 0),
        shipped(hybrid, 1, 2, 1),
    ];
    let report = report(&rows.each_ref().map(String::as_str));
    let settings = report.cases.iter().map(|case| case.setting);
    let found: Vec<_> = settings.filter_map(|setting: Setting| setting.servers()).collect();
    let expected = [
        ("one rank", false),
        ("one rank", true),
        ("one rank", false),
        ("one rank", true),
        ("data-parallel ranks", false),
    ];
    assert_eq!(found, expected);
}
