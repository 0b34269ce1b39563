//! Fleets of unlike servers, of ranks and pipelines, some of them lost for some time, against straightforward engines.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::oracle::engines::{Kind, Log, Step};
use crate::oracle::fleet::{self, Fleet, Link, Pool};
use crate::oracle::{Sequence, kv_cache::LISTED_TOKENS};
use crate::pipeline::Stages;
use crate::support::{Linear, Seen};
use crate::workloads::{IDS, chat, requests, servers, texts};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rooflut::engine::Scheduling;
use rooflut::model::KvGroups;
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Outage, Router, ServerPool};
use rooflut::sim::figures::Totals;
use rooflut::sim::load::{ClosedLoop, Lengths, LimitedLoop, RequestList, Source, ThinkTime};
use rooflut::sim::{Content, Observer, Outcome, Request, RequestRecord, SimConfig, SimReport, StepRecord};
use rooflut::step::LatencyModel;
use rooflut::units::Seconds;

/// Equal servers of a fleet.
#[derive(Debug, Clone)]
struct Servers {
    config: SimConfig,
    replicas: u32,
    ranks: u32,
    /// Time of a step, times that of the fastest servers.
    speed: u64,
}

/// The shares of two stages; servers of one stage take both together.
const SHARES: [u64; 2] = [60, 40];

impl Servers {
    fn model(&self) -> Stages<'static> {
        let mut model = Linear::mixed();
        let Linear { step_ns, prefill_token_ns, decode_request_ns, kv_token_ns, .. } = &mut model;
        [step_ns, prefill_token_ns, decode_request_ns, kv_token_ns].map(|ns| *ns *= self.speed);
        Stages { model, shares: &SHARES }
    }

    fn pool<'m>(&self, model: &'m dyn LatencyModel) -> ServerPool<&'m dyn LatencyModel> {
        ServerPool::new(model, self.config, self.replicas).with_ranks(self.ranks)
    }

    fn kind<'m>(&self, model: &'m dyn LatencyModel) -> Kind<'m> {
        let Servers { config, replicas, ranks, .. } = *self;
        Kind { model, config, replicas, ranks, listed: &IDS, comes: |sequence| sequence }
    }

    fn is_pipelined(&self) -> bool {
        self.config.pipeline_parallel_size > 1
    }
}

/// Single engines, ranks, and pipelines.
fn kind() -> impl Strategy<Value = Servers> {
    let shape = prop_oneof![2 => Just((1, 1)), 1 => (2..4_u32, Just(1)), 1 => (Just(1), 2..4_u32)];
    (servers(), 1..4_u32, shape, 1..4_u64).prop_map(|(mut config, replicas, (ranks, stages), speed)| {
        // More than all requests need, and few enough for a plain engine to look through.
        config.kv_blocks = config.kv_blocks.min(2_000);
        if stages > 1 {
            config.speculation = None;
            config = config.with_pipeline_parallel_size(stages);
        }
        Servers { config, replicas, ranks, speed }
    })
}

/// Outages of up to nine servers, many at the same time.
fn outages() -> impl Strategy<Value = Vec<Outage>> {
    let outage = (0..30_u32, 1..60_u32);
    let of_server = prop_oneof![Just(Vec::new()), prop::collection::vec(outage, 1..4)];
    let all = prop::collection::vec(of_server, 9).prop_map(|servers| {
        let mut outages = Vec::new();
        for (server, of_server) in (0..).zip(servers) {
            let mut from = 0;
            for (gap, length) in of_server {
                from += gap;
                let at = |time: u32| Seconds(f64::from(time) * 5e-6);
                outages.push(Outage::try_new(server, at(from), at(from + length)).unwrap());
                from += length;
            }
        }
        outages
    });
    prop_oneof![1 => Just(Vec::new()), 3 => all]
}

/// The outages of `servers` servers.
fn within(outages: &[Outage], servers: u32) -> Vec<Outage> {
    outages.iter().copied().filter(|outage| outage.server < servers).collect()
}

/// Requests from a list, or of users that wait for their answers.
#[derive(Debug, Clone)]
enum Load {
    List(Vec<Request>),
    Users(u32, u64),
}

fn load() -> impl Strategy<Value = Load> {
    prop_oneof![2 => requests().prop_map(Load::List), 1 => (1..12_u32, any::<u64>()).prop_map(|(users, seed)| Load::Users(users, seed))]
}

