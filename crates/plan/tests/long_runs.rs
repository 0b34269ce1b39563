//! Plans hold in long runs: the fleet that a plan names meets its limits with seeds that the search did not use, in
//! runs ten times as long, and one server fewer does not.
//!
//! `questions.jsonl` has 200 questions about vLLM 0.15.1, for whose servers the loads were chosen. A line for each of
//! every tenth of the first hundred:
//! `cargo test --release -p rooflut-plan --test long_runs -- --ignored --nocapture`.
//! `ROOFLUT_QUESTIONS=all` before it asks all, which takes hours, and `ROOFLUT_QUESTIONS=3,17` these.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code outside of test functions")]

use std::io::ErrorKind;
use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rooflut::model;
use rooflut::table::{TableSet, sets};
use rooflut_plan::{Answer, Limits, Plan, Question, RateQuestion, Space};
use rooflut_report::Report;
use rooflut_scenario::{Model, Resources, Run, Scenario, no_others};
use serde::Deserialize;

/// Seeds of the long runs.
const SEEDS: [u64; 5] = [101, 102, 103, 104, 105];
/// Time that the long runs take, as a multiple of those of the search.
const TIMES: f64 = 10.0;
/// Requests beyond which a long run of servers of which the search simulated a few is cut.
const MAX_OF_ALL: f64 = 500_000.0;
/// More of them for each of the servers.
const MAX_OF_EACH: f64 = 3_000.0;
/// Requests that a run takes.
const MAX_OF_A_RUN: u64 = 10_000_000;

#[derive(Deserialize)]
struct Case {
    scenario: Scenario,
    /// Values of tensor parallelism to choose from.
    tp: Vec<u32>,
    /// Limits as on the command line.
    limits: Vec<String>,
    attainment: Option<f64>,
}

/// The verdict of long runs on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The fleet holds, and one server fewer does not.
    Right,
    /// The fleet misses a limit.
    TooSmall,
    /// One server fewer holds with every seed.
    TooLarge,
    /// No fleet meets the limits, or they are met by one server.
    Unasked,
}

impl Case {
    fn model(&self) -> Model {
        let found = model::find(self.scenario.target.model()).unwrap();
        Model::new(found.name, found.spec)
    }

    fn tables(&self) -> TableSet {
        let name = self.scenario.target.gpu();
        sets::ALL.into_iter().find(|set| set.name() == name).unwrap().clone()
    }

