//! The search finds what a search of all deployments finds, with a small part of its runs.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use std::io::ErrorKind;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rooflut::hardware::Dtype;
use rooflut::model;
use rooflut::table::{TableSet, sets};
use rooflut_plan::{Answer, Limits, Plan, Question, Space};
use rooflut_scenario::{Model, Prices, Resources, Run, Scenario};

/// Formats of weights, and of KV entries.
const FORMATS: [Dtype; 2] = [Dtype::Bf16, Dtype::Fp8];

/// The deployments to choose from.
struct Grid {
    max_gpus: u32,
    max_num_seqs: &'static [u32],
}

/// 688 deployments.
const LARGE: Grid = Grid { max_gpus: 8, max_num_seqs: &[64, 256] };
/// 144 deployments.
const SMALL: Grid = Grid { max_gpus: 4, max_num_seqs: &[32, 128] };

struct Case {
    requests: u32,
    rate: f64,
    prompt: &'static str,
    output: &'static str,
    /// Limits on the p99, milliseconds.
    ttft: Option<f64>,
    tpot: Option<f64>,
}

impl Case {
    fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::default();
        scenario.workload.rate = Some(self.rate);
        scenario.workload.requests = Some(self.requests);
        scenario.workload.prompt = Some(self.prompt.parse().unwrap());
        scenario.workload.output = Some(self.output.parse().unwrap());
        scenario.server.link_bandwidth = Some(50.0);
        scenario.server.link_latency = Some(10.0);
        scenario
    }

    fn plan(&self, grid: &Grid) -> Plan {
        let llama = model::find("llama-3.1-8b").unwrap();
        let mut space = Space::new(&llama.spec, vec![sets::H100.clone()]);
        space.max_gpus = grid.max_gpus;
        space.dtype = FORMATS.map(Some).into();
        space.kv_dtype = FORMATS.map(Some).into();
        space.max_num_seqs = grid.max_num_seqs.iter().copied().map(Some).collect();
        let limits = [("ttft", self.ttft), ("tpot", self.tpot)]
            .into_iter()
            .filter_map(|(name, ms)| Some(format!("{name}:{}", ms?).parse().unwrap()));
        let limits = Limits::try_new(limits.collect(), None).unwrap();
        let model = Model::new(llama.name, llama.spec);
        let read = |_: &_| Err(ErrorKind::NotFound.into());
        Question::new(self.scenario(), model, &read, space, limits).plan().unwrap()
    }
}

/// Degrees of tensor parallelism.
const DEGREES: [u32; 4] = [1, 2, 4, 8];

/// Tensor parallelism and number of equal servers.
type Pool = (u32, u32);

/// The servers within some GPUs: the prefill servers, if they are separate, and the others.
fn servers(max_gpus: u32) -> Vec<(Option<Pool>, Pool)> {
    let numbers = |tp: u32, gpus: u32| 1..=gpus / tp;
    let mut found = Vec::new();
    for tp in DEGREES {
        found.extend(numbers(tp, max_gpus).map(|count| (None, (tp, count))));
        for prefill in DEGREES {
            for count in numbers(prefill, max_gpus) {
                let left = max_gpus - prefill * count;
                found.extend(numbers(tp, left).map(|decode| (Some((prefill, count)), (tp, decode))));
            }
        }
    }
    found
}

