//! The API server in front of the engine, and the engine stack of a server.

use crate::support::{Linear, simulator};
use crate::workloads::scheduling;
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::engine::stacks;
use rooflut::sim::{Request, RequestRecord, SimConfig, SimReport};
use rooflut::units::Seconds;

fn run(config: SimConfig, requests: &[Request]) -> SimReport {
    simulator(&Linear::mixed(), config).run(requests).unwrap()
}

/// A server with few slots and blocks, so that requests wait and are preempted.
fn tight(scheduling: Scheduling) -> SimConfig {
    let mut config = SimConfig::new(300, 20);
    config.max_num_seqs = 4;
    config.max_num_batched_tokens = 50;
    config.rules.scheduling = scheduling;
    config
}

/// Requests that a [`tight`] server can serve, in any order, many at the same time.
fn servable() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..40_u64, 1..150_u32, 1..60_u32).prop_map(|(slot, prompt_tokens, output_tokens)| {
        Request::new(prompt_tokens, output_tokens).at_ns(slot * 1_000)
    });
    prop::collection::vec(request, 1..25)
}

/// Times since the arrival in whole nanoseconds: scheduled, first token, end.
fn since_arrival(record: &RequestRecord) -> Option<[u64; 3]> {
    let arrival_ns = record.request.arrival_ns;
    record
        .timing()
        .map(|timing| [timing.scheduled_ns, timing.first_token_ns, timing.finish_ns].map(|at| at - arrival_ns))
}

proptest! {
    #[test]
    fn the_api_server_delays_all_requests_alike(
        requests in servable(),
        scheduling in scheduling(),
        api_server_ns in 1..100_000_000_u64,
    ) {
        let without = tight(scheduling);
        let mut with = without;
        with.api_server_ns = api_server_ns;
        let (without, with) = (run(without, &requests), run(with, &requests));
        for (before, after) in without.records.iter().zip(&with.records) {
            // The arrival stays that at the server.
            prop_assert_eq!(before.request, after.request);
            let later = since_arrival(before).map(|times| times.map(|time| time + api_server_ns));
            prop_assert!(later.is_some());
            prop_assert_eq!(since_arrival(after), later);
            prop_assert_eq!(after.tpot(), before.tpot());
        }
        let (before, after) = (without.summary, with.summary);
        prop_assert_eq!(after.completed, requests.len() as u64);
        prop_assert_eq!(after.steps, before.steps);
        prop_assert_eq!(after.preemptions, before.preemptions);
        prop_assert_eq!(after.tpot, before.tpot);
        let delay = api_server_ns as f64 / 1e9;
        let means = [(after.ttft, before.ttft), (after.e2e, before.e2e)];
        for (after, before) in means {
            let more = after.unwrap().mean.0 - before.unwrap().mean.0;
            prop_assert!((more - delay).abs() < 1e-12, "{more} for {delay}");
        }
        // The last token leaves that much later.
        prop_assert!((after.makespan.0 - before.makespan.0 - delay).abs() < 1e-12);
    }
}

#[test]
fn a_lone_request_takes_the_api_server_and_its_steps() {
    let request = Request::new(10, 3).at_ns(500);
    let mut config = SimConfig::new(300, 10);
    config.api_server_ns = 7_000;
    let record = run(config, &[request]).records[0];
    // 1000 + 100 for the prompt; 1000 + 100 + 11 and 1000 + 100 + 12 for the decodes.
    assert_eq!(since_arrival(&record), Some([7_000, 8_100, 10_323]));
    assert_eq!(record.ttft(), Some(Seconds(8_100.0 / 1e9)));
    assert_eq!(record.e2e(), Some(Seconds(10_323.0 / 1e9)));
    let tpot = record.tpot().unwrap();
    assert!((tpot.0 - 1_111.5e-9).abs() < 1e-18, "{tpot}");
}

#[test]
fn prompts_are_tokenized_one_after_another_in_order_of_arrival() {
    let mut config = SimConfig::new(300, 20);
    config.api_server_ns = 7_000;
    config.api_token_ns = 100;
    let request = |prompt_tokens, at_ns| Request::new(prompt_tokens, 1).at_ns(at_ns);
    let report = run(config, &[request(20, 500), request(10, 0), request(5, 9_000)]);
    let at_engine = |record: &RequestRecord| record.timing().unwrap().at_engine_ns;
    let seen: Vec<u64> = report.records.iter().map(at_engine).collect();
    // The first prompt is tokenized at 1,000, the second at 3,000; the third finds the tokenizer free.
    assert_eq!(seen, [10_000, 8_000, 16_500]);
}

#[test]
fn an_api_server_that_takes_forever_does_not_run_over() {
    let mut config = SimConfig::new(300, 10);
    config.api_server_ns = u64::MAX;
    let request = Request::new(10, 2).at_ns(SimConfig::LAST_ARRIVAL_NS);
    let error = simulator(&Linear::mixed(), config).run(&[request]);
    assert_eq!(error.unwrap_err().start_ns, u64::MAX);
}

#[test]
fn a_server_takes_rules_and_api_server_from_its_engine() {
    let mut config = SimConfig::new(8_192, 27_000);
    assert_eq!(config.api_server_ns, 0);
    config.max_num_seqs = 77;
    for stack in stacks::ALL {
        let with = config.with_engine(stack);
        assert_eq!(with.rules, stack.rules, "{}", stack.name);
        assert_eq!(with.api_server_ns, stack.api_server.to_nanos(), "{}", stack.name);
        assert_eq!(with.api_token_ns, stack.api_token.to_nanos());
        assert_eq!(with.api_output_ns, stack.api_output.to_nanos());
        // All else is as it was.
        let mut back = with;
        back.rules = config.rules;
        back.api_server_ns = config.api_server_ns;
        back.api_token_ns = config.api_token_ns;
        back.api_output_ns = config.api_output_ns;
        assert_eq!(back, config, "{}", stack.name);
    }
    let ways = stacks::ALL.map(|stack| stack.rules.scheduling);
    assert!(ways.contains(&Scheduling::Synchronous) && ways.contains(&Scheduling::OneStepAhead));
}

#[test]
fn the_makespan_ends_when_the_last_answer_leaves_the_api_server() {
    let config = SimConfig::new(300, 100).with_api_output_ns(5_000_000);
    let report = run(config, &[Request::new(10, 3)]);
    let timing = report.records[0].timing().unwrap();
    assert_eq!(timing.api_output_ns, 5_000_000);
    assert_eq!(Some(report.summary.makespan), report.records[0].e2e());
}
