//! The highest rate is the one that runs of the scenario confirm.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use std::io::ErrorKind;

use rayon::ThreadPoolBuilder;
use rooflut::model;
use rooflut::table::sets;
use rooflut_plan::{Limits, RateQuestion, Saturation, Setting};
use rooflut_scenario::{Model, Resources, Run, Scenario, no_others};

fn resources() -> Resources<'static> {
    let llama = model::find("llama-3.1-8b").unwrap();
    Resources {
        model: Model::new(llama.name, llama.spec),
        draft_model: None,
        tables: sets::H100.clone(),
        find: &no_others,
        read: &|_| Err(ErrorKind::NotFound.into()),
    }
}

fn scenario(prompt: &str, output: &str) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.workload.prompt = Some(prompt.parse().unwrap());
    scenario.workload.output = Some(output.parse().unwrap());
    // Few enough for short runs to overload a server.
    scenario.server.max_num_seqs = Some(128);
    scenario.server.max_num_batched_tokens = Some(2_048);
    scenario
}

fn divided(prefill: u32, decode: u32) -> Scenario {
    let mut scenario = scenario("uniform:500..1500", "200");
    scenario.server.prefill_replicas = Some(prefill);
    scenario.server.decode_replicas = Some(decode);
    scenario.server.link_bandwidth = Some(50.0);
    scenario.server.link_latency = Some(10.0);
    scenario
}

/// Runs as short as their p99 allows.
fn short(mut scenario: Scenario) -> Scenario {
    scenario.workload.requests = Some(500);
    scenario
}

fn saturate(scenario: &Scenario, limits: &[&str]) -> Saturation {
    let mut question = RateQuestion::new(scenario.clone(), resources());
    let limits: Vec<_> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    question.limits = (!limits.is_empty()).then(|| Limits::try_new(limits, None).unwrap());
    question.saturate().unwrap()
}

/// Whether a rate is served in full with each of three seeds, within limits on the p99 of TTFT and TPOT.
fn holds(scenario: &Scenario, rate: f64, [ttft, tpot]: [f64; 2]) -> bool {
    let mut scenario = scenario.clone();
    scenario.workload.rate = Some(rate);
    scenario.workload.requests = Some(50_000);
    (0..3).all(|seed| {
        scenario.workload.seed = Some(seed);
        let run = Run::try_new(scenario.clone(), resources()).unwrap();
        let report = run.run(&mut ()).unwrap().report();
        let within = report.ttft_ms.p99.unwrap() <= ttft && report.tpot_ms.p99.unwrap() <= tpot;
        within && !report.overloaded && report.rejected == 0
    })
}

#[test]
fn limits_hold_at_the_highest_rate_and_not_far_above() {
    const ANY: f64 = f64::INFINITY;
    for (scenario, limits, bounds) in [
        (scenario("512", "256"), vec!["ttft:200"], [200.0, ANY]),
        (
            scenario("lognormal:1000,0.6@16..4096", "lognormal:200,0.6@16..2000"),
            vec!["tpot:15", "ttft:800"],
            [800.0, 15.0],
        ),
        (scenario("2000", "20"), vec![], [ANY, ANY]),
        (divided(1, 2), vec!["ttft:400"], [400.0, ANY]),
    ] {
        let found = saturate(&scenario, &limits);
        let best = found.within_limits.as_ref().unwrap_or(&found.saturation);
        assert_eq!(found.within_limits.is_some(), !limits.is_empty());
        assert!(best.meets && found.saturation.rate >= best.rate);
        assert!(holds(&scenario, 0.98 * best.rate, bounds), "{}", best.rate);
        assert!(!holds(&scenario, 1.02 * best.rate, bounds), "{}", best.rate);
        assert!(holds(&scenario, 0.98 * found.saturation.rate, [ANY, ANY]));
        assert!(!holds(&scenario, 1.02 * found.saturation.rate, [ANY, ANY]));
        assert!(found.curve.is_sorted_by(|a, b| a.rate < b.rate));
        for named in found.within_limits.iter().chain([&found.saturation, &found.knee]) {
            assert!(found.curve.contains(named));
        }
        let power = |point: &rooflut_plan::Point| point.requests_per_s / point.e2e_ms.mean.unwrap().mean;
        let highest = found.curve.iter().map(power).fold(0.0, f64::max);
        // The vertex of a parabola through samples of random runs.
        assert!(power(&found.knee) > 0.98 * highest);
    }
}

