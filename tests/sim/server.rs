//! A server that is driven from outside: it does what a simulator does, whatever the calls, and bad calls leave it
//! as it was.

use std::sync::Arc;

use crate::support::{Batch, Linear, Seen, request, simulator};
use crate::workloads::{IDS, requests, servers};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::cluster::{Cluster, Disaggregated, Router};
use rooflut::sim::figures::Totals;
use rooflut::sim::load::RequestList;
use rooflut::sim::{
    Content, Observer, Outcome, Rejection, Request, RequestId, RequestRecord, Server, ServerError,
    ServerEvent, SimConfig, SimError, Simulator, StepRecord, Timing,
};
use rooflut::step::{Drafting, LatencyModel, RooflineModel, StepBatch, TabulatedModel, Tally};
use rooflut::units::Seconds;

/// Tokens of a trace's id.
const TOKENS_PER_ID: u32 = 24;

/// The results of a run.
#[derive(Debug, PartialEq)]
struct Served {
    records: Vec<RequestRecord>,
    totals: Totals,
    batches: Vec<Batch>,
}

/// The run of a simulator that is given all requests at once.
fn expected(config: SimConfig, requests: &[Request]) -> Served {
    let model = Linear::mixed();
    let mut source = RequestList::new(requests).with_ids(&IDS, TOKENS_PER_ID);
    let simulator = simulator(&model, config);
    let report = simulator.run_source(&mut source.clone(), &mut ());
    model.batches.borrow_mut().clear();
    let totals = simulator.serve(&mut source, &mut ());
    Served {
        records: report.records,
        totals,
        batches: model.batches.into_inner(),
    }
}

/// A server that is driven, and what it has said.
struct Driven<'m> {
    server: Server<&'m Linear>,
    records: Vec<Option<RequestRecord>>,
    first_tokens_ns: Vec<Option<u64>>,
}

impl<'m> Driven<'m> {
    fn new(model: &'m Linear, config: SimConfig, requests: usize) -> Driven<'m> {
        Driven {
            server: Server::try_new(model, config).unwrap(),
            records: vec![None; requests],
            first_tokens_ns: vec![None; requests],
        }
    }

    fn push(&mut self, request: Request) -> Result<RequestId, ServerError> {
        let ids = match request.content {
            Content::TraceBlocks { first, .. } => &IDS[first as usize..],
            _ => &[],
        };
        self.server.push_with_ids(request, ids, TOKENS_PER_ID)
    }

    fn note(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::FirstToken { id, at_ns } => {
                assert!(at_ns <= self.server.now_ns());
                assert_eq!(self.first_tokens_ns[id.index()].replace(at_ns), None);
            }
            ServerEvent::Finished { id, at_ns, record } => {
                assert!(at_ns <= self.server.now_ns());
                if let Outcome::Completed(timing) = record.outcome {
                    assert_eq!(timing.finish_ns, at_ns);
                    let first_ns = Some(timing.first_token_ns);
                    assert_eq!(self.first_tokens_ns[id.index()], first_ns);
                }
                assert_eq!(self.records[id.index()].replace(record), None);
            }
            other => panic!("{other:?}"),
        }
    }

    fn drain(&mut self) {
        let events: Vec<ServerEvent> = self.server.drain_events().collect();
        events.into_iter().for_each(|event| self.note(event));
    }

    fn advance(&mut self, to_ns: u64) {
        self.server.advance_to(to_ns).unwrap();
        assert_eq!(self.server.now_ns(), to_ns);
        if let Some(next_ns) = self.server.next_event_ns() {
            assert!(next_ns > to_ns);
        }
        self.drain();
    }

    fn step(&mut self) {
        let ends_ns = self
            .server
            .is_in_step()
            .then(|| self.server.next_event_ns());
        let (end_ns, events) = match self.server.step() {
            None => (None, Vec::new()),
            Some(outcome) => (
                Some(outcome.record.start_ns + outcome.record.duration_ns),
                outcome.events.to_vec(),
            ),
        };
        if let Some(ends_ns) = ends_ns {
            assert_eq!(end_ns, ends_ns);
        }
        if let Some(end_ns) = end_ns {
            assert_eq!(self.server.now_ns(), end_ns);
        }
        self.drain();
        events.into_iter().for_each(|event| self.note(event));
    }

    /// Calls that are refused; the server must not mind.
    fn misuse(&mut self, config: SimConfig) {
        let now_ns = self.server.now_ns();
        let request = |arrival_ns, prompt_tokens| Request::new(prompt_tokens, 1).at_ns(arrival_ns);
        if let Some(before_ns) = now_ns.checked_sub(1) {
            let backwards = ServerError::TimeBackwards {
                to_ns: before_ns,
                now_ns,
            };
            assert_eq!(self.server.advance_to(before_ns), Err(backwards));
            let late = ServerError::ArrivalBeforeNow {
                arrival_ns: before_ns,
                now_ns,
            };
            assert_eq!(self.server.push(request(before_ns, 1)), Err(late));
        }
        let reason = Rejection::TooLong {
            tokens: u64::from(config.max_model_len) + 1,
            max_model_len: config.max_model_len,
        };
        let refused = self.server.push(request(now_ns, config.max_model_len));
        assert_eq!(refused, Err(ServerError::NeverServed(reason)));
        let (arrival_ns, empty) = (now_ns, Rejection::EmptyPrompt);
        let refused = self.server.push(request(arrival_ns, 0));
        assert_eq!(refused, Err(ServerError::NeverServed(empty)));
    }

