//! A run allocates only while its buffers grow, proved by a counting allocator.

use std::hint::black_box;

use allocation_counter::{AllocationInfo, measure};
use rooflut::engine::Scheduling;
use rooflut::model;
use rooflut::sim::figures::Totals;
use rooflut::sim::load::{Arrivals, Lengths, RequestList, RequestMix, Source, Stream, SyntheticLoad};
use rooflut::sim::{Observer, Request, SimConfig, Simulator, Speculation, StepRecord};
use rooflut::step::{Parallelism, RooflineModel, StepOptions, TabulatedModel, Tally};
use rooflut::table::sets;

/// Counts steps.
struct Steps(u64);

impl Observer for Steps {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.0 += 1;
        black_box(step);
    }
}

fn model() -> TabulatedModel {
    let llama = model::find("llama-3.1-8b").unwrap().spec;
    let options = StepOptions::default();
    let model = RooflineModel::try_new(&llama, &sets::H100, Parallelism::SINGLE, options);
    TabulatedModel::new(model.unwrap(), 2_048)
}

fn config(scheduling: Scheduling) -> SimConfig {
    let mut config = SimConfig::new(200_000, 10_000_000);
    config.rules.scheduling = scheduling;
    config
}

/// Each drafted token after an accepted one is accepted with probability 0.7.
fn speculative() -> SimConfig {
    let mut config = config(Scheduling::Synchronous);
    config.speculation = Speculation::try_new(3, 0.7, 0).ok();
    config
}

/// Returns the allocations of a run, and its totals.
fn run(
    model: &TabulatedModel,
    config: SimConfig,
    source: &mut impl Source,
    observer: &mut impl Observer,
) -> (u64, Totals) {
    let simulator = Simulator::try_new(model, config).unwrap();
    let mut totals = Totals::default();
    let AllocationInfo { count_total, .. } = measure(|| totals = simulator.serve(source, observer).unwrap());
    (count_total, totals)
}

#[test]
fn verified_drafts_allocate_nothing_more() {
    let model = model();
    let decoding = |output_tokens| {
        let request = Request::new(100, output_tokens);
        let requests = [request; 100];
        run(&model, speculative(), &mut RequestList::new(&requests), &mut ())
    };
    let (short, few) = decoding(1_000);
    let (long, many) = decoding(51_000);
    // A step yields 1 + 0.7 + 0.49 + 0.343 tokens of a request, and the slowest request needs a few more.
    let steps = (many.steps - few.steps) as f64 * 2.533 / 50_000.0;
    assert!((1.0..1.05).contains(&steps), "{steps}");
    assert!(many.drafts.verifications > 100 * 19_000);
    assert!(long <= short, "{short} -> {long}");
}

#[test]
fn a_hundred_thousand_more_steps_allocate_nothing_more() {
    let model = model();
    for (scheduling, patience_ns) in [
        (Scheduling::OneStepAhead, None),
        (Scheduling::Synchronous, None),
        (Scheduling::OneStepAhead, Some(10_000_000_000)),
    ] {
        let config = |scheduling| {
            let mut config = config(scheduling);
            config.patience_ns = patience_ns;
            config
        };
        let decoding = |output_tokens: u32| {
            let request = |index| Request::new(100 + index as u32, output_tokens + 3 * index as u32).at_ns(index);
            let requests: Vec<Request> = (0..100).map(request).collect();
            let mut source = RequestList::new(&requests);
            let quiet = run(&model, config(scheduling), &mut source.clone(), &mut ());
            let mut seen = (Steps(0), Tally::new(&model));
            let observed = run(&model, config(scheduling), &mut source, &mut seen);
            assert_eq!(observed, quiet);
            assert_eq!((seen.0.0, seen.1.steps()), (quiet.1.steps, quiet.1.steps));
            quiet
        };
        let (short, few) = decoding(1_000);
        let (long, many) = decoding(101_000);
        assert_eq!(many.steps - few.steps, 100_000);
        assert!(short > 0, "{short}");
        assert_eq!(long, short, "{scheduling:?}");
    }
}

#[test]
fn requests_allocate_nothing_once_the_buffers_have_grown() {
    let model = model();
    let served = |requests, patience_ns| {
        let prompt = Lengths::try_lognormal_of_mean(512.0, 1.0, 1..=4_096).unwrap();
        let output = Lengths::try_lognormal_of_mean(256.0, 1.0, 1..=4_096).unwrap();
        let arrivals = Arrivals::try_poisson(18.0, 1).unwrap();
        let load = SyntheticLoad::new(arrivals, RequestMix::new(prompt, output), 1);
        let mut source = Stream::new(load.take(requests));
        let mut config = config(Scheduling::OneStepAhead);
        config.patience_ns = patience_ns;
        run(&model, config, &mut source, &mut ())
    };
    for patience_ns in [None, Some(10_000_000_000)] {
        let (few, _) = served(2_000, patience_ns);
        let (many, totals) = served(20_000, patience_ns);
        assert_eq!(totals.completed, 20_000);
        assert!(totals.steps > 50_000, "{}", totals.steps);
        // A longer run has higher peaks: a buffer may double once more.
        assert!(many <= few + 10, "{few} -> {many}");
    }
}
