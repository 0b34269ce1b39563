//! Replicas behind a router, against single servers that get what the router should have sent them.

use crate::support::{Linear, Seen, simulator};
use crate::workloads::{ascending, assert_no_overlap, scheduling, texts};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::cluster::{Cluster, Router};
use rooflut::sim::load::{ClosedLoop, Lengths, RequestList, RequestMix, ThinkTime};
use rooflut::sim::{Content, Outcome, Request, SimConfig};
use rooflut::units::Seconds;

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let gap = prop_oneof![Just(0_u64), 0..3_000_u64, 0..60_000_u64];
    ascending(gap, (0..120_u32, 0..60_u32, 0..5_u64), 1..50, |(prompt, output, own)| {
        Request::new(prompt, output).with_content(texts(16, own))
    })
}

fn config(scheduling: Scheduling, api_server_ns: u64) -> SimConfig {
    let mut config = SimConfig::new(180, 24);
    config.max_num_seqs = 6;
    config.max_num_batched_tokens = 40;
    config.rules.scheduling = scheduling;
    config.api_server_ns = api_server_ns;
    config
}

fn serve(config: SimConfig, replicas: u32, router: Router, requests: &[Request]) -> Seen {
    let mut seen = Seen::default();
    let cluster = Cluster::try_new(Linear::mixed(), config, replicas, router).unwrap();
    let totals = cluster.serve(&mut RequestList::new(requests), &mut seen).unwrap();
    assert_eq!(totals.completed + totals.rejected, requests.len() as u64);
    assert_eq!(totals.steps, seen.steps.len() as u64);
    assert_eq!(totals.replicas, replicas);
    let decoding_ns = |outcome: &Outcome| match outcome {
        Outcome::Completed(timing) => timing.finish_ns - timing.first_token_ns,
        _ => 0,
    };
    let outcomes = seen.outcomes(requests.len());
    let gap_ns: u64 = seen.gaps_ns.iter().sum();
    assert_eq!(gap_ns, outcomes.iter().map(decoding_ns).sum::<u64>());
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn round_robin_is_as_many_servers_with_every_nth_request(
        requests in requests(),
        replicas in 1..5_u32,
        scheduling in scheduling(),
        [api_server_ns, api_token_ns] in prop_oneof![Just([0_u64, 0]), Just([900, 0]), Just([900, 40])],
    ) {
        let mut config = config(scheduling, api_server_ns);
        config.api_token_ns = api_token_ns;
        let found = serve(config, replicas, Router::RoundRobin, &requests).outcomes(requests.len());
        let cluster = Cluster::try_new(Linear::mixed(), config, replicas, Router::RoundRobin).unwrap();
        let unobserved = cluster.run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
        let unobserved: Vec<Outcome> = unobserved.records.iter().map(|record| record.outcome).collect();
        prop_assert_eq!(&found, &unobserved);
        for replica in 0..replicas as usize {
            let indices = (replica..requests.len()).step_by(replicas as usize);
            let own: Vec<Request> = indices.clone().map(|index| requests[index]).collect();
            let report = simulator(&Linear::mixed(), config).run(&own).unwrap();
            for (index, record) in indices.zip(&report.records) {
                let mut expected = record.outcome;
                if let Outcome::Completed(timing) = &mut expected {
                    timing.replica = replica as u32;
                }
                prop_assert_eq!(found[index], expected);
            }
        }
    }

    #[test]
    fn every_router_serves_everybody_once_and_steps_of_a_replica_do_not_overlap(
        requests in requests(),
        router in prop::sample::select(&Router::ALL),
    ) {
        let found = serve(config(Scheduling::OneStepAhead, 0), 3, router, &requests);
        assert_no_overlap(&found.steps);
    }
}

/// Answers trigger requests, whose prompts are still tokenized when the next one arrives elsewhere.
#[test]
fn users_of_several_servers_wait_as_long_whether_steps_are_observed_or_not() {
    let mut config = config(Scheduling::OneStepAhead, 900);
    config.api_token_ns = 400;
    let mix = RequestMix::new(Lengths::try_uniform(5..=120).unwrap(), Lengths::try_uniform(1..=50).unwrap());
    let users = ClosedLoop::try_new(7, ThinkTime::NONE, mix, 0).unwrap();
    let cluster = Cluster::try_new(Linear::mixed(), config, 3, Router::RoundRobin).unwrap();
    let mut seen = Seen::default();
    let observed = cluster.run_source(&mut users.clone().limited(100), &mut seen).unwrap();
    let unobserved = cluster.run_source(&mut users.limited(100), &mut ()).unwrap();
    assert_eq!(observed.records, unobserved.records);
    // A request waits for the step before it at most.
    let longest_ns = seen.steps.iter().map(|step| step.duration_ns).max().unwrap();
    for record in &observed.records {
        let timing = record.timing().unwrap();
        assert!(timing.scheduled_ns <= timing.at_engine_ns + 2 * longest_ns, "{record:?}");
    }
}

fn burst(own: impl Fn(u32) -> u64, tokens: impl Fn(u32) -> u32) -> Vec<Request> {
    (0..12)
        .map(|index| Request::new(tokens(index), 4).at_ns(u64::from(index)).with_content(texts(0, own(index))))
        .collect()
}

