//! Overload: the run ends, reports it, and uses little memory for waiting requests.
#![cfg(feature = "std")]

use crate::sim_support::{Linear, simulator};
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Router, ServerPool};
use rooflut::sim::figures::{Digest, Totals};
use rooflut::sim::load::{Arrivals, Lengths, RequestList, RequestMix, Stream, SyntheticLoad};
use rooflut::sim::{Observer, Progress, Request, SchedulingPolicy, SimConfig, Simulator};
use rooflut::step::{LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// A model whose steps all take 20 ms.
#[derive(Clone, Copy)]
struct Steady;

impl LatencyModel for Steady {
    fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
        Seconds(0.02)
    }
}

/// Ten running requests of 40 steps each: at most 12.5 requests per second.
fn config() -> SimConfig {
    let mut config = SimConfig::new(4_096, 10_000);
    config.max_num_seqs = 10;
    config
}

/// Returns the requests of an hour.
fn hour(requests_per_s: f64) -> impl Iterator<Item = Request> + Clone {
    let mix = RequestMix::new(Lengths::try_fixed(100).unwrap(), Lengths::try_fixed(40).unwrap());
    let arrivals = Arrivals::try_poisson(requests_per_s, 3).unwrap();
    SyntheticLoad::new(arrivals, mix, 3).take_while(|request| request.arrival_ns < 3_600_000_000_000)
}

/// Records the longest queue and the last progress.
#[derive(Default)]
struct Queue {
    longest: u64,
    last: Option<Progress>,
}

impl Observer for Queue {
    fn progress(&mut self, progress: &Progress) {
        self.longest = self.longest.max(progress.waiting);
        self.last = Some(*progress);
    }
}

#[test]
fn an_hour_of_twice_the_rate_ends_and_is_reported_as_overload() {
    let mean_step = Seconds(0.02);
    for (replicas, policy) in
        [(1, SchedulingPolicy::Fcfs), (1, SchedulingPolicy::ShortestPrompt), (3, SchedulingPolicy::Fcfs)]
    {
        let served = |requests_per_s: f64| {
            let mut config = config();
            config.policy = policy;
            let requests = hour(requests_per_s * f64::from(replicas));
            let (mut digest, mut queue) = (Digest::new(), Queue::default());
            let cluster = Cluster::try_new(Steady, config, replicas, Router::RoundRobin).unwrap();
            let mut source = Stream::new(requests.clone());
            let totals = cluster.serve(&mut source, &mut (&mut digest, &mut queue)).unwrap();
            assert_eq!(totals.completed, requests.count() as u64);
            let last = queue.last.unwrap();
            assert_eq!((last.waiting, last.running), (0, 0));
            assert_eq!(last.completed, totals.completed);
            (digest.into_summary(&totals), queue.longest)
        };
        let (calm, short) = served(6.0);
        assert!(!calm.queue_growth.unwrap().is_overload(mean_step));
        assert!(short < 100, "{short}");
        let (flooded, long) = served(25.0);
        assert!(flooded.queue_growth.unwrap().is_overload(mean_step));
        // Half of the 90,000 requests of a server wait when the last arrives, which takes another hour.
        let waiting = 45_000 * u64::from(replicas);
        assert!(long > waiting * 9 / 10, "{long}");
        assert!(flooded.makespan.0 > 6_800.0, "{}", flooded.makespan);
    }
}

/// Returns requests that arrive faster than a server with one slot serves them: one per millisecond.
fn flood(requests: usize) -> impl Iterator<Item = Request> {
    (0..requests as u64).map(|index| Request::new(100, 2).at_ns(1_000_000 * index))
}

/// A server with one slot.
fn one_slot() -> SimConfig {
    let mut config = config();
    config.max_num_seqs = 1;
    config
}

/// Returns the peak bytes of `serve` while this many requests wait.
fn peak_bytes(requests: usize, serve: impl FnOnce(&mut Digest) -> Totals) -> u64 {
    let mut digest = Digest::new();
    let used = allocation_counter::measure(|| {
        assert_eq!(serve(&mut digest).completed, requests as u64);
    });
    used.bytes_max
}

/// Returns the bytes of each waiting request from `peak`, which gives the bytes for a number of requests.
fn bytes_each(peak: impl Fn(usize) -> u64) -> u64 {
    (peak(60_000) - peak(10_000)) / 50_000
}

#[test]
fn a_request_that_waits_takes_little_more_than_its_record() {
    // A record has 96 bytes.
    for replicas in [1, 3] {
        let cluster = Cluster::try_new(Steady, one_slot(), replicas, Router::RoundRobin).unwrap();
        let simulator = Simulator::try_new(Steady, one_slot()).unwrap();
        let each = bytes_each(|requests| {
            peak_bytes(requests, |digest| {
                let mut source = Stream::new(flood(requests));
                match replicas {
                    1 => simulator.serve(&mut source, digest).unwrap(),
                    _ => cluster.serve(&mut source, digest).unwrap(),
                }
            })
        });
        println!("{replicas} replicas: {each} bytes for each request that waits");
        assert!(each < 200, "{replicas} replicas: {each}");
    }
}

