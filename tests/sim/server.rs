//! A server that is driven from outside: it does what a simulator does, whatever the calls, and bad calls leave it
//! as it was.

#[path = "../../tools/fuzz/src/corpus.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "other tests use the rest")]
mod corpus;
mod driven;
#[path = "../../tools/fuzz/src/server.rs"]
mod fuzz_target;

use std::sync::Arc;

use crate::support::{Linear, Seen, request, simulator};
use crate::workloads::{IDS, requests, servers};
use driven::{Driven, Served, TOKENS_PER_ID, expected};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::cluster::{Cluster, Disaggregated, Router};
use rooflut::sim::load::RequestList;
use rooflut::sim::{
    Observer, Outcome, Rejection, Request, RequestId, RequestRecord, Server, ServerError, ServerEvent, SimConfig,
    Simulator, StepRecord, Timing,
};
use rooflut::step::{Drafting, LatencyModel, RooflineModel, StepBatch, TabulatedModel, Tally};
use rooflut::units::Seconds;

/// Drives a server by `calls`: each a choice, and a time for those that need one. Requests are pushed at any time up
/// to their arrival.
fn drive(config: SimConfig, requests: &[Request], calls: &[(u8, u64)]) -> Served {
    let model = Linear::mixed();
    let mut driven = Driven::new(&model, config, requests.len());
    let mut coming = requests.iter().copied().peekable();
    for &(call, by_ns) in calls {
        let arrival_ns = coming.peek().map_or(u64::MAX, |request| request.arrival_ns);
        let now_ns = driven.server.now_ns();
        let next_ns = driven.server.next_event_ns().unwrap_or(now_ns);
        match call {
            0 => {
                if let Some(request) = coming.next() {
                    driven.push(request).unwrap();
                }
            }
            1 => driven.advance((now_ns + by_ns).min(arrival_ns)),
            2 => driven.advance(next_ns.min(arrival_ns)),
            3 => driven.advance(arrival_ns.min(now_ns + 20_000)),
            4 => {
                // No request may arrive before its end.
                driven.advance(next_ns.min(arrival_ns));
                let ends_ns = driven.server.next_event_ns();
                if driven.server.is_in_step() && ends_ns.is_some_and(|ns| ns <= arrival_ns) {
                    driven.step();
                }
            }
            _ => driven.misuse(config),
        }
    }
    for request in coming {
        driven.push(request).unwrap();
    }
    driven.finish(&model)
}