impl Load {
    /// Without prefix hits that are given: the router looks for the blocks of a prompt from the first on.
    fn routed_by(mut self, router: Router) -> Load {
        if let (Router::PrefixAffinity, Load::List(requests)) = (router, &mut self) {
            for request in requests {
                request.cached_prompt_tokens = 0;
            }
        }
        self
    }

    /// With a text of its own for each request that has none: the cache keeps nothing of [`Content::Unique`], which only
    /// the request itself could find when it starts again.
    fn with_texts(mut self) -> Load {
        if let Load::List(requests) = &mut self {
            for (own, request) in (100..).zip(requests) {
                if request.content == Content::Unique {
                    request.content = texts(0, own);
                }
            }
        }
        self
    }

    fn count(&self) -> usize {
        match self {
            Load::List(requests) => requests.len(),
            Load::Users(..) => 40,
        }
    }

    fn with_source<T>(&self, run: impl FnOnce(&mut dyn Source) -> T) -> T {
        match self {
            Load::List(requests) => run(&mut RequestList::new(requests).with_ids(&IDS, LISTED_TOKENS)),
            Load::Users(users, seed) => run(&mut self.users(*users, *seed)),
        }
    }

    fn users(&self, users: u32, seed: u64) -> LimitedLoop {
        let think = ThinkTime::try_fixed(Seconds(3e-6)).unwrap();
        let mut mix = chat(2, think, [1.0, 2.0]);
        mix.prompt = Lengths::try_uniform(1..=60).unwrap();
        mix.output = Lengths::try_uniform(1..=30).unwrap();
        ClosedLoop::try_new(users, think, mix, seed).unwrap().limited(self.count() as u64)
    }
}

/// Steps in an order that does not depend on the order of the replicas.
fn sorted(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_unstable();
    steps
}

fn seen_steps(seen: &Seen) -> Vec<Step> {
    let step = |of: &StepRecord| {
        let chunks = (of.prefill_chunks as usize, u64::from(of.prefill_tokens));
        let decode = (u64::from(of.decode_requests), of.kv_tokens);
        let state = (of.waiting, of.kv_blocks_used);
        (of.replica, of.start_ns, of.duration_ns, state.0, state.1, chunks.0, chunks.1, decode.0, decode.1)
    };
    sorted(seen.steps.iter().map(step).collect())
}

/// Compares a run with the expected one; returns the totals.
fn assert_same(
    load: &Load,
    kinds: &[&Servers],
    run: impl Fn(&mut dyn Source, &mut dyn Observer) -> SimReport,
    totals: impl Fn(&mut dyn Source) -> Totals,
    (expected, logs, peak_blocks): (Fleet, &mut [Log], u32),
) -> Totals {
    let mut seen = Seen::default();
    let observed = load.with_source(|source| run(source, &mut seen));
    let records: Vec<RequestRecord> = expected.records.into_values().collect();
    assert_eq!(records.len(), load.count());
    for (index, (found, expected)) in observed.records.iter().zip(&records).enumerate() {
        assert_eq!(found, expected, "request {index}");
    }
    let steps = logs.iter_mut().flat_map(|log| std::mem::take(&mut log.steps));
    assert_eq!(seen_steps(&seen), sorted(steps.collect()));
    let mut gaps_ns: Vec<u64> = logs.iter().flat_map(|log| log.run.gaps_ns.iter().copied()).collect();
    gaps_ns.sort_unstable();
    seen.gaps_ns.sort_unstable();
    assert_eq!(seen.gaps_ns, gaps_ns);
    // An observer changes nothing.
    let unobserved = load.with_source(|source| run(source, &mut ()));
    assert_eq!(unobserved.records, records);
    let totals = load.with_source(totals);
    let of = |count: fn(&Log) -> u64| logs.iter().map(count).sum::<u64>();
    assert_eq!(totals.steps, of(|log| log.run.steps));
    assert_eq!(totals.preemptions, of(|log| log.run.preemptions));
    assert_eq!(totals.restarted, expected.restarted);
    let served: Vec<&RequestRecord> = records.iter().filter(|record| record.timing().is_some()).collect();
    assert_eq!((totals.completed, totals.rejected), (served.len() as u64, (records.len() - served.len()) as u64));
    assert_eq!(totals.tokens, served.iter().map(|record| record.request.tokens()).sum::<u64>());
    let first_ns = served.iter().map(|record| record.request.arrival_ns).min();
    assert_eq!(totals.span_ns.map(|(first_ns, _)| first_ns), first_ns);
    assert_eq!(totals.replicas, kinds.iter().map(|kind| kind.replicas * kind.ranks).sum::<u32>());
    assert_eq!(
        totals.kv_blocks,
        kinds.iter().map(|kind| kind.replicas * kind.ranks * kind.config.kv_blocks).sum::<u32>()
    );
    if kinds.iter().all(|kind| kind.config.kv_groups.limited == 0) {
        assert_eq!(totals.peak_kv_blocks, peak_blocks);
    }
    if !kinds.iter().any(|kind| kind.is_pipelined()) {
        let busy_ns: u64 = seen.steps.iter().map(|step| step.duration_ns).sum();
        let block_ns = seen.steps.iter().map(|step| u128::from(step.duration_ns) * u128::from(step.kv_blocks_used));
        assert_eq!((totals.busy_ns, totals.block_ns), (busy_ns, block_ns.sum()));
    }
    totals
}