/// Every deployment of the grid, as a scenario, with its GPUs.
fn deployments(case: &Case, grid: &Grid) -> Vec<(u32, Scenario)> {
    let mut found = Vec::new();
    let base = case.scenario();
    for (prefill, (tp, count)) in servers(grid.max_gpus) {
        for dtype in FORMATS {
            for kv_dtype in FORMATS {
                for &sequences in grid.max_num_seqs {
                    let mut scenario = base.clone();
                    scenario.target.tp = Some(tp);
                    scenario.target.dtype = Some(dtype);
                    scenario.target.kv_dtype = Some(kv_dtype);
                    let server = &mut scenario.server;
                    server.max_num_seqs = Some(sequences);
                    match prefill {
                        None => {
                            server.replicas = Some(count);
                            server.link_bandwidth = None;
                            server.link_latency = None;
                        }
                        Some((prefill_tp, prefill)) => {
                            server.prefill_replicas = Some(prefill);
                            server.decode_replicas = Some(count);
                            if prefill_tp != tp {
                                server.prefill = Some(vec![format!("tp={prefill_tp}").parse().unwrap()]);
                            }
                        }
                    }
                    let gpus = tp * count + prefill.map_or(0, |(tp, count)| tp * count);
                    found.push((gpus, scenario));
                }
            }
        }
    }
    found
}

/// Returns the headroom of a deployment that meets the limits with every seed.
fn headroom(case: &Case, scenario: &Scenario, tables: &TableSet) -> Option<f64> {
    let llama = model::find("llama-3.1-8b").unwrap();
    let model = Model::new(llama.name, llama.spec);
    let resources = Resources {
        model: model.clone(),
        draft_model: None,
        tables: tables.clone(),
        find: &|_| Ok((model.clone(), tables.clone())),
        read: &|_| Err(ErrorKind::NotFound.into()),
    };
    let run = Run::try_new(scenario.clone(), resources).unwrap();
    let left = |p99: Option<f64>, limit: Option<f64>| limit.map_or(1.0, |ms| 1.0 - p99.unwrap() / ms);
    let mut least = 1.0_f64;
    for seed in 0..3 {
        let report = run.with_seed(seed).unwrap().run(&mut ()).unwrap().report();
        let ttft = left(report.ttft_ms.p99, case.ttft);
        least = least.min(ttft).min(left(report.tpot_ms.p99, case.tpot));
        if report.overloaded || report.rejected > 0 || least < 0.0 {
            return None;
        }
    }
    Some(least)
}

fn is_of(answer: &Answer, scenario: &Scenario) -> bool {
    let (target, server) = (&scenario.target, &scenario.server);
    let unlike = server.prefill.iter().flatten().map(ToString::to_string).next();
    Some(answer.tp) == target.tp
        && answer.prefill.as_ref().map(|prefill| format!("tp={}", prefill.tp)) == unlike
        && Some(answer.weights.weight_dtype) == target.dtype
        && Some(answer.kv_dtype) == target.kv_dtype
        && answer.replicas == server.replicas
        && answer.prefill_replicas == server.prefill_replicas
        && answer.decode_replicas == server.decode_replicas
        && Some(answer.max_num_seqs) == server.max_num_seqs
}

/// Checks that the plan is the best of all deployments of the grid, and takes at most a share of their runs.
fn check(case: &Case, grid: &Grid, (one, of): (u64, u64)) {
    let plan = case.plan(grid);
    let all = deployments(case, grid);
    let judged: Vec<Option<f64>> = all.par_iter().map(|(_, scenario)| headroom(case, scenario, &sets::H100)).collect();
    let meeting = all.iter().zip(&judged).filter_map(|((gpus, scenario), left)| Some((*gpus, (*left)?, scenario)));
    let best = meeting.min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (gpus, left, scenario) = best.unwrap();
    let answer = plan.deployments.first().unwrap();
    assert!(gpus > 1, "one server is found without a search");
    assert_eq!(answer.gpus, gpus);
    assert!((answer.headroom.unwrap() - left).abs() < 1e-9);
    assert!(is_of(answer, scenario), "{answer:?}");
    let runs = 3 * all.len() as u64;
    assert!(plan.simulations * of <= runs * one, "{} of {runs} runs", plan.simulations);
}

#[test]
fn the_search_finds_the_best_of_a_small_grid() {
    // Enough for the p99 of the servers with the longest warm-up.
    let case = Case { requests: 2_000, rate: 40.0, prompt: "512", output: "128", ttft: Some(150.0), tpot: Some(12.0) };
    check(&case, &SMALL, (1, 5));
}

