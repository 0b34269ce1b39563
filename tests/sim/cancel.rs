//! Cancelled requests of a server: against the straightforward engine, and by hand.

use crate::engines_agree::assert_same;
use crate::oracle::{self, Cancel, kv_cache::LISTED_TOKENS};
use crate::pipeline::staged;
use crate::support::{Linear, Seen, request};
use crate::workloads::{IDS, requests, servers};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::{
    Content, Observer, Outcome, Rejection, Request, RequestId, Server, ServerError, ServerEvent, SimConfig,
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

/// A server whose requests are `requests`, without those that it refuses.
fn loaded<M: LatencyModel>(model: M, config: SimConfig, requests: &[Request]) -> (Server<M>, Vec<Request>) {
    let mut server = Server::try_new(model, config).unwrap();
    let push = |request: &Request| {
        let ids = match request.content {
            Content::TraceBlocks { first, .. } => &IDS[first as usize..],
            _ => &[],
        };
        server.push_with_ids(*request, ids, LISTED_TOKENS).is_ok()
    };
    let accepted = requests.iter().copied().filter(push).collect();
    (server, accepted)
}

/// Cancels requests of a server, then runs it until it is idle. Each request has one last event and none after it.
fn observed<M: LatencyModel>(server: &mut Server<M>, requests: usize, cancels: &[Cancel]) -> Seen {
    let mut seen = Seen::default();
    let mut finished = vec![false; requests];
    let mut cancelled = vec![false; requests];
    let note = |server: &mut Server<M>, finished: &mut [bool]| {
        let drained: Vec<ServerEvent> = server.drain_events().collect();
        for event in &drained {
            match event {
                ServerEvent::FirstToken { id, .. } => assert!(!finished[id.index()]),
                ServerEvent::Finished { id, .. } => assert!(!std::mem::replace(&mut finished[id.index()], true)),
                other => panic!("{other:?}"),
            }
        }
        drained
    };
    for &(at_ns, index) in cancels {
        server.advance_observed(at_ns, &mut seen).unwrap();
        note(server, &mut finished);
        let refused = server.cancel(RequestId::new(index)).err();
        let is_over = finished[index] || cancelled[index];
        assert_eq!(refused, is_over.then_some(ServerError::UnknownRequest { index }));
        cancelled[index] = true;
        // A request that has not arrived leaves at once.
        for event in note(server, &mut finished) {
            if let ServerEvent::Finished { id, record, at_ns: left_ns } = event {
                assert_eq!((id.index(), record.outcome), (index, Outcome::Rejected(Rejection::Cancelled)));
                assert!(left_ns == at_ns && record.request.arrival_ns > at_ns);
                seen.finished(index, &record);
            }
        }
    }
    while let Some(at_ns) = server.next_event_ns() {
        server.advance_observed(at_ns, &mut seen).unwrap();
        note(server, &mut finished);
    }
    assert!(finished.iter().all(|finished| *finished));
    assert_eq!((server.running(), server.waiting(), server.arriving()), (0, 0, 0));
    assert_eq!((server.kv_blocks_used(), server.outstanding_tokens()), (0, 0));
    seen
}

/// Cancels in the order of their times, of requests that there are.
fn in_order(mut cancels: Vec<Cancel>, requests: usize) -> Vec<Cancel> {
    cancels.iter_mut().for_each(|(_, index)| *index %= requests);
    cancels.sort_unstable();
    // The straightforward engine cancels each once.
    let mut known = vec![false; requests];
    cancels.retain(|(_, index)| !std::mem::replace(&mut known[*index], true));
    cancels
}

/// From the first steps to the end of most runs.
fn cancels() -> impl Strategy<Value = Vec<Cancel>> {
    let at_ns = prop_oneof![0..10_000_u64, 0..200_000_u64, 0..2_000_000_u64];
    prop::collection::vec((at_ns, 0..60_usize), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cancelled_requests_leave_as_in_the_straightforward_engine(
        config in servers(),
        requests in requests(),
        cancels in cancels(),
    ) {
        let (model, naive) = (Linear::mixed(), Linear::mixed());
        let (mut server, requests) = loaded(&model, config, &requests);
        prop_assume!(!requests.is_empty());
        let cancels = in_order(cancels, requests.len());
        let seen = observed(&mut server, requests.len(), &cancels);
        let expected = oracle::run(&naive, config, &requests, &IDS, |sequence| sequence, &cancels);
        assert_same(expected, &seen, &server.totals(), &config);
        prop_assert_eq!(model.batches.into_inner(), naive.batches.into_inner());
    }

    #[test]
    fn likewise_with_pipeline_stages(
        mut config in servers(),
        requests in requests(),
        cancels in cancels(),
        shares in prop::collection::vec(0..300_u64, 1..6),
        stages in 2..6_u32,
    ) {
        config.speculation = None;
        let config = config.with_pipeline_parallel_size(stages);
        let naive = staged(&shares);
        let (mut server, requests) = loaded(staged(&shares), config, &requests);
        prop_assume!(!requests.is_empty());
        let cancels = in_order(cancels, requests.len());
        let seen = observed(&mut server, requests.len(), &cancels);
        let expected = oracle::pipeline::run(&naive, config, &requests, &IDS, |sequence| sequence, &cancels);
        assert_same(expected, &seen, &server.totals(), &config);
        prop_assert_eq!(server.model().model.batches.take(), naive.model.batches.take());
    }

    /// With steps that take as long whatever is in them, and room for all, a request does not notice the others.
    #[test]
    fn other_requests_keep_their_times(requests in requests(), cancels in cancels(), one_ahead in any::<bool>()) {
        let mut config = SimConfig::new(400, 10_000).with_max_num_batched_tokens(100_000);
        config.rules.scheduling = if one_ahead { Scheduling::OneStepAhead } else { Scheduling::Synchronous };
        // The first one is never cancelled and outlives the others, so that steps begin at the same times.
        let mut all = vec![request(0, 1, 399)];
        all.extend(requests.iter().map(|request| request.at_ns(request.arrival_ns % 250_000).with_content(Content::Unique)));
        let (server, all) = loaded(Steady, config, &all);
        let cancels: Vec<Cancel> = in_order(cancels, all.len());
        let cancels: Vec<Cancel> = cancels.into_iter().filter(|(_, index)| *index > 0).collect();
        let run = |cancels: &[Cancel]| {
            let mut server = server.clone();
            observed(&mut server, all.len(), cancels).outcomes(all.len())
        };
        let (undisturbed, disturbed) = (run(&[]), run(&cancels));
        for (index, (before, after)) in undisturbed.iter().zip(&disturbed).enumerate() {
            if *after == Outcome::Rejected(Rejection::Cancelled) {
                prop_assert!(cancels.iter().any(|(_, of)| *of == index));
            } else {
                prop_assert_eq!(before, after);
            }
        }
    }
}

impl Clone for Steady {
    fn clone(&self) -> Steady {
        Steady
    }
}

/// The events of a server, each with its request and its time.
fn events(server: &mut Server<Steady>) -> Vec<(usize, u64, &'static str)> {
    let named = |event: ServerEvent| match event {
        ServerEvent::FirstToken { id, at_ns } => (id.index(), at_ns, "first token"),
        ServerEvent::Finished { id, at_ns, record } => match record.outcome {
            Outcome::Completed(_) => (id.index(), at_ns, "completed"),
            Outcome::Rejected(Rejection::Cancelled) => (id.index(), at_ns, "cancelled"),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    server.drain_events().map(named).collect()
}

fn server(config: SimConfig) -> Server<Steady> {
    Server::try_new(Steady, config.with_scheduling(Scheduling::Synchronous)).unwrap()
}

#[test]
fn a_running_request_leaves_when_the_step_in_flight_has_ended() {
    let mut server = server(SimConfig::new(1_000, 100));
    let [first, second] = [request(0, 32, 10), request(0, 16, 10)].map(|request| server.push(request).unwrap());
    server.advance_to(2_500).unwrap();
    server.cancel(first).unwrap();
    assert_eq!((server.running(), server.kv_blocks_used()), (2, 3 + 2));
    server.advance_to(3_001).unwrap();
    assert_eq!((server.running(), server.kv_blocks_used()), (1, 2));
    server.run_until_idle().unwrap();
    let (first, second) = (first.index(), second.index());
    let expected = [
        (first, 1_000, "first token"),
        (second, 1_000, "first token"),
        (first, 3_000, "cancelled"),
        (second, 10_000, "completed"),
    ];
    assert_eq!(events(&mut server), expected);
    let totals = server.totals();
    assert_eq!((totals.completed, totals.rejected, totals.abandoned, totals.output_tokens), (1, 1, 0, 10));
}

#[test]
fn a_step_that_is_fixed_already_computes_the_tokens_in_vain() {
    let config = SimConfig::new(1_000, 100).with_scheduling(Scheduling::OneStepAhead);
    let mut server = Server::try_new(Steady, config).unwrap();
    let id = server.push(request(0, 32, 10)).unwrap();
    server.advance_to(2_500).unwrap();
    server.cancel(id).unwrap();
    // The step in flight, and the one after it.
    assert_eq!(server.step().unwrap().unwrap().tokens, [(id, 1)]);
    let step = server.step().unwrap().unwrap();
    assert_eq!((step.record.decode_requests, step.record.overrun_requests), (1, 1));
    assert!(step.tokens.is_empty());
    assert!(server.step().unwrap().is_none());
    assert_eq!((server.now_ns(), server.kv_blocks_used()), (4_000, 0));
}

#[test]
fn a_request_that_the_step_in_flight_completes_is_served() {
    let mut server = server(SimConfig::new(1_000, 100));
    let id = server.push(request(0, 32, 2)).unwrap();
    server.advance_to(1_500).unwrap();
    server.cancel(id).unwrap();
    server.run_until_idle().unwrap();
    assert_eq!(events(&mut server), [(0, 1_000, "first token"), (0, 2_000, "completed")]);
    assert_eq!(server.cancel(id), Err(ServerError::UnknownRequest { index: 0 }));
}

#[test]
fn waiting_requests_leave_and_those_that_have_not_arrived_leave_at_once() {
    let mut server = server(SimConfig::new(1_000, 100).with_max_num_seqs(1).with_api_server_ns(500));
    let [running, waiting, at_the_api_server, later] =
        [request(0, 16, 5), request(0, 16, 5), request(1_700, 16, 5), request(90_000, 16, 5)]
            .map(|request| server.push(request).unwrap());
    server.advance_to(1_800).unwrap();
    for id in [later, at_the_api_server, waiting] {
        server.cancel(id).unwrap();
        assert_eq!(server.cancel(id), Err(ServerError::UnknownRequest { index: id.index() }));
    }
    assert_eq!((server.arriving(), server.waiting()), (1, 1));
    server.run_until_idle().unwrap();
    let expected = [
        (running.index(), 1_500, "first token"),
        (later.index(), 1_800, "cancelled"),
        // The first boundary at which the engine has seen it, and the one before.
        (waiting.index(), 2_500, "cancelled"),
        (at_the_api_server.index(), 2_500, "cancelled"),
        (running.index(), 5_500, "completed"),
    ];
    assert_eq!(events(&mut server), expected);
}

#[test]
fn full_blocks_of_a_cancelled_request_stay_in_the_prefix_cache() {
    let text = Content::Texts { prefix: 7, prefix_tokens: 64, own: 1 };
    let mut server = server(SimConfig::new(1_000, 100));
    let first = server.push(request(0, 64, 50).with_content(text)).unwrap();
    server.push(request(90_000, 100, 2).with_content(text)).unwrap();
    // 64 tokens of the prompt and 17 of the output have entries: five blocks and a token.
    server.advance_to(18_000).unwrap();
    server.cancel(first).unwrap();
    server.run_until_idle().unwrap();
    let cached = server.drain_events().find_map(|event| match event {
        ServerEvent::Finished { record, .. } => record.timing().map(|timing| timing.cached_tokens),
        _ => None,
    });
    assert_eq!(cached, Some(80));
}

#[test]
fn an_unknown_request_is_refused_with_what_to_do() {
    let mut server = server(SimConfig::new(1_000, 100));
    let refused = server.cancel(RequestId::new(3)).unwrap_err();
    let text = "request 3: expected one that was pushed and has not finished, found one that was not pushed, has \
                finished, or was cancelled; cancel a request before its last event";
    assert_eq!(refused.to_string(), text);
    assert!(server.is_idle());
}