    fn resources(&self) -> Resources<'static> {
        Resources {
            model: self.model(),
            draft_model: None,
            tables: self.tables(),
            find: &no_others,
            read: &|_| Err(ErrorKind::NotFound.into()),
        }
    }

    fn limits(&self) -> Limits {
        let limits = self.limits.iter().map(|limit| limit.parse().unwrap());
        Limits::try_new(limits.collect(), self.attainment).unwrap()
    }

    fn plan(&self) -> Plan {
        let model = self.model();
        let mut space = Space::new(&model.spec, vec![self.tables()]);
        space.tp.clone_from(&self.tp);
        space.dtype = vec![self.scenario.target.dtype];
        space.dp = vec![1];
        space.expert_parallel = vec![false];
        space.max_num_seqs = vec![self.scenario.server.max_num_seqs];
        space.max_gpus = 2_048;
        let read = |_: &Path| Err(ErrorKind::NotFound.into());
        let scenario = self.scenario.clone();
        Question::new(scenario, model, &read, space, self.limits()).plan().unwrap()
    }

    /// The run of a fleet.
    fn run(&self, fleet: &Scenario) -> Run {
        let mut scenario = fleet.clone();
        scenario.workload.seeds = None;
        let limits = self.limits.iter().map(|limit| limit.parse().unwrap());
        scenario.output.goodput = self.attainment.map(|_| limits.collect());
        Run::try_new(scenario, self.resources()).unwrap()
    }

    /// Requests of the long runs of a plan's answer.
    fn requests(&self, answer: &Answer, seeds: u64) -> u64 {
        let run = self.run(&answer.scenario);
        // The search may have simulated a few servers of many.
        let sample = run.sampled();
        let stands_for = sample.map_or(1.0, |run| run.servers() / f64::from(run.replicas()));
        let requests = TIMES * (answer.requests / seeds).max(1_000) as f64;
        let most = MAX_OF_ALL + MAX_OF_EACH * run.servers();
        (stands_for * requests).min(most).max(requests) as u64
    }

    /// Whether a fleet meets the limits in long runs with each of the seeds.
    fn holds(&self, fleet: &Scenario, requests: u64) -> bool {
        self.holds_to(1.0, fleet, requests)
    }

    /// Whether a fleet meets the limits times `share` in long runs with each of the seeds.
    fn holds_to(&self, share: f64, fleet: &Scenario, requests: u64) -> bool {
        let run = self.run(fleet);
        let holds = |seed: u64| {
            let report = long_run(&run, seed, requests);
            let limits = self.limits();
            let is_met = match self.attainment {
                Some(attainment) => {
                    let met = report.goodput.unwrap().met as f64;
                    let counted =
                        report.steady.warm_up_requests.unwrap_or(0) + report.steady.drain_requests.unwrap_or(0);
                    met >= attainment * (report.requests - counted) as f64
                }
                None => limits.limits().iter().all(|limit| {
                    let latency = match limit.latency().name() {
                        "ttft" => report.ttft_ms,
                        "tpot" => report.tpot_ms,
                        _ => report.e2e_ms,
                    };
                    let figure = match limit.figure().name() {
                        "mean" => latency.mean,
                        "p50" => latency.p50,
                        "p90" => latency.p90,
                        "p95" => latency.p95,
                        _ => latency.p99,
                    };
                    figure.is_some_and(|figure| figure <= share * limit.ms())
                }),
            };
            let holds = is_met && !report.overloaded && report.rejected == 0;
            if !holds {
                println!(
                    "    seed {seed}: {} servers, {} requests, ttft {:?}, tpot {:?}, e2e {:?}, {:?}, overloaded {}",
                    report.replicas,
                    report.requests,
                    report.ttft_ms,
                    report.tpot_ms,
                    report.e2e_ms,
                    report.steady,
                    report.overloaded
                );
            }
            holds
        };
        SEEDS.into_par_iter().all(holds)
    }

    /// The highest rate of two servers that meet the limits; `None` for users, and where no rate meets them.
    fn highest_rate(&self) -> Option<Scenario> {
        let mut scenario = self.scenario.clone();
        scenario.target.tp = self.tp.first().copied();
        scenario.server.replicas = Some(2);
        (scenario.server.link_bandwidth, scenario.server.link_latency) = (None, None);
        scenario.workload.rate.take()?;
        let mut question = RateQuestion::new(scenario.clone(), self.resources());
        question.limits = Some(self.limits());
        let highest = question.saturate().unwrap().within_limits?;
        scenario.workload.rate = Some(highest.rate);
        Some(scenario)
    }

    fn outcome(&self, plan: &Plan) -> Outcome {
        let Some(best) = plan.deployments.first() else {
            return Outcome::Unasked;
        };
        let requests = self.requests(best, plan.seeds);
        if !self.holds(&best.scenario, requests) {
            return Outcome::TooSmall;
        }
        match smaller(best) {
            None => Outcome::Unasked,
            Some(smaller) if self.holds(&smaller, requests) => Outcome::TooLarge,
            Some(_) => Outcome::Right,
        }
    }
}

/// Returns the report of a run of this number of requests, or of up to four times as many if it needs them to be steady
/// and a run takes so many.
fn long_run(run: &Run, seed: u64, requests: u64) -> Report {
    let most = (4 * requests).min(MAX_OF_A_RUN);
    let mut requests = requests.min(most);
    loop {
        let run = run.with_requests(requests as u32).unwrap();
        let report = run.with_seed(seed).unwrap().run(&mut ()).unwrap().report();
        if report.steady.is_steady || report.overloaded || requests == most {
            return report;
        }
        requests = (2 * requests).min(most);
    }
}

/// Returns a deployment with one server less; `None` for one of one server, or of one of each kind.
fn smaller(answer: &Answer) -> Option<Scenario> {
    let mut scenario = answer.scenario.clone();
    let server = &mut scenario.server;
    match (answer.replicas, answer.decode_replicas) {
        (Some(servers), _) if servers > 1 => server.replicas = Some(servers - 1),
        (None, Some(decode)) if decode > 1 => server.decode_replicas = Some(decode - 1),
        _ => return None,
    }
    if server.replicas == Some(1) {
        (server.replicas, server.router) = (None, None);
    }
    Some(scenario)
}

