//! Closed loops: how rows of `servers_steady_state.csv` are read.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use crate::support::tallies;
use rooflut_validation::{Case, FileReport, Kind, Metric, Predictor, Setting, Tally, embedded, read, validate};

const HEADER: &str = "gpu,engine,model,precision,kv_dtype,tp,dp,expert_parallel,isl,osl,mean_prompt_tokens,\
                      mean_output_tokens,concurrency,ttft_ms,tpot_ms,saturated,suspect,measured";
const ROW: &str = "h100,vllm-0.15.1,llama-3.1-8b,bf16,,1,1,0,100,50,90,45,4,30,7,0,0,2026-02-10";

fn report(rows: &[&str]) -> FileReport {
    let text = format!("{HEADER}\n{}\n", rows.join("\n"));
    validate(&read("f.csv", text).unwrap(), &Predictor::default())
}

fn predicted(case: &Case, metric: Metric) -> f64 {
    case.comparison(metric).unwrap().predicted
}

fn is_fitted(case: &Case) -> bool {
    match case.setting {
        Setting::ClosedLoop { is_fitted, .. } => is_fitted,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_that_cannot_be_predicted_are_named_and_all_others_are() {
    let datasets = embedded().unwrap();
    let loops = datasets.iter().find(|of| of.kind == Kind::ClosedLoops);
    let mut some = loops.unwrap().clone();
    // One of each configuration: a run of all takes a minute.
    let mut seen = Vec::new();
    some.rows.retain(|row| {
        let key = (row.label.id.clone(), row.server.clone());
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    let report = validate(&some, &Predictor::default());
    let skipped: usize = report.skipped.iter().map(|tally| tally.rows()).sum();
    assert_eq!(report.cases.len() + skipped, some.rows.len());
    assert!(report.cases.len() >= 10 && report.partly.is_empty());
    for case in &report.cases {
        let Setting::ClosedLoop { servers, .. } = case.setting else {
            panic!("{case:?}");
        };
        assert_ne!(servers, "others", "{case:?}");
    }
    let is_unknown = |tally: &Tally| tally.text.contains("nvidia/Llama-3.1-8B-Instruct-FP8");
    let unknown = report.skipped.iter().filter(|tally| is_unknown(tally));
    assert_eq!(unknown.count(), 1, "{:?}", report.skipped);
}

#[test]
fn every_second_configuration_of_the_shipped_file_is_fitted_and_no_other() {
    let fp4 = "b200,vllm-0.19.0,MiniMaxAI/MiniMax-M2.5,fp4,fp8";
    let shipped = |tp: &str| format!("{fp4},{tp},1,0,100,50,90,45,4,30,7,0,0,2026-04-22");
    let report = report(&[ROW, &ROW.replace("bf16,,1,", "bf16,,2,"), &shipped("1"), &shipped("4")]);
    let fitted: Vec<bool> = report.cases.iter().map(is_fitted).collect();
    assert_eq!(fitted, [false, false, false, true]);
}

#[test]
fn expert_parallel_servers_hold_whole_experts() {
    let sliced = "h200,vllm-0.18.0,Qwen/Qwen3-235B-A22B-FP8,fp8,,4,1,0,100,50,90,45,4,30,7,0,0,2026-02-10";
    let whole = sliced.replace(",4,1,0,", ",4,1,1,");
    let report = report(&[sliced, &whole]);
    let [sliced, whole] = &report.cases[..] else {
        panic!("{report:?}");
    };
    assert!(whole.label.id.ends_with(" ep") && !sliced.label.id.ends_with(" ep"));
    // Four users reach few experts, and a step waits for the rank with most of them.
    assert!(predicted(whole, Metric::Tpot) > predicted(sliced, Metric::Tpot));
}

#[test]
fn equal_servers_share_the_users_and_hosts_may_be_slower() {
    let header = format!("{HEADER},replicas,step_wait_us");
    let rows = [format!("{ROW},1,"), format!("{ROW},2,0").replace(",4,30", ",8,30"), format!("{ROW},1,500")];
    let rows = rows.map(|row| row.replace(",90,45,", ",,,"));
    let text = format!("{header}\n{}\n", rows.join("\n"));
    let report = validate(&read("f.csv", text).unwrap(), &Predictor::default());
    let [single, fleet, slower] = &report.cases[..] else {
        panic!("{report:?}");
    };
    assert_eq!(fleet.label.id, "vllm-0.15.1 bf16 2 servers");
    for metric in [Metric::Ttft, Metric::Tpot] {
        // A server with half of the users, one after the other in turn.
        assert!((predicted(fleet, metric) / predicted(single, metric) - 1.0).abs() < 0.01, "{metric:?}");
    }
    assert!((predicted(slower, Metric::Tpot) - predicted(single, Metric::Tpot) - 0.5).abs() < 0.01);
    assert!(!is_fitted(slower));
    let alone = format!("{header}\n{ROW},1,500\n").replace(",4,30", ",1,30");
    assert!(is_fitted(&validate(&read("f.csv", alone).unwrap(), &Predictor::default()).cases[0]));
    let ranks = format!("{header}\n{ROW},2,0\n").replace(",1,1,0,100", ",1,2,0,100");
    let report = validate(&read("f.csv", ranks).unwrap(), &Predictor::default());
    assert_eq!(tallies(&report.skipped), [("equal servers of data-parallel ranks are not simulated", 1)]);
}

#[test]
fn lengths_are_uniform_around_their_means_and_equal_without() {
    let equal = ROW.replace(",90,45,", ",,,");
    let at_most = ROW.replace(",90,45,", ",100,50,");
    let of = |row| report(&[row]).cases[0].comparisons.clone();
    assert_eq!(of(&equal), of(&at_most));
    assert_ne!(of(&equal), of(ROW));
    for mean in ["49", "101"] {
        let row = ROW.replace(",90,", &format!(",{mean},"));
        let error = read("f.csv", format!("{HEADER}\n{row}\n")).unwrap_err();
        let expected = format!(
            "f.csv:2: mean_prompt_tokens: expected a mean between half of the maximum and the maximum, found \"{mean}\"; \
             correct this line"
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn marked_rows_and_parallelism_that_is_not_modelled_are_left_out() {
    let rows = [
        ROW.replace(",0,0,2026", ",1,0,2026"),
        ROW.replace(",0,0,2026", ",0,1,2026"),
        ROW.replace(",1,1,0,100", ",1,4,0,100"),
        ROW.replace(",4,30", ",0,30"),
    ];
    let report = report(&rows.each_ref().map(String::as_str));
    assert_eq!(report.cases.len(), 0);
    assert_eq!(
        tallies(&report.skipped),
        [
            ("its source marks it as saturated: a TTFT above 5 s", 1),
            ("its source marks it as suspect", 1),
            (
                "llama-3.1-8b on h100, tp 1: dp: expected 1, as ranks of a model without experts share nothing, found \
                 4; use 4 replicas",
                1,
            ),
            ("users: expected at least 1, found 0", 1),
        ]
    );
}

#[test]
fn a_nightly_build_is_predicted_by_its_date_and_more_users_wait_longer() {
    let nightly = ROW.replace("vllm-0.15.1", "vllm-nightly-5b8c30d6");
    let later = nightly.replace("2026-02-10", "2026-04-22");
    let many = ROW.replace(",4,30", ",64,30");
    let report = report(&[&nightly, &later, ROW, &many]);
    let engines: Vec<&str> = report.cases.iter().map(|case| case.engine).collect();
    assert_eq!(engines[..2], ["vllm-0.15.1", "vllm-0.19.0"]);
    for metric in [Metric::Ttft, Metric::Tpot] {
        assert!(predicted(&report.cases[2], metric) < predicted(&report.cases[3], metric));
    }
}