/// The replica of each request.
fn replicas(router: Router, replicas: u32, requests: &[Request], (ids, tokens): (&[u64], u32)) -> Vec<u32> {
    let config = config(Scheduling::OneStepAhead, 0);
    let cluster = Cluster::try_new(Linear::mixed(), config, replicas, router).unwrap();
    let mut source = RequestList::new(requests).with_ids(ids, tokens);
    let report = cluster.run_source(&mut source, &mut ()).unwrap();
    let timings = report.records.iter().map(|record| record.timing());
    timings.map(|timing| timing.unwrap().replica).collect()
}

/// Prompt tokens that each replica computed.
fn computed(router: Router, requests: &[Request]) -> [u32; 2] {
    let mut computed = [0; 2];
    for step in serve(config(Scheduling::OneStepAhead, 0), 2, router, requests).steps {
        computed[step.replica as usize] += step.prefill_tokens;
    }
    computed
}

#[test]
fn least_outstanding_tokens_balances_what_round_robin_does_not() {
    // Every other request is long.
    let requests = burst(u64::from, |index| if index % 2 == 0 { 100 } else { 4 });
    let [long, short] = computed(Router::RoundRobin, &requests);
    assert!(long > 20 * short, "{long} {short}");
    let [one, other] = computed(Router::LeastOutstandingTokens, &requests);
    assert!(one < 2 * other && other < 2 * one, "{one} {other}");
}

#[test]
fn affinity_sends_a_turn_to_where_the_session_was_computed() {
    // Two sessions, a turn of each every 10 us, so that the turns before have ended.
    let mut requests = burst(|index| u64::from(index % 3 == 0), |_| 60);
    for (index, request) in (0..).zip(&mut requests) {
        request.arrival_ns = 10_000 * index;
    }
    let replicas = replicas(Router::PrefixAffinity, 2, &requests, (&[], 0));
    let expected: Vec<u32> = (0..12).map(|index| replicas[usize::from(index % 3 != 0)]).collect();
    assert_eq!(replicas, expected);
    let [affine, round] =
        [Router::PrefixAffinity, Router::RoundRobin].map(|router| computed(router, &requests).iter().sum::<u32>());
    assert!(affine < round, "{affine} {round}");
}

/// Sessions of [`conversations`], of six turns each.
const SESSIONS: u32 = 200;

/// A trace like that of Mooncake's conversations: all prompts begin with one block, and the turns of a session
/// with all blocks of the turn before.
fn conversations(gap_ns: u64) -> (Vec<Request>, Vec<u64>) {
    let (mut requests, mut ids) = (Vec::new(), Vec::new());
    for index in 0..6 * SESSIONS {
        let (turn, session) = (index / SESSIONS, u64::from(index % SESSIONS));
        let first = ids.len() as u32;
        ids.push(0);
        ids.extend((0..=turn).map(|block| 1_000 * (session + 1) + u64::from(block)));
        let count = turn + 2;
        requests.push(
            Request::new(16 * count, 8)
                .at_ns(u64::from(index) * gap_ns)
                .with_content(Content::TraceBlocks { first, count }),
        );
    }
    (requests, ids)
}

#[test]
fn affinity_weighs_a_match_against_the_load() {
    // Under load, and with replicas that are idle at every arrival.
    for gap_ns in [100, 10_000] {
        let (requests, ids) = conversations(gap_ns);
        let replicas = replicas(Router::PrefixAffinity, 8, &requests, (&ids, 16));
        let mut served = [0_u32; 8];
        for replica in &replicas {
            served[*replica as usize] += 1;
        }
        // The block that all share attracts none: each replica has its share of 150.
        let even = served.iter().all(|served| (100..200).contains(served));
        assert!(even, "{served:?}");
        // Turns follow their session, where it is still in the cache.
        let follows =
            replicas.iter().zip(&replicas[SESSIONS as usize..]).filter(|(before, turn)| before == turn).count();
        assert!(follows > 600, "{follows} of 1000");
    }
}

#[test]
fn affinity_leaves_a_replica_that_is_overloaded() {
    // One session, and all of its turns at once.
    let requests = burst(|_| 7, |_| 60);
    let replicas = replicas(Router::PrefixAffinity, 2, &requests, (&[], 0));
    assert_eq!(replicas.iter().filter(|replica| **replica == 0).count(), 6);
}

#[test]
fn one_replica_is_a_server_also_for_users_whose_requests_are_rejected() {
    let lengths = |tokens| Lengths::try_fixed(tokens).unwrap();
    let mix = RequestMix::new(lengths(40), lengths(20));
    let think = ThinkTime::try_fixed(Seconds(5e-6)).unwrap();
    for max_waiting in [None, Some(1), Some(3)] {
        let users = || ClosedLoop::try_new(9, think, mix.clone(), 3).unwrap().limited(80);
        let mut config = config(Scheduling::OneStepAhead, 700);
        config.max_num_seqs = 2;
        config.max_waiting = max_waiting;
        let (alone, together) = (Linear::mixed(), Linear::mixed());
        let single = simulator(&alone, config).run_source(&mut users(), &mut ()).unwrap();
        let cluster = Cluster::try_new(&together, config, 1, Router::RoundRobin).unwrap();
        let replica = cluster.run_source(&mut users(), &mut ()).unwrap();
        assert_eq!(replica.records, single.records);
        assert_eq!(alone.batches, together.batches);
        assert_eq!(single.summary.rejected > 0, max_waiting.is_some());
    }
}