/// Runs `check` on random cases, and asserts that each of the things that it counts was reached in some of them.
fn reached<C: std::fmt::Debug>(
    cases: u32,
    strategy: impl Strategy<Value = C>,
    check: impl Fn(C) -> Vec<(&'static str, bool)>,
) {
    let counts: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let mut runner = TestRunner::new(ProptestConfig { max_shrink_iters: 500, ..ProptestConfig::with_cases(cases) });
    let ran = runner.run(&strategy, |case| {
        for (name, reached) in check(case) {
            *counts.borrow_mut().entry(name).or_insert(0) += u32::from(reached);
        }
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
    for (name, count) in counts.into_inner() {
        println!("{name}: {count} of {cases} cases");
        assert!(count >= cases / 40, "{name}: {count} of {cases} cases");
    }
}

#[test]
fn unlike_servers_some_of_them_lost_agree_to_the_nanosecond() {
    let kinds = prop::collection::vec(kind(), 1..4);
    let router = prop::sample::select(&Router::ALL);
    reached(120, (kinds, outages(), router, load()), |(kinds, outages, router, load)| {
        let load = load.routed_by(router);
        let servers = kinds.iter().map(|kind| kind.replicas).sum();
        let outages = within(&outages, servers);
        let models: Vec<Stages<'_>> = kinds.iter().map(Servers::model).collect();
        let with_models = || kinds.iter().zip(&models);
        let pools = with_models().map(|(kind, model)| kind.pool(model)).collect();
        let cluster = Cluster::try_of(pools, router).unwrap().with_outages(outages.clone()).unwrap();
        let kinds_of = with_models().map(|(kind, model)| kind.kind(model)).collect();
        let mut pool = Pool::new(kinds_of, router, outages.clone(), 0);
        let mut log = Log::of(load.count());
        let expected = load.with_source(|source| fleet::serve(&mut pool, source, &mut log));
        let expected = (expected, std::slice::from_mut(&mut log), pool.peak_blocks());
        let run = |source: &mut dyn Source, observer: &mut dyn Observer| cluster.run_source(source, observer).unwrap();
        let serve = |source: &mut dyn Source| cluster.serve(source, &mut ()).unwrap();
        let all: Vec<&Servers> = kinds.iter().collect();
        let totals = assert_same(&load, &all, run, serve, expected);
        let restarted = totals.restarted > 0;
        vec![
            ("restarted", restarted),
            ("restarted with ranks", restarted && kinds.iter().any(|kind| kind.ranks > 1)),
            ("restarted with pipelines", restarted && kinds.iter().any(Servers::is_pipelined)),
            ("restarted in a closed loop", restarted && matches!(load, Load::Users(..))),
            ("unlike", kinds.len() > 1),
        ]
    });
}

/// Prefill and decode servers: without drafts and states, which are not modelled apart, and with one group of layers.
fn pair() -> impl Strategy<Value = [Servers; 2]> {
    let plain = |mut servers: Servers| {
        servers.config.speculation = None;
        servers.config.kv_groups = KvGroups::ONE;
        servers
    };
    [kind(), kind()].prop_map(move |pair| pair.map(plain))
}

#[test]
fn prefill_and_decode_servers_some_of_them_lost_agree_to_the_nanosecond() {
    let router = prop::sample::select(&Router::ALL);
    let link = prop::sample::select(&[(200, 300), (10_000, 20_000)]);
    reached(120, (pair(), outages(), router, load(), link), |(pair, outages, router, load, (token_ps, latency_ns))| {
        let [prefill, decode] = &pair;
        let load = load.routed_by(router).with_texts();
        let outages = within(&outages, prefill.replicas + decode.replicas);
        let models = [prefill.model(), decode.model()];
        let link = KvLink::try_new(1e12 / token_ps as f64, Seconds(latency_ns as f64 / 1e9), 1.0).unwrap();
        let (first, second) = (prefill.pool(&models[0]), decode.pool(&models[1]));
        let servers = Disaggregated::try_new(first, second, router, link).unwrap();
        let servers = servers.with_outages(outages.clone()).unwrap();
        let (mut prompts, mut outputs) = (prefill.kind(&models[0]), decode.kind(&models[1]));
        prompts.config.api_output_ns = 0;
        outputs.config.api_server_ns = 0;
        outputs.config.api_token_ns = 0;
        outputs.config.max_waiting = None;
        outputs.config.patience_ns = None;
        outputs.comes = Sequence::with_kv;
        let (of_prefill, of_decode): (Vec<Outage>, Vec<Outage>) =
            outages.iter().partition(|outage| outage.server < prefill.replicas);
        let of_decode = of_decode.into_iter().map(|mut outage| {
            outage.server -= prefill.replicas;
            outage
        });
        let mut pools = [
            Pool::new(vec![prompts], router, of_prefill.clone(), 0),
            Pool::new(vec![outputs], router, of_decode.collect(), prefill.replicas * prefill.ranks),
        ];
        let mut logs = [Log::of(load.count()), Log::of(load.count())];
        let link = Link { token_ps, latency_ns };
        let expected = load.with_source(|source| fleet::serve_apart(pools.each_mut(), link, source, logs.each_mut()));
        let transfers = expected.transfers.clone();
        let peak_blocks = pools.iter().map(Pool::peak_blocks).sum();
        let run = |source: &mut dyn Source, observer: &mut dyn Observer| servers.run_source(source, observer).unwrap();
        let serve = |source: &mut dyn Source| servers.serve(source, &mut ()).unwrap();
        let totals = assert_same(&load, &[prefill, decode], run, serve, (expected, &mut logs, peak_blocks));
        let sum = |of: fn(&(u64, u64)) -> u64| transfers.iter().map(|transfer| u128::from(of(transfer))).sum::<u128>();
        let stages = &totals.stages;
        assert_eq!(stages.transfers, transfers.len() as u64);
        assert_eq!((stages.link_ns, stages.transfer_ns), (sum(|of| of.0), sum(|of| of.1)));
        let restarted = totals.restarted > 0;
        vec![
            ("restarted", restarted),
            ("restarted with ranks", restarted && pair.iter().any(|kind| kind.ranks > 1)),
            ("restarted with pipelines", restarted && pair.iter().any(Servers::is_pipelined)),
            ("restarted in a closed loop", restarted && matches!(load, Load::Users(..))),
            ("transfers again", stages.transfers > totals.completed),
            ("served", totals.completed > 0),
        ]
    });
}

/// A request that finished is recorded once, however often it started.
#[test]
fn every_attempt_but_the_last_is_forgotten() {
    let model = Linear::mixed();
    let config = SimConfig::new(2_000, 1_000).with_scheduling(Scheduling::Synchronous);
    // A step of the prompt takes 2 us; the server is lost after the first of ten tokens, three times.
    let lost = |number: u64| {
        let from = Seconds((2_500 + number * 10_000) as f64 / 1e9);
        Outage::try_new(0, from, Seconds(from.0 + 7.5e-6)).unwrap()
    };
    let cluster = Cluster::try_new(&model, config, 1, Router::RoundRobin).unwrap();
    let cluster = cluster.with_outages((0..3).map(lost).collect()).unwrap();
    let requests = [Request::new(100, 10)];
    let mut seen = Seen::default();
    let totals = cluster.serve(&mut RequestList::new(&requests), &mut seen).unwrap();
    assert_eq!((totals.completed, totals.restarted, totals.output_tokens), (1, 3, 10));
    let Outcome::Completed(timing) = seen.outcomes(1)[0] else { panic!("{seen:?}", seen = seen.steps) };
    assert_eq!(timing.scheduled_ns, 30_000);
    assert_eq!(timing.first_token_ns, 32_000);
    // A prompt, and the decode step that had begun, three times.
    assert_eq!(seen.steps.len(), 3 * 2 + 10);
}
