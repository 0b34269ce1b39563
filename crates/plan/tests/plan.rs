//! The counts, the exclusions and the notes of a plan.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use std::io::ErrorKind;

use rooflut::model;
use rooflut::table::{TableSet, sets};
use rooflut_plan::{Error, Limits, Plan, Question, Reason, Setting, Space};
use rooflut_scenario::{Model, Scenario};

fn limits(limits: &[&str]) -> Limits {
    let limits = limits.iter().map(|limit| limit.parse().unwrap());
    Limits::try_new(limits.collect(), None).unwrap()
}

/// Asks about an 8B model on H100, with tp 1.
fn ask(scenario: Scenario, given: &[&str], change: impl FnOnce(&mut Space)) -> Result<Plan, Error> {
    ask_limits(scenario, limits(given), change)
}

fn ask_limits(scenario: Scenario, limits: Limits, change: impl FnOnce(&mut Space)) -> Result<Plan, Error> {
    let llama = model::find("llama-3.1-8b").unwrap();
    let mut space = Space::new(&llama.spec, vec![sets::H100.clone()]);
    space.tp = vec![1];
    change(&mut space);
    let model = Model::new(llama.name, llama.spec);
    let read = |_: &_| Err(ErrorKind::NotFound.into());
    let mut question = Question::new(scenario, model, &read, space, limits);
    question.count = 3;
    question.plan()
}

fn rate(rate: f64) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.workload.rate = Some(rate);
    scenario
}

#[test]
fn each_kind_of_server_is_listed_once() {
    let plan = ask(rate(10.0), &["ttft:500"], |space| {
        space.tables = vec![sets::H100.clone(), sets::H100.clone()];
        space.tp = vec![1, 2, 1];
    });
    let deployments = plan.unwrap().deployments;
    let tp: Vec<u32> = deployments.iter().map(|answer| answer.tp).collect();
    assert_eq!(tp, [1, 2]);
}

#[test]
fn kinds_that_are_answered_cost_no_more_runs() {
    // There are two kinds, whole servers and pools, and three are asked for.
    let mut scenario = rate(60.0);
    scenario.server.link_bandwidth = Some(50.0);
    scenario.server.link_latency = Some(10.0);
    let plan = ask(scenario, &["ttft:500"], |_| ()).unwrap();
    assert_eq!(plan.deployments.len(), 2);
    assert!(plan.simulations < 50, "{}", plan.simulations);
}

#[test]
fn the_setting_that_keeps_a_fleet_from_being_smaller_is_named_with_what_raising_it_gains() {
    let of = |seqs: u32| {
        let plan = ask(rate(100.0), &["ttft:2000"], |space| {
            space.max_num_seqs = vec![Some(seqs)];
        });
        plan.unwrap()
    };
    let few = of(32);
    let limited = few.limited_by.unwrap();
    assert_eq!(limited.setting, Setting::MaxNumSeqs);
    assert_eq!((limited.value, limited.raised_to), (Some(32), Some(64)));
    assert!(limited.share > 0.3, "{}", limited.share);
    assert!(limited.gpus < few.gpus);
    assert_eq!(limited.gpus, of(64).gpus);
}

#[test]
fn the_gpus_of_all_pipeline_stages_are_counted() {
    let mut scenario = rate(5.0);
    scenario.target.pp = Some(2);
    let plan = ask(scenario.clone(), &["ttft:500"], |_| ()).unwrap();
    let best = plan.deployments.first().unwrap();
    assert_eq!((best.gpus, best.tp, best.pp), (2, 1, 2));
    let plan = ask(scenario.clone(), &["ttft:500"], |space| space.max_gpus = 1).unwrap();
    assert!(plan.deployments.is_empty());
    assert!(matches!(plan.excluded[0].reason, Reason::TooManyGpus { least: 2, allowed: 1 }));
    // The choices replace the two stages of the scenario.
    let plan = ask(scenario, &["ttft:500"], |space| {
        space.pp = vec![Some(1), Some(2), Some(4)];
        space.max_gpus = 2;
    });
    let plan = plan.unwrap();
    let best = plan.deployments.first().unwrap();
    assert_eq!((best.gpus, best.tp, best.pp), (1, 1, 1));
    assert!(plan.excluded.is_empty());
}