/// The requests that a server accepts; checks that it refuses the others for the reason that a simulator gives.
fn accepted(config: SimConfig, requests: &[Request]) -> Vec<Request> {
    let model = Linear::mixed();
    let mut driven = Driven::new(&model, config, requests.len());
    let accepted = |request: &Request| match (config.check(request), driven.push(*request)) {
        (Ok(()), Ok(_)) => true,
        (Err(reason), Err(refused)) => {
            assert_eq!(refused, ServerError::NeverServed(reason));
            false
        }
        other => panic!("{other:?}"),
    };
    requests.iter().copied().filter(accepted).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_order_of_calls_gives_what_a_simulator_gives(
        config in servers(),
        requests in requests(),
        calls in prop::collection::vec((0..6_u8, prop_oneof![0..5_000_u64, 0..300_000_u64]), 0..300),
    ) {
        let requests = accepted(config, &requests);
        prop_assert_eq!(drive(config, &requests, &calls), expected(config, &requests));
    }

    #[test]
    fn a_copy_goes_on_by_itself(config in servers(), requests in requests(), steps in 0..60) {
        let requests = accepted(config, &requests);
        let model = Linear::mixed();
        let mut driven = Driven::new(&model, config, requests.len());
        for request in &requests {
            driven.push(*request).unwrap();
        }
        let mut server = driven.server.clone();
        for _ in 0..steps {
            server.step().unwrap();
            driven.server.step().unwrap();
        }
        let copy = server.clone();
        let [left, copied, alone] = [server, copy, driven.server].map(|mut server| {
            server.run_until_idle().unwrap();
            (server.drain_events().collect::<Vec<_>>(), server.totals(), server.now_ns())
        });
        prop_assert_eq!(&copied, &left);
        prop_assert_eq!(copied, alone);
    }

    #[test]
    fn steps_one_by_one_yield_every_token_once(config in servers(), requests in requests()) {
        let requests = accepted(config, &requests);
        let model = Linear::mixed();
        let mut driven = Driven::new(&model, config, requests.len());
        let ids: Vec<RequestId> = requests.iter().map(|r| driven.push(*r).unwrap()).collect();
        let (mut tokens, mut preempted) = (vec![0; requests.len()], vec![0; requests.len()]);
        let (mut steps, mut events) = (Vec::new(), Vec::new());
        while let Some(step) = driven.server.step().unwrap() {
            let overrun = u64::from(step.record.overrun_requests);
            let decoding = step.batch.decode_requests() - overrun;
            let chunks = step.batch.prefill.iter().filter(|chunk| chunk.is_last()).count() as u64;
            assert_eq!(step.tokens.len() as u64, decoding + chunks);
            assert_eq!(step.preempted.len() as u32, step.record.preempted);
            step.tokens.iter().for_each(|(id, count)| tokens[id.index()] += count);
            step.preempted.iter().for_each(|id| preempted[id.index()] += 1);
            events.extend_from_slice(step.events);
            steps.push(step.record);
        }
        // Rejections after the last step.
        driven.drain();
        events.into_iter().for_each(|event| driven.note(event));
        for ((id, record), request) in ids.iter().zip(&driven.records).zip(&requests) {
            let timing = record.unwrap().timing().copied();
            // A longer output is cut, or was not accepted.
            let room = config.max_model_len - request.prompt_tokens;
            let output_tokens = request.output_tokens.min(room);
            let (expected, lost) = match timing {
                Some(timing) => (output_tokens, timing.preemptions),
                // It may have been preempted before its client gave up.
                None if record.unwrap().abandoned_ns().is_some() => (0, preempted[id.index()]),
                None => (0, 0),
            };
            prop_assert_eq!((tokens[id.index()], preempted[id.index()]), (expected, lost));
        }
        let totals = driven.server.totals();
        prop_assert_eq!(steps.len() as u64, totals.steps);
        let mut seen = Seen::default();
        let mut source = RequestList::new(&requests).with_ids(&IDS, TOKENS_PER_ID);
        simulator(&Linear::mixed(), config).serve(&mut source, &mut seen).unwrap();
        // A simulator looks at arrivals that cannot be admitted when the next slot is free.
        let queues_apart = |step: &StepRecord| {
            let mut step = *step;
            step.waiting = 0;
            step
        };
        let found: Vec<StepRecord> = steps.iter().map(queues_apart).collect();
        let expected_steps: Vec<StepRecord> = seen.steps.iter().map(queues_apart).collect();
        prop_assert!(found == expected_steps);
        prop_assert_eq!(driven.finish(&model), expected(config, &requests));
    }
}

#[test]
fn calls_that_the_fuzzer_keeps_agree_with_the_plain_engine() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/fuzz");
    corpus::kept(folder, "server").iter().for_each(|input| fuzz_target::calls(input));
}

fn server(config: SimConfig) -> Server<Linear> {
    Server::try_new(Linear::mixed(), config).unwrap()
}

fn timing_of(server: &mut Server<Linear>, of: RequestId) -> Timing {
    let left = server.drain_events().find_map(|event| match event {
        ServerEvent::Finished { id, record, .. } if id == of => record.timing().copied(),
        _ => None,
    });
    left.unwrap()
}

