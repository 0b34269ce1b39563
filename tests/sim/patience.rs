//! Clients that give up before the first token, and ask again.

use std::collections::VecDeque;

use crate::support::{Linear, Seen, request, simulator};
use crate::workloads::{IDS, requests};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Lockstep, Router, ServerPool};
use rooflut::sim::figures::{Goodput, LatencyLimits};
use rooflut::sim::load::{Arrivals, ClosedLoop, RequestList, Retries, Source, Stream, ThinkTime};
use rooflut::sim::{
    Content, Outcome, Rejection, Request, SchedulingPolicy, Server, ServerEvent, SimConfig, SimReport, Simulator,
};
use rooflut::step::{LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// Every step takes a microsecond.
struct Steady;

impl LatencyModel for Steady {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds(1e-6)
    }
}

/// One request at a time, whose steps are scheduled when their tokens are known.
fn one_slot(patience_ns: u64) -> SimConfig {
    let config = SimConfig::new(2_000, 1_000).with_max_num_seqs(1).with_patience_ns(patience_ns);
    config.with_scheduling(Scheduling::Synchronous)
}

fn run(config: SimConfig, requests: &[Request]) -> SimReport {
    Simulator::try_new(Steady, config).unwrap().run(requests).unwrap()
}

fn abandoned(report: &SimReport) -> Vec<usize> {
    let records = report.records.iter().enumerate();
    records.filter(|(_, record)| record.abandoned_ns().is_some()).map(|(index, _)| index).collect()
}

#[test]
fn a_request_that_waits_too_long_leaves_the_queue_and_counts_as_rejected() {
    // The first holds the slot for 10 us; the second gives up at 5 us, the third waits and is next.
    let requests = [request(0, 16, 10), request(0, 16, 10), request(6_000, 16, 10)];
    let report = run(one_slot(5_000), &requests);
    assert_eq!(abandoned(&report), [1]);
    let reason = Rejection::Abandoned { patience_ns: 5_000 };
    assert_eq!(report.records[1].outcome, Outcome::Rejected(reason));
    assert_eq!(reason.to_string(), "its client gave up after 5000 ns without a token");
    assert_eq!(report.records[2].timing().unwrap().scheduled_ns, 10_000);
    let summary = &report.summary;
    assert_eq!((summary.completed, summary.rejected, summary.abandoned), (2, 1, 1));
    // Its tokens are not served, and it misses every limit.
    assert!((summary.throughput.requests_per_s - 2.0 / 20e-6).abs() < 1.0);
    assert_eq!(Goodput::of(LatencyLimits::default(), &report).met, 2);
}

#[test]
fn a_token_in_flight_at_the_deadline_keeps_the_client_and_one_step_later_does_not() {
    // A prompt of two chunks: its last one is in flight from 1 to 2 us.
    let mut config = one_slot(1_500).with_max_num_batched_tokens(16);
    let report = run(config, &[request(0, 32, 3)]);
    assert!(abandoned(&report).is_empty());
    assert_eq!(report.records[0].timing().unwrap().first_token_ns, 2_000);
    // At 1 us sharp the last chunk is not scheduled.
    config.patience_ns = Some(1_000);
    assert_eq!(abandoned(&run(config, &[request(0, 32, 3)])), [0]);
    // One step ahead it is: the first step was in flight when it was fixed.
    assert!(abandoned(&run(config.with_scheduling(Scheduling::OneStepAhead), &[request(0, 32, 3)])).is_empty());
}

#[test]
fn chunks_that_were_computed_are_lost_and_their_steps_count() {
    // Four chunks of a microsecond each; the client gives up after two.
    let config = one_slot(1_500).with_max_num_batched_tokens(16);
    let mut seen = Seen::default();
    let simulator = Simulator::try_new(Steady, config).unwrap();
    let totals = simulator.serve(&mut RequestList::new(&[request(0, 64, 3)]), &mut seen).unwrap();
    assert_eq!((totals.steps, totals.busy_ns), (2, 2_000));
    assert_eq!((totals.completed, totals.rejected, totals.abandoned), (0, 1, 1));
    assert_eq!((totals.tokens, totals.output_tokens, totals.span_ns), (0, 0, None));
    // One step ahead the next chunk is fixed already, and is computed in vain.
    let ahead = Simulator::try_new(Steady, config.with_scheduling(Scheduling::OneStepAhead)).unwrap();
    let totals = ahead.serve(&mut RequestList::new(&[request(0, 64, 3)]), &mut ()).unwrap();
    assert_eq!((totals.steps, totals.abandoned), (3, 1));
}