    fn finish(mut self, model: &Linear) -> Served {
        while let Some(next_ns) = self.server.next_event_ns() {
            self.advance(next_ns);
        }
        assert!(self.server.is_idle());
        assert_eq!((self.server.running(), self.server.waiting()), (0, 0));
        assert_eq!(
            (self.server.arriving(), self.server.kv_blocks_used()),
            (0, 0)
        );
        assert_eq!(self.server.outstanding_tokens(), 0);
        Served {
            records: self.records.into_iter().flatten().collect(),
            totals: self.server.totals(),
            batches: model.batches.take(),
        }
    }
}

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
    fn steps_one_by_one_yield_every_token_once(config in servers(), requests in requests()) {
        let requests = accepted(config, &requests);
        let model = Linear::mixed();
        let mut driven = Driven::new(&model, config, requests.len());
        let ids: Vec<RequestId> = requests.iter().map(|r| driven.push(*r).unwrap()).collect();
        let (mut tokens, mut preempted) = (vec![0; requests.len()], vec![0; requests.len()]);
        let (mut steps, mut events) = (Vec::new(), Vec::new());
        while let Some(step) = driven.server.step() {
            let overrun = u64::from(step.record.overrun_requests);
            let decoding = step.batch.decode_requests() - overrun;
            let chunks = step.batch.prefill.iter().filter(|chunk| chunk.is_last()).count() as u64;
            assert_eq!(step.tokens.len() as u64, decoding + chunks);
            assert!(step.preempted.len() as u32 >= step.record.preempted);
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
            let (expected, lost) = timing.map_or((0, 0), |t| (output_tokens, t.preemptions));
            prop_assert_eq!((tokens[id.index()], preempted[id.index()]), (expected, lost));
        }
        let totals = driven.server.totals();
        prop_assert_eq!(steps.len() as u64, totals.steps);
        let mut seen = Seen::default();
        let mut source = RequestList::new(&requests).with_ids(&IDS, TOKENS_PER_ID);
        simulator(&Linear::mixed(), config).serve(&mut source, &mut seen);
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
    assert_eq!(
        (server.running(), server.waiting(), server.totals().steps),
        (1, 0, 0)
    );
    assert_eq!(server.kv_blocks_used(), 7);
    let second = server.push(request(1_600, 50, 1)).unwrap();
    assert_eq!(
        (server.arriving(), server.outstanding_tokens()),
        (1, 102 + 51)
    );
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
    assert_eq!(
        (server.arriving(), server.next_event_ns()),
        (1, Some(50_000))
    );
    let step = server.step().unwrap();
    assert_eq!(
        (step.record.start_ns, step.tokens),
        (50_000, &[(late, 1)][..])
    );
    assert_eq!(server.step().map(|step| step.record), None);
}

#[test]
fn a_full_queue_is_an_outcome_of_the_arrival_and_no_error_of_the_push() {
    let mut config = SimConfig::new(300, 100);
    config.max_num_seqs = 1;
    config.max_waiting = Some(1);
    let mut server = server(config);
    let ids: Vec<RequestId> = (0..3)
        .map(|index| server.push(request(index, 10, 20)).unwrap())
        .collect();
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
        "time: expected at least 500 ns (now), found 499 ns; advance to a later time"
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
        Err(ServerError::NeverServed(Rejection::TooLate {
            arrival_ns: u64::MAX
        }))
    );
    // It serves on, and none of these has taken an id.
    let id = server.push(request(500, 10, 1)).unwrap();
    assert_eq!(id.index(), 0);
    server.advance_to(u64::MAX).unwrap();
    assert_eq!(timing_of(&mut server, id).finish_ns, 1_600);
    assert!(server.push(request(1_600, 10, 1)).is_err());
    let error = Server::try_new(Linear::mixed(), SimConfig::new(300, 0)).unwrap_err();
    assert_eq!(error, SimError::ZeroLimit { limit: "kv_blocks" });
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
        server.run_until_idle();
        server.now_ns()
    }
    let boxed: Box<dyn LatencyModel + Send + Sync> = Box::new(Microsecond);
    assert_eq!(finish_ns(&boxed), 3_000);
    assert_eq!(finish_ns(boxed), 3_000);
    let shared: Arc<dyn LatencyModel + Send + Sync> = Arc::new(Microsecond);
    let threads: Vec<_> = (0..2)
        .map(|_| Arc::clone(&shared))
        .map(|model| std::thread::spawn(move || finish_ns(model)))
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 3_000);
    }
}

#[test]
fn servers_behind_a_router_of_ones_own_are_a_cluster() {
    let mut config = SimConfig::new(300, 40);
    config.api_server_ns = 300;
    let requests: Vec<Request> = (0..60)
        .map(|index| {
            request(
                u64::from(index / 3) * 2_000,
                20 + index % 40,
                1 + index % 17,
            )
        })
        .collect();
    let cluster = Cluster::try_new(Linear::mixed(), config, 3, Router::RoundRobin).unwrap();
    let expected = cluster
        .run_source(&mut RequestList::new(&requests), &mut ())
        .records;
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
        server.run_until_idle();
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
    assert_send_sync::<Tally<'static>>();
    assert_send_sync::<Server<RooflineModel>>();
    assert_send_sync::<Server<Arc<TabulatedModel>>>();
    assert_send_sync::<Simulator<TabulatedModel>>();
    assert_send_sync::<Cluster<TabulatedModel>>();
    assert_send_sync::<Disaggregated<TabulatedModel>>();
}