#[test]
fn a_step_in_flight_ends_before_a_later_arrival_is_scheduled() {
    let mut config = SimConfig::new(300, 100);
    config.rules.scheduling = Scheduling::Synchronous;
    let mut server = server(config);
    // 1000 + 10 x 100 ns for the prompt.
    server.push(request(0, 100, 2)).unwrap();
    assert_eq!(server.next_event_ns(), Some(1));
    server.advance_to(1_500).unwrap();
    assert_eq!(server.next_event_ns(), Some(2_000));
    assert!(server.is_in_step());
    assert_eq!(server.drain_events().count(), 0);
    assert_eq!((server.running(), server.waiting(), server.totals().steps), (1, 0, 0));
    assert_eq!(server.kv_blocks_used(), 7);
    let second = server.push(request(1_600, 50, 1)).unwrap();
    assert_eq!((server.arriving(), server.outstanding_tokens()), (1, 102 + 51));
    server.advance_to(2_000).unwrap();
    assert_eq!(server.drain_events().count(), 1);
    // A decode with 101 tokens of KV and the prompt of the second: 1000 + 100 + 101 + 500 ns.
    server.advance_to(10_000).unwrap();
    let timing = timing_of(&mut server, second);
    assert_eq!((timing.scheduled_ns, timing.first_token_ns), (2_000, 3_701));
    assert!(server.is_idle());
}

#[test]
fn requests_may_be_pushed_in_any_order_of_arrival() {
    let mut server = server(SimConfig::new(300, 100));
    let late = server.push(request(50_000, 10, 1)).unwrap();
    let early = server.push(request(10_000, 10, 1)).unwrap();
    assert_eq!((late.index(), early.index()), (0, 1));
    assert_eq!(server.next_event_ns(), Some(10_000));
    server.advance_to(20_000).unwrap();
    assert_eq!(timing_of(&mut server, early).finish_ns, 11_100);
    assert_eq!((server.arriving(), server.next_event_ns()), (1, Some(50_000)));
    let step = server.step().unwrap().unwrap();
    assert_eq!((step.record.start_ns, step.tokens), (50_000, &[(late, 1)][..]));
    assert_eq!(server.step().unwrap().map(|step| step.record), None);
}

#[test]
fn a_full_queue_is_an_outcome_of_the_arrival_and_no_error_of_the_push() {
    let mut config = SimConfig::new(300, 100);
    config.max_num_seqs = 1;
    config.max_waiting = Some(1);
    let mut server = server(config);
    let ids: Vec<RequestId> = (0..3).map(|index| server.push(request(index, 10, 20)).unwrap()).collect();
    // Its answer is known when the second step begins, long before those of the others.
    server.advance_to(1_101).unwrap();
    let rejected: Vec<ServerEvent> = server.drain_events().collect();
    let (_, last) = (rejected[0], rejected[1]);
    let full = Outcome::Rejected(Rejection::QueueFull { max_waiting: 1 });
    let record = RequestRecord::new(request(2, 10, 20), full);
    let (id, at_ns) = (ids[2], 1_100);
    assert_eq!(last, ServerEvent::Finished { id, at_ns, record });
    assert_eq!((server.waiting(), server.outstanding_tokens()), (1, 60));
}

#[test]
fn bad_calls_are_refused_with_what_was_found_and_what_is_allowed() {
    let mut server = server(SimConfig::new(300, 10));
    server.advance_to(500).unwrap();
    let message = |error: ServerError| error.to_string();
    assert_eq!(
        message(server.advance_to(499).unwrap_err()),
        "to_ns: expected at least 500 (now), found 499; advance to a later time"
    );
    assert_eq!(
        message(server.push(request(499, 1, 1)).unwrap_err()),
        "arrival_ns: expected at least 500 (now), found 499; push a request before the clock passes its arrival"
    );
    assert_eq!(
        message(server.push(request(500, 160, 2)).unwrap_err()),
        "request cannot be served: it needs 11 KV blocks, the cache has 10"
    );
    assert_eq!(
        server.push(request(u64::MAX, 10, 2)),
        Err(ServerError::NeverServed(Rejection::TooLate { arrival_ns: u64::MAX }))
    );
    // It serves on, and none of these has taken an id.
    let id = server.push(request(500, 10, 1)).unwrap();
    assert_eq!(id.index(), 0);
    server.advance_to(u64::MAX).unwrap();
    assert_eq!(timing_of(&mut server, id).finish_ns, 1_600);
    assert!(server.push(request(1_600, 10, 1)).is_err());
    let error = Server::try_new(Linear::mixed(), SimConfig::new(300, 0)).unwrap_err();
    assert_eq!(error.to_string(), "kv_blocks: expected at least 1, found 0");
}