#[test]
fn blocks_of_an_abandoned_prompt_are_free_and_its_prefix_stays_in_the_cache() {
    let text = Content::Texts { prefix: 7, prefix_tokens: 64, own: 1 };
    let prompt = |arrival_ns| request(arrival_ns, 64, 2).with_content(text);
    let config = one_slot(1_500).with_max_num_batched_tokens(16);
    let mut server = Server::try_new(Steady, config).unwrap();
    server.push(prompt(0)).unwrap();
    server.push(prompt(50_000)).unwrap();
    server.advance_to(2_000).unwrap();
    assert_eq!(server.kv_blocks_used(), 2);
    server.advance_to(2_001).unwrap();
    assert_eq!((server.kv_blocks_used(), server.running(), server.waiting()), (0, 0, 0));
    assert_eq!(server.outstanding_tokens(), 66);
    server.run_until_idle().unwrap();
    // The second one finds two chunks of the first, and has its token after two more.
    let events: Vec<ServerEvent> = server.drain_events().collect();
    let [ServerEvent::Finished { id, at_ns: 2_000, record }, _, ServerEvent::Finished { record: second, .. }] =
        events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((id.index(), record.abandoned_ns()), (0, Some(1_500)));
    let timing = second.timing().unwrap();
    assert_eq!((timing.cached_tokens, timing.first_token_ns), (32, 52_000));
}

#[test]
fn a_client_gives_up_while_the_api_server_holds_its_request() {
    let config = one_slot(1_000).with_api_server_ns(4_000);
    let report = run(config, &[request(0, 16, 2)]);
    assert_eq!(abandoned(&report), [0]);
    assert_eq!(report.summary.steps, 0);
}

#[test]
fn abandoned_requests_make_room_in_a_full_queue() {
    let config = one_slot(5_000).with_max_waiting(1);
    // The second waits, the third finds a full queue, the fourth comes when the second has given up.
    let requests = [request(0, 16, 10), request(100, 16, 1), request(200, 16, 1), request(5_200, 16, 1)];
    let report = run(config, &requests);
    let full = Rejection::QueueFull { max_waiting: 1 };
    assert_eq!((abandoned(&report), report.records[2].outcome), (vec![1], Outcome::Rejected(full)));
    assert!(report.records[3].timing().is_some());
}

#[test]
fn a_preempted_request_is_abandoned_only_without_a_token() {
    // Least urgent and preempted: the first for the second once it has tokens, which keep its client.
    let mut config = SimConfig::new(200, 12).with_max_num_seqs(2).with_policy(SchedulingPolicy::Priority);
    config.rules.scheduling = Scheduling::Synchronous;
    config = config.with_patience_ns(20_000);
    let requests = [request(0, 80, 100).with_priority(1), request(0, 80, 100)];
    let report = run(config, &requests);
    assert!(abandoned(&report).is_empty());
    assert_eq!(report.records[0].timing().unwrap().preemptions, 1);
}

#[test]
fn patience_ends_with_the_prompt_on_separate_servers() {
    // Decode takes one request at a time, for 50 us each: far longer than clients wait for a token.
    let config = one_slot(5_000);
    let pool = || ServerPool::new(&Steady, config, 1);
    let link = KvLink::try_new(1e12, Seconds(1e-9), 1.0).unwrap();
    let servers = Disaggregated::try_new(pool(), pool(), Router::RoundRobin, link).unwrap();
    let requests = [request(0, 16, 50); 8];
    let report = servers.run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
    // Prompts are computed at 1 us each; the last ones wait too long for that.
    assert_eq!(abandoned(&report), [5, 6, 7]);
    assert_eq!((report.summary.completed, report.summary.abandoned), (5, 3));
    assert_eq!(report.records[7].request, requests[7]);
}

/// Returns the share of the arrivals that gives up after `patience_ns` in the queue of a server that takes them one at a
/// time, first come first served, for `service_ns` each.
fn lost_share(arrivals: &[u64], service_ns: u64, patience_ns: u64) -> f64 {
    let (mut lost, mut free_ns) = (0, 0);
    for &arrival_ns in arrivals {
        if free_ns >= arrival_ns + patience_ns {
            lost += 1;
        } else {
            free_ns = free_ns.max(arrival_ns) + service_ns;
        }
    }
    f64::from(lost) / arrivals.len() as f64
}

