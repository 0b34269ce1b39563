//! The parts of the memory of servers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code outside of test functions")]

use rooflut_validation::{Case, FileReport, Kind, Metric, Predictor, embedded, read, validate};

fn report() -> FileReport {
    let datasets = embedded().unwrap();
    let memory = datasets.iter().find(|of| of.kind == Kind::Memory).unwrap();
    validate(memory, &Predictor::default())
}

/// Absolute errors in GiB on a GPU, ascending, with the rows.
fn errors(report: &FileReport, metric: Metric) -> Vec<(f64, &Case)> {
    let cases = report.cases.iter();
    let compared = cases.filter_map(|case| Some((case.comparison(metric)?, case)));
    let errors = compared.map(|(of, case)| ((of.predicted - of.actual).abs(), case));
    let mut errors: Vec<_> = errors.collect();
    errors.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    errors
}

#[track_caller]
fn assert_errors(report: &FileReport, metric: Metric, median: f64, worst: f64) {
    let errors = errors(report, metric);
    let (middle, _) = errors[errors.len() / 2];
    let (largest, case) = errors[errors.len() - 1];
    assert!(middle <= median, "{metric:?}: median {middle}");
    assert!(largest <= worst, "{metric:?}: {largest} of {case:?}");
}

/// The goal is 0.2 GiB in the median and 0.6 at worst.
#[test]
fn kv_memory_is_within_a_third_of_a_gib() {
    let report = report();
    assert_eq!((report.rows, report.cases.len()), (27, 25));
    assert_errors(&report, Metric::KvMemory, 0.05, 0.35);
}

/// Weights with a scale per 128 weights count as those with one per 32; vLLM's sizes of Kimi-Dev and phi-4 are 0.08 to
/// 0.12 GiB above those of their weights. Two of the servers have 0.2 GiB more of kernels than their equals.
#[test]
fn each_part_of_the_memory_is_right() {
    let report = report();
    assert_errors(&report, Metric::Weights, 0.01, 0.3);
    assert_errors(&report, Metric::Activations, 0.01, 0.02);
    assert_errors(&report, Metric::NonTorch, 0.01, 0.22);
    // Parts of servers with several stages may be of any stage.
    let is_whole = |case: &&Case| case.comparison(Metric::Weights).is_some();
    assert_eq!(report.cases.iter().filter(is_whole).count(), 23);
}

/// One has float32 weights, the other an encoder of images: 0.8 GiB of weights.
#[test]
fn two_servers_are_left_out_by_the_part_that_is_not_modelled() {
    let report = report();
    let reasons: Vec<&str> = report.skipped.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    for name in ["float32", "granite-vision-3.3-2b"] {
        assert!(reasons.iter().any(|it| it.contains(name)), "{reasons:?}");
    }
}

#[test]
fn limits_that_a_row_names_replace_those_of_vllm() {
    let activations = |limits: &str| {
        let text = format!(
            "gpu,model,tp,engine,weights_memory_gib,activation_memory_gib,non_torch_forward_gib,\
             kv_cache_blocks,max_num_seqs,max_num_batched_tokens\n\
             h100,llama-3.1-8b,1,vllm-0.19.0,15,2,0.2,30000,{limits}\n"
        );
        let report = validate(&read("f.csv", text).unwrap(), &Predictor::default());
        let case = &report.cases[0];
        case.comparison(Metric::Activations).unwrap().predicted
    };
    assert_eq!(activations(",").to_bits(), activations("1024,8192").to_bits());
    assert!(activations("256,8192") < 0.5 * activations(","));
    assert!(activations("16,2048") < 0.5 * activations("16,8192"));
}

#[test]
fn kv_blocks_of_older_versions_are_within_a_fifth_of_a_percent() {
    let datasets = embedded().unwrap();
    let blocks = datasets.iter().find(|of| of.kind == Kind::KvBlocks);
    let report = validate(blocks.unwrap(), &Predictor::default());
    assert_eq!(report.cases.len(), 9);
    for case in &report.cases {
        let error = case.comparison(Metric::KvBlocks).unwrap().ape();
        assert!(error < 0.2, "{error} % of {case:?}");
    }
}