fn cases() -> Vec<Case> {
    let lines = include_str!("questions.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks the questions with these indices, prints what became of each, and returns the outcomes.
fn ask(indices: impl IntoIterator<Item = usize>) -> Vec<Outcome> {
    let cases = cases();
    assert_eq!(cases.len(), 200);
    let asked = indices.into_iter().map(|index| (index, &cases[index]));
    asked
        .map(|(index, case)| {
            let start = std::time::Instant::now();
            let plan = case.plan();
            let planned = start.elapsed();
            let outcome = case.outcome(&plan);
            let best = plan.deployments.first();
            println!(
                "{index:3} {:8} {:?}: {:?} GPUs, headroom {:.3?}, {} simulations, {:?} requests, planned in {:.2?}, all in {:.1?}",
                format!("{outcome:?}"),
                case.limits,
                plan.gpus,
                best.and_then(|best| best.headroom),
                plan.simulations,
                best.map(|best| best.requests),
                planned,
                start.elapsed()
            );
            outcome
        })
        .collect()
}

/// Checks the shares of fleets that are too small or too large.
fn assert_shares(outcomes: &[Outcome], [too_small, too_large]: [f64; 2]) {
    let asked = outcomes.iter().filter(|outcome| **outcome != Outcome::Unasked).count();
    let share = |of: Outcome| outcomes.iter().filter(|outcome| **outcome == of).count() as f64 / asked as f64;
    println!("{asked} asked: {outcomes:?}");
    assert!(asked * 10 >= outcomes.len() * 8, "{asked}");
    assert!(share(Outcome::TooSmall) <= too_small, "{}", share(Outcome::TooSmall));
    assert!(share(Outcome::TooLarge) <= too_large, "{}", share(Outcome::TooLarge));
}

#[test]
fn some_plans_hold_in_long_runs() {
    // These are planned and run in less than a second.
    assert_eq!(ask([0, 10, 30, 50]), [Outcome::Right; 4]);
}

#[test]
#[ignore = "slow: asks ten questions and simulates their answers for long"]
fn plans_hold_in_long_runs() {
    let asked = std::env::var("ROOFLUT_QUESTIONS");
    match asked.as_deref() {
        Err(_) => assert_shares(&ask((0..100).step_by(10)), [0.02, 0.10]),
        Ok("all") => assert_shares(&ask(0..200), [0.02, 0.10]),
        Ok(indices) => {
            ask(indices.split(',').map(|index| index.parse().unwrap()));
        }
    }
}

#[test]
#[ignore = "slow: simulates two servers at their highest rates for long"]
fn highest_rates_are_within_two_percent_of_those_of_long_runs() {
    const REQUESTS: u64 = 50_000;
    let step = match std::env::var("ROOFLUT_QUESTIONS") {
        Err(_) => 20,
        Ok(_) => 4,
    };
    let mut judged = Vec::new();
    for (index, case) in cases().iter().enumerate().step_by(step) {
        let Some(highest) = case.highest_rate() else {
            continue;
        };
        // Requests are preempted where the KV cache fills: whether a long run is congested for hours is chance then.
        let run = case.run(&highest).with_requests(REQUESTS as u32).unwrap();
        if run.run(&mut ()).unwrap().report().preemptions > 0 {
            println!("{index:3} fills the KV cache");
            continue;
        }
        // A percentile may hardly change with the rate: 0.5 % of a limit count as 2 % of the rate do.
        let holds = |of_rate: f64, of_limits: f64| {
            let mut scenario = highest.clone();
            scenario.workload.rate = scenario.workload.rate.map(|rate| of_rate * rate);
            case.holds_to(of_limits, &scenario, REQUESTS)
        };
        let is_right = holds(0.98, 1.005) && !holds(1.02, 0.995);
        println!("{index:3} {is_right} {:?}", highest.workload.rate);
        judged.push(is_right);
    }
    let right = judged.iter().filter(|is_right| **is_right).count();
    println!("{right} of {}", judged.len());
    // Known to be wrong: question 120, whose p99 of TPOT drifts more slowly than three short runs see.
    assert!(right * 10 >= judged.len() * 8, "{judged:?}");
}