#[test]
#[ignore = "slow: simulates 1,376 deployments"]
fn the_search_finds_what_all_deployments_have_with_a_tenth_of_the_runs() {
    for case in [
        Case { requests: 2_000, rate: 40.0, prompt: "512", output: "256", ttft: Some(150.0), tpot: Some(12.0) },
        Case {
            requests: 2_000,
            rate: 60.0,
            prompt: "lognormal:1000,0.6@16..4096",
            output: "lognormal:200,0.6@16..2000",
            ttft: Some(400.0),
            tpot: None,
        },
    ] {
        check(&case, &LARGE, (1, 10));
    }
}

/// The cheapest of all numbers of servers of one GPU each: US dollars per hour, headroom, table set and servers.
fn cheapest<'t>(case: &Case, kinds: &[(&'t TableSet, f64)], max_gpus: u32) -> Option<(f64, f64, &'t TableSet, u32)> {
    let all = kinds.iter().flat_map(|(tables, usd)| (1..=max_gpus).map(move |gpus| (*tables, *usd, gpus)));
    let judged = all.filter_map(|(tables, usd, gpus)| {
        let mut scenario = case.scenario();
        scenario.target.gpu = Some(tables.name().to_owned());
        scenario.server.link_bandwidth = None;
        scenario.server.link_latency = None;
        scenario.server.replicas = Some(gpus);
        let left = headroom(case, &scenario, tables)?;
        Some((usd * f64::from(gpus), left, tables, gpus))
    });
    judged.min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)))
}

#[test]
fn with_several_gpus_the_lowest_price_is_found() {
    const MAX_GPUS: u32 = 6;
    let case = Case { requests: 2_000, rate: 90.0, prompt: "512", output: "256", ttft: Some(150.0), tpot: Some(12.0) };
    let llama = model::find("llama-3.1-8b").unwrap();
    let mut chosen = Vec::new();
    for [h100, h200] in [[2.0, 3.5], [3.0, 3.1]] {
        let kinds = [(&sets::H100, h100), (&sets::H200, h200)];
        let (usd, left, tables, gpus) = cheapest(&case, &kinds, MAX_GPUS).unwrap();
        let price = |gpu, usd| format!("[{gpu}]\nusd_per_hour = {usd:?}\nsource = 's'\ndate = '2025'\n");
        let prices = price("h100", h100) + &price("h200", h200);
        let mut space = Space::new(&llama.spec, kinds.map(|(tables, _)| TableSet::clone(tables)).into());
        (space.tp, space.max_gpus) = (vec![1], MAX_GPUS);
        let limits = ["ttft:150", "tpot:12"].map(|limit| limit.parse().unwrap());
        let limits = Limits::try_new(limits.into(), None).unwrap();
        let mut scenario = case.scenario();
        scenario.server.link_bandwidth = None;
        scenario.server.link_latency = None;
        let model = Model::new(llama.name, llama.spec);
        let read = |_: &_| Err(ErrorKind::NotFound.into());
        let mut question = Question::new(scenario, model, &read, space, limits);
        question.prices = Some(Prices::read(prices.as_bytes(), &[]).unwrap());
        let plan = question.plan().unwrap();
        let best = plan.deployments.first().unwrap();
        assert_eq!((best.gpu.as_str(), best.gpus), (tables.name(), gpus));
        assert!((best.headroom.unwrap() - left).abs() < 1e-9);
        let cost = best.hourly_cost.as_ref().unwrap();
        assert!((cost.usd - usd).abs() < 1e-9);
        let per_request = usd / 3600.0 / best.requests_per_s;
        assert!((cost.usd_per.request.unwrap() / per_request - 1.0).abs() < 1e-9);
        chosen.push(best.gpu.clone());
    }
    assert_eq!(chosen, ["h100", "h200"]);
}