#[test]
fn an_observer_sees_what_the_clock_passes() {
    let mut server = server(SimConfig::new(300, 100));
    for arrival_ns in [0, 5, 9_000] {
        server.push(request(arrival_ns, 20, 10)).unwrap();
    }
    let mut seen = Seen::default();
    let observer: &mut dyn Observer = &mut seen;
    server.advance_observed(4_000, observer).unwrap();
    server.advance_observed(1_000_000, observer).unwrap();
    assert_eq!(seen.steps.len() as u64, server.totals().steps);
    assert_eq!((seen.outcomes(3).len(), seen.tokens), (3, 3 * 29));
    assert_eq!(server.drain_events().count(), 6);
}

/// A microsecond a step, for pointers to try.
struct Microsecond;

impl LatencyModel for Microsecond {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds(1e-6)
    }
}

#[test]
fn pointers_to_models_are_models_and_servers_of_them_move_between_threads() {
    fn finish_ns(model: impl LatencyModel) -> u64 {
        let mut server = Server::try_new(model, SimConfig::new(300, 100)).unwrap();
        server.push(request(0, 10, 3)).unwrap();
        server.run_until_idle().unwrap();
        server.now_ns()
    }
    let boxed: Box<dyn LatencyModel + Send + Sync> = Box::new(Microsecond);
    assert_eq!(finish_ns(&boxed), 3_000);
    assert_eq!(finish_ns(boxed), 3_000);
    let shared: Arc<dyn LatencyModel + Send + Sync> = Arc::new(Microsecond);
    let threads: Vec<_> =
        (0..2).map(|_| Arc::clone(&shared)).map(|model| std::thread::spawn(move || finish_ns(model))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 3_000);
    }
}

#[test]
fn servers_behind_a_router_of_ones_own_are_a_cluster() {
    let mut config = SimConfig::new(300, 40);
    config.api_server_ns = 300;
    let requests: Vec<Request> =
        (0..60).map(|index| request(u64::from(index / 3) * 2_000, 20 + index % 40, 1 + index % 17)).collect();
    let cluster = Cluster::try_new(Linear::mixed(), config, 3, Router::RoundRobin).unwrap();
    let expected = cluster.run_source(&mut RequestList::new(&requests), &mut ()).unwrap().records;
    let mut servers = [server(config), server(config), server(config)];
    let mut indices: [Vec<usize>; 3] = Default::default();
    for (index, request) in requests.iter().enumerate() {
        // As a router does that looks at its servers.
        for server in &mut servers {
            server.advance_to(request.arrival_ns).unwrap();
        }
        servers[index % 3].push(*request).unwrap();
        indices[index % 3].push(index);
    }
    let mut found = vec![None; requests.len()];
    for (server, indices) in servers.iter_mut().zip(&indices) {
        server.run_until_idle().unwrap();
        for event in server.drain_events() {
            if let ServerEvent::Finished { id, record, .. } = event {
                found[indices[id.index()]] = Some(*record.timing().unwrap());
            }
        }
    }
    for (found, (index, record)) in found.into_iter().zip(expected.iter().enumerate()) {
        let replica = index as u32 % 3;
        let mut found = found.unwrap();
        found.replica = replica;
        assert_eq!(Some(&found), record.timing());
    }
}

#[test]
fn models_and_servers_are_send_and_sync() {
    fn assert_send_sync<T: Send + Sync>() {}
    assert_send_sync::<RooflineModel>();
    assert_send_sync::<TabulatedModel>();
    assert_send_sync::<Drafting<TabulatedModel, TabulatedModel>>();
    fn assert_send<T: Send>() {}
    assert_send::<Tally<'static>>();
    assert_send_sync::<Server<RooflineModel>>();
    assert_send_sync::<Server<Arc<TabulatedModel>>>();
    assert_send_sync::<Simulator<TabulatedModel>>();
    assert_send_sync::<Cluster<TabulatedModel>>();
    assert_send_sync::<Disaggregated<TabulatedModel>>();
}