#[test]
fn servers_that_reject_nearly_all_requests_are_tried_and_out() {
    let mut scenario = rate(100.0);
    scenario.server.max_waiting = Some(1);
    scenario.server.max_num_seqs = None;
    let plan = ask(scenario, &["ttft:500"], |space| {
        space.max_num_seqs = vec![Some(1), None];
    })
    .unwrap();
    assert!(plan.deployments[0].max_num_seqs > 1, "{:?}", plan.deployments);
}

#[test]
fn clients_that_give_up_miss_the_share_that_must_be_served() {
    let fleet = |patience: Option<f64>, attainment: f64| {
        let mut scenario = rate(60.0);
        scenario.workload.patience = patience;
        let limits = Limits::try_new(vec!["ttft:60s".parse().unwrap()], Some(attainment)).unwrap();
        let plan = ask_limits(scenario, limits, |_| ()).unwrap();
        let best = plan.deployments.first().unwrap();
        (best.replicas.unwrap(), best.figures[0].highest.unwrap())
    };
    let (patient, _) = fleet(None, 0.99);
    let (strict, missed) = fleet(Some(2.0), 0.99);
    assert!(strict == patient && missed <= 0.01, "{strict} {patient} {missed}");
    // One server sheds what is beyond its capacity, and serves the others in time.
    let (lenient, missed) = fleet(Some(2.0), 0.3);
    assert!(lenient < strict && missed > 0.01 && missed <= 0.7, "{lenient} {strict} {missed}");
}

#[test]
fn a_figure_of_too_few_requests_names_one_that_is_known() {
    let mut scenario = rate(10.0);
    scenario.workload.requests = Some(150);
    let error = ask(scenario, &["ttft:500"], |_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        "ttft:500@p99: expected at least 500 served requests for this figure, found 150; use ttft:500@p95 or more requests"
    );
    let mut scenario = rate(10.0);
    scenario.workload.output = Some("1".parse().unwrap());
    let error = ask(scenario, &["tpot:500"], |_| ()).unwrap_err().to_string();
    assert!(error.contains("requests of several output tokens"), "{error}");
}

#[test]
fn a_given_number_of_requests_that_ends_too_early_is_said() {
    let asked = |requests| {
        let mut scenario = rate(60.0);
        scenario.workload.requests = requests;
        ask(scenario, &["ttft:5000"], |_| ()).unwrap()
    };
    let is_noted = |plan: &Plan| plan.notes.iter().any(|note| note.contains("reach a steady state"));
    let plan = asked(None);
    assert_eq!((plan.requests, plan.is_steady), (None, true));
    assert!(!is_noted(&plan), "{:?}", plan.notes);
    let plan = asked(Some(600));
    assert_eq!((plan.requests, plan.is_steady), (Some(600), false));
    assert!(is_noted(&plan), "{:?}", plan.notes);
    assert!(!is_noted(&asked(Some(20_000))));
}

#[test]
fn the_opening_burst_of_users_is_left_out() {
    let mut scenario = Scenario::default();
    scenario.workload.users = Some(64);
    scenario.workload.prompt = Some("lognormal:500,0.8".parse().unwrap());
    scenario.workload.output = Some("lognormal:200,0.8".parse().unwrap());
    // The burst takes over a second, a later request a tenth of it.
    let plan = ask(scenario, &["ttft:300"], |_| ()).unwrap();
    assert_eq!(plan.gpus, Some(1));
}

#[test]
fn servers_that_never_recover_from_a_backlog_are_no_answer() {
    let of_load = |per_s: f64, prompt: &str, output: &str| {
        let mut scenario = rate(per_s);
        scenario.workload.prompt = Some(prompt.parse().unwrap());
        scenario.workload.output = Some(output.parse().unwrap());
        scenario
    };
    let qwen = model::find("qwen3-32b").unwrap();
    let mut space = Space::new(&qwen.spec, vec![sets::H100.clone()]);
    space.tp = vec![2];
    let model = Model::new(qwen.name, qwen.spec);
    let read = |_: &_| Err(ErrorKind::NotFound.into());
    let scenario = of_load(15.0, "500", "2000");
    let question = Question::new(scenario, model, &read, space, limits(&["ttft:500"]));
    // Six servers meet the limit until one of them is congested, which some of many seeds show.
    let plan = question.plan().unwrap();
    assert_eq!(plan.gpus, Some(14));
    let has = |plan: &Plan, text: &str| plan.notes.iter().any(|note| note.starts_with(text));
    assert!(has(&plan, "fewer servers would meet"), "{:?}", plan.notes);

    let near = ask(of_load(10.0, "100", "4000"), &["ttft:2000"], |_| ()).unwrap();
    assert!(has(&near, "these servers meet"), "{:?}", near.notes);
    let short = ask(of_load(60.0, "512", "256"), &["ttft:500"], |_| ()).unwrap();
    assert!(!has(&short, "these") && !has(&short, "fewer"), "{:?}", short.notes);
}