#[test]
fn the_share_that_gives_up_is_that_of_a_queue_simulated_by_itself() {
    // A service takes 10 steps of a microsecond.
    let service_ns = 10_000;
    for (load, patience_ns) in [(0.5, 20_000), (0.9, 15_000), (1.0, 40_000), (1.3, 100_000), (2.0, 30_000)] {
        let rate = load * 1e9 / service_ns as f64;
        let arrivals: Vec<u64> = Arrivals::try_poisson(rate, 5).unwrap().take(100_000).collect();
        let load_of = arrivals.iter().map(|arrival_ns| request(*arrival_ns, 16, 10));
        let simulator = Simulator::try_new(Steady, one_slot(patience_ns)).unwrap();
        let totals = simulator.serve(&mut Stream::new(load_of), &mut ()).unwrap();
        let share = totals.abandoned as f64 / 100_000.0;
        assert!((share - lost_share(&arrivals, service_ns, patience_ns)).abs() < 1e-12, "{load}: {share}");
        // Under overload the server is always busy: it serves what its capacity is, and the others are lost.
        if load >= 1.3 {
            assert!((share - (1.0 - 1.0 / load)).abs() < 0.02, "{load}: {share}");
        }
    }
}

#[test]
fn the_share_that_gives_up_of_exponential_services_is_that_of_queueing_theory() {
    // M/M/1 with a constant patience T in the queue: D. Y. Barrer, "Queuing with impatient customers and indifferent
    // clerks", Operations Research 5 (1957). The server is idle for the share p0 of the time, with
    // p0 = (1 - rho) / (1 - rho^2 exp(-mu (1 - rho) T)), and serves (1 - p0) / rho of the arrivals.
    let mean_steps = 200.0_f64;
    let mut draws = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        draws ^= draws << 13;
        draws ^= draws >> 7;
        draws ^= draws << 17;
        (draws >> 11) as f64 / (1_u64 << 53) as f64
    };
    for (rho, patience) in [(0.8, 2.0), (1.25, 3.0)] {
        let rate = rho / (mean_steps * 1e-6);
        let arrivals = Arrivals::try_poisson(rate, 3).unwrap().take(60_000);
        let requests: Vec<Request> = arrivals
            .map(|arrival_ns| {
                let steps = (-mean_steps * (1.0 - uniform()).ln()).ceil().clamp(1.0, 1_900.0);
                request(arrival_ns, 16, steps as u32)
            })
            .collect();
        let patience_ns = (patience * mean_steps * 1e3) as u64;
        let simulator = Simulator::try_new(Steady, one_slot(patience_ns)).unwrap();
        let totals = simulator.serve(&mut RequestList::new(&requests), &mut ()).unwrap();
        let share = totals.abandoned as f64 / 60_000.0;
        let p0 = (1.0 - rho) / (1.0 - rho * rho * (-(1.0 - rho) * patience).exp());
        let expected = 1.0 - (1.0 - p0) / rho;
        // Ten standard errors of independent requests, as neighbours are not, and half a step of rounding.
        assert!((share - expected).abs() < 0.015, "{rho}: {share}, expected {expected}");
    }
}

/// The arrival of each attempt and whether it was served, in the order of the indices, and the number of retries.
fn attempts(config: SimConfig, requests: &[Request], retries: u32) -> (Vec<(u64, bool)>, u64) {
    let mut clients = Retries::new(RequestList::new(requests), retries);
    let report = Simulator::try_new(Steady, config).unwrap().run_source(&mut clients, &mut ()).unwrap();
    let attempts = report.records.iter().map(|record| (record.request.arrival_ns, record.timing().is_some()));
    (attempts.collect(), clients.retried())
}