#[test]
fn the_setting_that_holds_requests_back_is_named_with_what_raising_it_gains() {
    let mut few = scenario("100", "500");
    few.server.max_num_seqs = Some(16);
    let found = saturate(&few, &[]);
    let limited = found.limited_by.unwrap();
    assert_eq!(limited.setting, Setting::MaxNumSeqs);
    assert_eq!((limited.value, limited.raised_to), (Some(16), Some(32)));
    few.server.max_num_seqs = Some(32);
    let raised = saturate(&few, &[]).saturation.rate;
    assert!(raised > 1.5 * found.saturation.rate);
    assert!((limited.rate.unwrap() / raised - 1.0).abs() < 0.02);
    // Latency, not a setting, is what keeps a server of many sequences from more.
    assert_eq!(saturate(&scenario("512", "256"), &["ttft:60"]).limited_by, None);
}

#[test]
fn the_best_division_is_that_of_a_search_of_all() {
    for limits in [&[][..], &["ttft:300", "tpot:12"]] {
        let found = saturate(&short(divided(3, 1)), limits).division.unwrap();
        let rates: Vec<(u32, f64)> = (1..4)
            .map(|prefill| {
                let found = saturate(&short(divided(prefill, 4 - prefill)), limits);
                let highest = match limits {
                    [] => Some(found.saturation),
                    _ => found.within_limits,
                };
                (prefill, highest.map_or(0.0, |point| point.rate))
            })
            .collect();
        let (prefill, rate) = *rates.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let best = found.best.unwrap();
        assert_eq!(best.prefill_replicas, prefill, "{rates:?}");
        assert!((best.rate.unwrap() / rate - 1.0).abs() < 1e-9);
        assert_eq!(found.splits.len(), 3);
        for split in &found.splits {
            assert!(split.rate.is_none_or(|rate| rate <= split.bound.unwrap()));
        }
        // The ratio lies between the divisions on both sides of the best one.
        let (ratio, decode) = (found.ratio.unwrap(), f64::from(best.decode_replicas));
        let prefill = f64::from(prefill);
        assert!(ratio > (prefill - 1.0) / (decode + 1.0));
        assert!(ratio < (prefill + 1.0) / (decode - 1.0));
    }
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let answer = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| saturate(&short(divided(1, 1)), &["ttft:300"]))
    };
    assert_eq!(answer(1), answer(4));
}

#[test]
fn loads_without_a_highest_rate_are_refused() {
    let error = |change: fn(&mut RateQuestion<'_>)| {
        let mut question = RateQuestion::new(scenario("512", "256"), resources());
        change(&mut question);
        question.saturate().unwrap_err().to_string()
    };
    let users = error(|question| question.scenario.workload.users = Some(3));
    assert!(users.starts_with("users: expected requests that arrive at a rate"), "{users}");
    let rate = error(|question| question.scenario.workload.rate = Some(3.0));
    assert_eq!(rate, "rate has no effect: it is varied; leave it out");
    let tolerance = error(|question| question.tolerance = 0.0);
    assert!(tolerance.starts_with("tolerance: expected a share"), "{tolerance}");
    let rejected = error(|question| {
        question.scenario.workload.prompt = Some("uniform:10..4000".parse().unwrap());
        question.scenario.server.max_model_len = Some(2_000);
    });
    assert!(rejected.contains("requests of a run are rejected even at"), "{rejected}");
}
