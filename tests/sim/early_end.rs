//! Runs that an observer ends early.

use crate::support::{Linear, simulator};
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Lockstep, Router, ServerPool};
use rooflut::sim::load::RequestList;
use rooflut::sim::{Observer, Request, RequestRecord, SimConfig, SimReport};
use rooflut::units::Seconds;

const REQUESTS: usize = 5_000;
const ENOUGH: usize = 100;

/// Wants no more than [`ENOUGH`] requests.
#[derive(Default)]
struct Enough(usize);

impl Observer for Enough {
    fn finished(&mut self, _: usize, _: &RequestRecord) {
        self.0 += 1;
    }

    fn wants_more(&self) -> bool {
        self.0 < ENOUGH
    }
}

/// Asserts that a run which ends early has the first records of the whole one.
fn assert_ends_early(name: &str, run: impl Fn(&mut RequestList<'_>, &mut dyn Observer) -> SimReport) {
    let request = |index| Request::new(100, 20).at_ns(index * 10_000);
    let requests: Vec<Request> = (0..REQUESTS as u64).map(request).collect();
    let mut source = RequestList::new(&requests);
    let whole = run(&mut source, &mut ());
    assert_eq!(whole.records.len(), REQUESTS, "{name}");
    let mut source = RequestList::new(&requests);
    let mut enough = Enough::default();
    let part = run(&mut source, &mut enough);
    let done = part.records.len();
    assert!((ENOUGH..REQUESTS / 2).contains(&done), "{name}: {done}");
    assert_eq!((enough.0, part.summary.completed), (done, done as u64), "{name}");
    assert!(part.summary.steps < whole.summary.steps, "{name}");
    assert!(part.records.iter().all(|record| whole.records.contains(record)), "{name}");
}

#[test]
fn every_kind_of_servers_ends_early() {
    let model = Linear::mixed();
    let config = SimConfig::new(100_000, 2_048);
    assert_ends_early("one", |source, observer| simulator(&model, config).run_source(source, observer).unwrap());
    let cluster = Cluster::try_new(&model, config, 2, Router::RoundRobin).unwrap();
    assert_ends_early("replicas", |source, observer| cluster.run_source(source, observer).unwrap());
    let ranks = Lockstep::try_new(&model, config, 2).unwrap();
    assert_ends_early("ranks", |source, observer| ranks.run_source(source, observer).unwrap());
    let link = KvLink::try_new(5e9, Seconds(300e-9), 1.0).unwrap();
    let pool = || ServerPool::new(&model, config, 1);
    let apart = Disaggregated::try_new(pool(), pool(), Router::RoundRobin, link).unwrap();
    assert_ends_early("apart", |source, observer| apart.run_source(source, observer).unwrap());
}