/// Asks about a model on servers of one GPU.
fn ask_of(name: &str, tables: &TableSet, scenario: Scenario, limit: &str) -> Plan {
    let found = model::find(name).unwrap();
    let mut space = Space::new(&found.spec, vec![tables.clone()]);
    space.tp = vec![1];
    let read = |_: &_| Err(ErrorKind::NotFound.into());
    let model = Model::new(found.name, found.spec);
    Question::new(scenario, model, &read, space, limits(&[limit])).plan().unwrap()
}

#[test]
fn a_request_too_long_for_any_number_of_servers_ends_the_search_among_them() {
    let mut scenario = rate(0.5);
    scenario.workload.prompt = Some("lognormal:300,1".parse().unwrap());
    scenario.workload.output = Some("64".parse().unwrap());
    scenario.workload.arrival = Some("gamma".parse().unwrap());
    scenario.workload.burstiness = Some(0.5);
    let plan = ask_of("mistral-7b-v0.3", &sets::A100, scenario, "ttft:300");
    assert!(plan.deployments.is_empty() && plan.nearest.is_some());
    assert!(plan.simulations < 20, "{}", plan.simulations);
    let reason = plan.excluded[0].reason.to_string();
    assert!(reason.starts_with("servers of any number reject 1 of"), "{reason}");
}

#[test]
fn answers_that_their_commands_refute_again_and_again_end_the_search_of_their_kind() {
    let mut scenario = rate(30.0);
    scenario.workload.prompt = Some("lognormal:500,1@1..20000".parse().unwrap());
    scenario.workload.output = Some("8".parse().unwrap());
    scenario.workload.patience = Some(1.5);
    let plan = ask_of("qwen3-32b", &sets::H100, scenario, "ttft:1000");
    assert!(plan.deployments.is_empty() && plan.nearest.is_some());
    assert!(plan.simulations < 40, "{}", plan.simulations);
    let reason = plan.excluded[0].reason.to_string();
    assert!(reason.contains("miss them in the longer ones") && reason.contains("abandoned"), "{reason}");
}

#[test]
fn kinds_of_which_one_server_is_enough_are_planned_without_the_router() {
    let mut scenario = rate(60.0);
    scenario.server.router = Some("least-tokens".parse().unwrap());
    let plan = ask(scenario, &["ttft:200", "tpot:15"], |space| space.tp = vec![2, 4]).unwrap();
    let routers = plan.deployments.iter().map(|answer| (answer.replicas, answer.scenario.server.router.is_some()));
    assert_eq!(routers.collect::<Vec<_>>(), [(Some(2), true), (Some(1), false)]);
}

#[test]
fn kinds_whose_errors_are_not_measured_are_excluded_from_a_plan_with_confidence() {
    let llama = model::find("llama-3.1-8b").unwrap();
    let mut space = Space::new(&llama.spec, vec![sets::H100.clone()]);
    (space.tp, space.pp) = (vec![1], vec![Some(1), Some(2)]);
    let model = Model::new(llama.name, llama.spec);
    let read = |_: &_| Err(ErrorKind::NotFound.into());
    let mut question = Question::new(rate(2.0), model, &read, space, limits(&["tpot:30"]));
    question.confidence = Some("0.8".parse().unwrap());
    let plan = question.plan().unwrap();
    assert_eq!(plan.gpus, Some(1));
    let reasons: Vec<String> = plan.excluded.iter().map(|excluded| excluded.reason.to_string()).collect();
    let expected =
        "pp cannot be used with confidence: no measurement shows the errors of pipelines; leave one of them out";
    assert_eq!(reasons, [expected]);
    // As the only choice it ends the plan.
    question.space.pp = vec![Some(2)];
    assert_eq!(question.plan().unwrap_err().to_string(), expected);
}
