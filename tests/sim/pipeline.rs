//! Servers with pipeline stages: against the straightforward engine, and by hand.

use crate::engines_agree::assert_same;
use crate::oracle::{self, kv_cache::LISTED_TOKENS};
use crate::support::{Linear, Seen, request};
use crate::workloads::{IDS, requests, servers};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::cluster::Lockstep;
use rooflut::sim::load::RequestList;
use rooflut::sim::{Request, Server, ServerEvent, SimConfig, Simulator, Speculation};
use rooflut::step::{LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// A model whose stages take these shares of a step, in percent.
pub(crate) struct Stages<'s> {
    pub(crate) model: Linear,
    pub(crate) shares: &'s [u64],
}

impl LatencyModel for Stages<'_> {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        let mut total = Seconds::ZERO;
        self.pipeline_times(batch, &mut |stage| total += stage);
        total
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        let step = self.model.total_time(batch);
        for share in self.shares {
            run(step * (*share as f64 / 100.0));
        }
    }
}

pub(crate) fn staged(shares: &[u64]) -> Stages<'_> {
    let model = Linear::mixed();
    Stages { model, shares }
}

fn compare(config: SimConfig, shares: &[u64], requests: &[Request]) {
    let (model, naive) = (staged(shares), staged(shares));
    let source = || RequestList::new(requests).with_ids(&IDS, LISTED_TOKENS);
    let mut seen = Seen::default();
    let simulator = Simulator::try_new(&model, config).unwrap();
    let totals = simulator.serve(&mut source(), &mut seen).unwrap();
    let expected = oracle::pipeline::run(&naive, config, requests, &IDS, |sequence| sequence, &[]);
    assert_same(expected, &seen, &totals, &config);
    assert_eq!(model.model.batches.into_inner(), naive.model.batches.into_inner());
    // An observer changes nothing.
    let unobserved = Simulator::try_new(staged(shares), config).unwrap().run_source(&mut source(), &mut ()).unwrap();
    let unobserved: Vec<_> = unobserved.records.iter().map(|record| record.outcome).collect();
    assert_eq!(unobserved, seen.outcomes(requests.len()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn both_engines_agree_to_the_nanosecond(
        mut config in servers(),
        requests in requests(),
        shares in prop::collection::vec(0..300_u64, 1..6),
        stages in 2..6_u32,
        sleeps in any::<bool>(),
    ) {
        config.speculation = None;
        config.rules.empty_schedule_sleep_ns *= u64::from(sleeps);
        compare(config.with_pipeline_parallel_size(stages), &shares, &requests);
    }
}

/// A step of a prompt of 100 tokens takes 2 us, a decode of one request about 1.2 us; each stage half of it.
#[test]
fn two_requests_share_the_stages() {
    let mut config = SimConfig::new(1_000, 1_000).with_pipeline_parallel_size(2);
    // One prompt a step.
    config.max_num_batched_tokens = 128;
    config.rules.empty_schedule_sleep_ns = 0;
    let requests = [request(0, 100, 2), request(0, 100, 2)];
    let model = staged(&[50, 50]);
    let report = Simulator::try_new(&model, config).unwrap().run(&requests).unwrap();
    let timing = |index: usize| report.records[index].timing().unwrap();
    // The budget of 128 tokens cuts the second prompt after 28: 1,000 + 10 x 128 = 2,280 ns, then 72 tokens: 1,720 ns.
    assert_eq!(timing(0).first_token_ns, 2_280);
    // Its first stage is free at 1,140, its second at 2,280.
    assert_eq!(timing(1).first_token_ns, 2_280 + 860);
    // The decode of the first enters at 2,280, behind the chunk, whose first stage ends at 2,000, and its second at 3,140.
    assert_eq!(timing(0).finish_ns, 3_140 + (1_000 + 100 + 101) / 2 + 1);
    compare(config, &[50, 50], &requests);
}

#[test]
fn throughput_is_that_of_the_slowest_stage() {
    let mut config = SimConfig::new(1_000, 10_000).with_pipeline_parallel_size(4);
    config.max_num_seqs = 64;
    config.max_num_batched_tokens = 256;
    config.rules.empty_schedule_sleep_ns = 0;
    let requests = [request(0, 16, 500); 64];
    let makespan_ns = |config: SimConfig, shares: &[u64]| {
        let report = Simulator::try_new(staged(shares), config).unwrap().run(&requests).unwrap();
        report.summary.makespan.0 * 1e9
    };
    // The batches of 16 requests each follow one another in a quarter of their time.
    let steps = 500.0 * 4.0;
    let mean_ns = 1_000.0 + 16.0 * (100.0 + 16.0 + 250.0);
    let even = makespan_ns(config, &[25, 25, 25, 25]);
    assert!((even / (steps * mean_ns / 4.0) - 1.0).abs() < 0.03, "{even}");
    let uneven = makespan_ns(config, &[20, 40, 20, 20]);
    assert!((uneven / even - 1.6).abs() < 0.03, "{uneven} {even}");
}

#[test]
fn a_lone_request_waits_for_all_stages_and_sleeps() {
    let config = SimConfig::new(1_000, 1_000).with_pipeline_parallel_size(3);
    let mut model = staged(&[10, 60, 30]);
    model.model.step_ns = 10_000_000;
    let report = Simulator::try_new(model, config).unwrap().run(&[request(0, 100, 3)]).unwrap();
    let timing = report.records[0].timing().unwrap();
    assert_eq!(timing.first_token_ns, 10_001_000);
    // The schedule finds nothing beside each step: vLLM sleeps a millisecond after it.
    let decodes = [101, 102].map(|kv_tokens| 11_000_100 + kv_tokens);
    let finish_ns = 10_001_000 + decodes[0] + decodes[1];
    assert!(timing.finish_ns.abs_diff(finish_ns) < 6, "{timing:?}");
}

#[test]
fn a_driven_server_reports_overlapping_steps_in_the_order_of_their_ends() {
    let mut config = SimConfig::new(1_000, 1_000).with_pipeline_parallel_size(2);
    config.max_num_batched_tokens = 128;
    let mut server = Server::try_new(staged(&[50, 50]), config).unwrap();
    let [first, second] = [0, 0].map(|at_ns| server.push(request(at_ns, 100, 2)).unwrap());
    let (mut tokens, mut steps) = (Vec::new(), Vec::new());
    while let Some(step) = server.step().unwrap() {
        tokens.extend(step.tokens.iter().map(|(id, tokens)| (*id, *tokens)));
        steps.push((step.record.start_ns, step.record.start_ns + step.record.duration_ns));
    }
    assert!(steps.is_sorted_by_key(|(_, end_ns)| *end_ns), "{steps:?}");
    assert!(steps[1].0 < steps[0].1, "{steps:?}");
    let of = |id| tokens.iter().filter(|(of, _)| *of == id).count();
    assert_eq!((of(first), of(second), tokens.len()), (2, 2, 4));
    assert!(server.is_idle());

    let mut server = Server::try_new(staged(&[50, 50]), config).unwrap();
    server.push(request(0, 100, 2)).unwrap();
    server.push(request(0, 100, 2)).unwrap();
    let mut finished = 0;
    while let Some(at_ns) = server.next_event_ns() {
        server.advance_to(at_ns).unwrap();
        let events = server.drain_events();
        finished += events.filter(|event| matches!(event, ServerEvent::Finished { .. })).count();
    }
    assert_eq!(finished, 2);
}

#[test]
fn what_is_not_modelled_with_stages_is_refused() {
    let config = SimConfig::new(1_000, 1_000).with_pipeline_parallel_size(2);
    let refused = |config| Server::try_new(Linear::mixed(), config).map(drop);
    assert_eq!(refused(config), Ok(()));
    let mut drafts = config;
    drafts.speculation = Speculation::try_new(3, 0.5, 0).ok();
    let message = |config| refused(config).unwrap_err().to_string();
    assert!(message(drafts).starts_with("speculation: expected none with 2 pipeline stages, found some"));
    let ahead = config.with_scheduling(Scheduling::OneStepAhead);
    assert!(message(ahead).starts_with("scheduling: expected sync with 2 pipeline stages"));
    let none = config.with_pipeline_parallel_size(0);
    assert_eq!(message(none), "pipeline_parallel_size: expected at least 1, found 0");
    let many = message(config.with_pipeline_parallel_size(65));
    assert_eq!(many, "pipeline_parallel_size: expected at most 64 stages, found 65");
    let ranks = Lockstep::try_new(Linear::mixed(), config, 2).map(drop).unwrap_err().to_string();
    assert!(ranks.starts_with("data-parallel ranks: expected one pipeline stage each, found 2"), "{ranks}");
}