#[test]
fn a_request_that_waits_for_either_pool_takes_little_more() {
    for (bound_by, prefills, decodes) in [("prefill", 1, 100), ("decode", 100, 1)] {
        let pool = |replicas| ServerPool::new(Steady, one_slot(), replicas);
        let link = KvLink::try_new(1e12, Seconds(1e-6), 1e3).unwrap();
        let (prefill, decode) = (pool(prefills), pool(decodes));
        let servers = Disaggregated::try_new(prefill, decode, Router::RoundRobin, link).unwrap();
        let each = bytes_each(|requests| {
            peak_bytes(requests, |digest| servers.serve(&mut Stream::new(flood(requests)), digest).unwrap())
        });
        println!("bound by {bound_by}: {each} bytes for each request that waits");
        assert!(each < 300, "bound by {bound_by}: {each}");
    }
}

#[test]
fn a_full_queue_rejects_requests_and_holds_no_memory_for_them() {
    let mut config = config();
    config.max_waiting = Some(100);
    let mut digest = Digest::new();
    let requests = || hour(25.0);
    let simulator = Simulator::try_new(Steady, config).unwrap();
    let mut queue = Queue::default();
    let totals = simulator.serve(&mut Stream::new(requests()), &mut (&mut digest, &mut queue)).unwrap();
    assert_eq!(totals.completed + totals.rejected, requests().count() as u64);
    assert!(totals.rejected > 40_000, "{}", totals.rejected);
    assert!(queue.longest <= 100);
    // Each admitted request waits for 100 others.
    let growth = digest.into_summary(&totals).queue_growth.unwrap();
    assert!(!growth.is_overload(Seconds(0.02)), "{growth:?}");
}

#[test]
fn the_queue_of_clients_that_give_up_is_as_long_as_their_patience() {
    for policy in [SchedulingPolicy::Fcfs, SchedulingPolicy::ShortestPrompt] {
        let config = config().with_policy(policy).with_patience_ns(10_000_000_000);
        let mut queue = Queue::default();
        let simulator = Simulator::try_new(Steady, config).unwrap();
        let totals = simulator.serve(&mut Stream::new(hour(25.0)), &mut queue).unwrap();
        assert!(totals.abandoned > 40_000 && totals.abandoned == totals.rejected, "{totals:?}");
        // 25 per second for 10 s.
        assert!((150..350).contains(&queue.longest), "{}", queue.longest);
    }
}

#[test]
fn a_year_of_requests_is_served_to_the_nanosecond() {
    const YEAR_NS: u64 = 365 * 86_400 * 1_000_000_000;
    // One every 315.36 s.
    let request = |index| Request::new(10, 2).at_ns(YEAR_NS / 100_000 * index);
    let model = Linear::mixed();
    let requests: Vec<Request> = (0..=100_000).map(request).collect();
    let report = simulator(&model, SimConfig::new(300, 10)).run(&requests).unwrap();
    assert_eq!(report.summary.completed, 100_001);
    for record in &report.records {
        let timing = record.timing().unwrap();
        // 1000 + 100 for the prompt, 1000 + 100 + 11 for the decode, at any time of the year.
        assert_eq!(timing.finish_ns - record.request.arrival_ns, 2_211);
    }
    assert!((report.summary.makespan.0 - 31_536_000.0).abs() < 1e-3);
    let throughput = report.summary.throughput.requests_per_s;
    assert!((throughput * 31_536_000.0 / 100_001.0 - 1.0).abs() < 1e-9);
}

#[test]
fn the_last_arrival_of_the_clock_is_served_and_a_later_one_rejected() {
    let request = |arrival_ns| Request::new(10, 2).at_ns(arrival_ns);
    let requests = [request(SimConfig::LAST_ARRIVAL_NS + 1), request(SimConfig::LAST_ARRIVAL_NS), request(u64::MAX)];
    let model = Linear::mixed();
    let report = simulator(&model, SimConfig::new(300, 10)).run(&requests).unwrap();
    let timing = report.records[1].timing().unwrap();
    assert_eq!(timing.finish_ns, SimConfig::LAST_ARRIVAL_NS + 2_211);
    assert_eq!((report.summary.completed, report.summary.rejected), (1, 2));
    let listed = Simulator::try_new(Steady, SimConfig::new(300, 10)).unwrap();
    assert_eq!(listed.serve(&mut RequestList::new(&requests), &mut ()).unwrap().rejected, 2);
}