#[test]
fn a_retry_is_a_request_of_its_own_that_arrives_when_the_one_before_is_aborted() {
    // The slot is taken for 10 us. The second client asks at 0, 3 and 6 us, and is served from 10 us on at its third
    // retry; with two retries it never is.
    let requests = [request(0, 16, 10), request(0, 16, 2)];
    let (found, retried) = attempts(one_slot(3_000), &requests, 3);
    assert_eq!(found, [(0, true), (0, false), (3_000, false), (6_000, false), (9_000, true)]);
    assert_eq!(retried, 3);
    let (found, retried) = attempts(one_slot(3_000), &requests, 2);
    assert_eq!((found.len(), found.iter().filter(|(_, served)| *served).count(), retried), (4, 1, 2));
}

#[test]
fn without_retries_indices_are_those_of_the_source() {
    // The list is not in the order of arrival.
    let requests = [request(9_000, 16, 2), request(0, 16, 10), request(0, 16, 2)];
    let config = one_slot(3_000);
    let simulator = Simulator::try_new(Steady, config).unwrap();
    let mut clients = Retries::new(RequestList::new(&requests), 0);
    let report = simulator.run_source(&mut clients, &mut ()).unwrap();
    assert_eq!(report, simulator.run(&requests).unwrap());
    assert_eq!(clients.retried(), 0);
}

#[test]
fn a_user_asks_the_next_request_when_the_last_retry_is_over() {
    let mix = crate::workloads::single();
    let users = ClosedLoop::try_new(3, ThinkTime::NONE, mix, 1).unwrap();
    let mut config = SimConfig::new(10_000, 10_000).with_max_num_seqs(1).with_patience_ns(200_000);
    config.rules.scheduling = Scheduling::Synchronous;
    for retries in [0, 2] {
        let mut clients = Retries::new(users.clone().limited(300), retries);
        let report = Simulator::try_new(Steady, config).unwrap().run_source(&mut clients, &mut ()).unwrap();
        assert_eq!(report.records.len() as u64, 300 + clients.retried());
        assert_eq!(clients.retried() > 0, retries > 0);
        // Each user has one request at a time: never more than three in the server.
        let mut ends: VecDeque<u64> = VecDeque::new();
        for record in &report.records {
            let arrival_ns = record.request.arrival_ns;
            ends.retain(|end_ns| *end_ns > arrival_ns);
            assert!(ends.len() < 3, "{record:?}");
            ends.push_back(record.timing().map_or(record.abandoned_ns(), |timing| Some(timing.finish_ns)).unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each request has one outcome and up to three retries, on all kinds of servers, with its blocks in the trace.
    #[test]
    fn every_request_is_served_or_given_up_after_its_last_retry(
        requests in requests(),
        patience_ns in 1_000..400_000_u64,
        kind in 0..4_u8,
    ) {
        let mut config = SimConfig::new(280, 40).with_max_num_seqs(4).with_patience_ns(patience_ns);
        config.rules.scheduling = Scheduling::Synchronous;
        let model = Linear::mixed();
        let ids = RequestList::new(&requests).with_ids(&IDS, 24);
        let mut clients = Retries::new(ids, 3);
        let link = KvLink::try_new(1e12, Seconds(1e-6), 1.0).unwrap();
        let pool = |replicas| ServerPool::new(&model, config, replicas);
        let report = match kind {
            0 => simulator(&model, config).run_source(&mut clients, &mut ()),
            1 => Cluster::try_new(&model, config, 3, Router::PrefixAffinity).unwrap().run_source(&mut clients, &mut ()),
            2 => Lockstep::try_new(&model, config, 2).unwrap().run_source(&mut clients, &mut ()),
            _ => {
                let servers = Disaggregated::try_new(pool(2), pool(1), Router::RoundRobin, link).unwrap();
                servers.run_source(&mut clients, &mut ())
            }
        };
        let report = report.unwrap();
        let summary = &report.summary;
        let retried = clients.retried();
        prop_assert_eq!(report.records.len() as u64, requests.len() as u64 + retried);
        prop_assert_eq!(summary.completed + summary.rejected, requests.len() as u64 + retried);
        prop_assert!(summary.abandoned >= retried && summary.abandoned <= summary.rejected);
        prop_assert!(retried <= 3 * requests.len() as u64);
        prop_assert_eq!(abandoned(&report).len() as u64, summary.abandoned);
        for record in &report.records {
            // The first token may come later than the patience by the step that was in flight.
            if let Some(timing) = record.timing() {
                prop_assert!(timing.scheduled_ns < record.request.arrival_ns + patience_ns);
            }
        }
        prop_assert_eq!(clients.total(), Some(report.records.len() as u64));
    }
}
