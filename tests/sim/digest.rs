//! Figures of a run without a record per request: the same as with one.
#![cfg(feature = "std")]

use crate::support::{Linear, simulator};
use rooflut::engine::Scheduling;
use rooflut::sim::figures::{BatchSizes, Digest, Goodput, LatencyLimits, Stats, Summary, TokenGaps, Totals};
use rooflut::sim::load::{Arrivals, Lengths, RequestList, RequestMix, Stream, SyntheticLoad};
use rooflut::sim::{Observer, Outcome, Request, RequestRecord, SimConfig, SimReport, Timing};
use rooflut::units::Seconds;

/// 2 ms a step and 60 us a decoding request.
fn model() -> Linear {
    Linear {
        step_ns: 2_000_000,
        prefill_token_ns: 10_000,
        decode_request_ns: 60_000,
        kv_token_ns: 0,
        ..Linear::mixed()
    }
}

/// Long prompts and short outputs.
fn questions() -> RequestMix {
    let prompt = Lengths::try_lognormal(300.0, 1.0, 1..=3_000).unwrap();
    RequestMix::new(prompt, Lengths::try_lognormal(12.0, 0.8, 1..=200).unwrap())
}

/// Short prompts and long outputs, which preempt each other where KV blocks are few.
fn stories() -> RequestMix {
    let prompt = Lengths::try_uniform(1..=60).unwrap();
    RequestMix::new(prompt, Lengths::try_uniform(1..=300).unwrap())
}

fn load(mix: RequestMix, requests: usize) -> impl Iterator<Item = Request> {
    let arrivals = Arrivals::try_poisson(120.0, 7).unwrap();
    SyntheticLoad::new(arrivals, mix, 7).take(requests)
}

fn limits() -> LatencyLimits {
    let mut limits = LatencyLimits::default();
    limits.ttft = Some(Seconds(0.03));
    limits.tpot = Some(Seconds(0.006));
    limits
}

/// Summaries of one run with records and without.
fn both(config: SimConfig, mix: &RequestMix, requests: usize) -> (SimReport, TokenGaps, Summary) {
    let mut sizes = BatchSizes::new();
    let listed: Vec<Request> = load(mix.clone(), requests).collect();
    let model = model();
    let simulator = simulator(&model, config);
    let mut gaps = TokenGaps::new();
    let looks = &mut (&mut gaps, &mut sizes);
    let mut report = simulator.run_source(&mut RequestList::new(&listed), looks).unwrap();
    report.summary.batch = sizes.stats();
    let mut digest = Digest::new().with_limits(limits());
    let totals = simulator.serve(&mut Stream::new(load(mix.clone(), requests)), &mut digest).unwrap();
    (report, gaps, digest.into_summary(&totals))
}

fn close(streamed: Option<Stats>, exact: Option<Stats>) {
    let (streamed, exact) = (streamed.unwrap(), exact.unwrap());
    let within = |a: Seconds, b: Seconds, error: f64| {
        assert!((a.0 - b.0).abs() <= error * b.0 + 1e-9, "{a} {b}");
    };
    within(streamed.mean, exact.mean, 1e-9);
    for (a, b) in
        [(streamed.p50, exact.p50), (streamed.p90, exact.p90), (streamed.p95, exact.p95), (streamed.p99, exact.p99)]
    {
        within(a, b, Digest::RELATIVE_ERROR);
    }
}

#[test]
fn a_million_requests_have_the_percentiles_that_their_records_have() {
    let (report, gaps, streamed) = both(SimConfig::new(4_096, 30_000), &questions(), 1_000_000);
    let exact = &report.summary;
    assert_eq!(streamed.completed, 1_000_000);
    close(streamed.ttft, exact.ttft);
    close(streamed.tpot, exact.tpot);
    close(streamed.e2e, exact.e2e);
    close(streamed.queue, exact.queue);
    assert_eq!(streamed.itl, gaps.stats());
    assert_eq!(exact.itl, None);
    assert!(exact.percentile_error < streamed.percentile_error);
    assert!(streamed.percentile_error < 0.001);
    let goodput = Goodput::of(limits(), &report);
    assert_eq!(streamed.goodput, Some(goodput));
    assert!((200_000..800_000).contains(&goodput.met), "{goodput:?}");
    let [streamed, exact] = [&streamed, exact].map(|of| of.queue_growth.unwrap());
    for (a, b) in [(streamed.first_quarter, exact.first_quarter), (streamed.last_quarter, exact.last_quarter)] {
        assert!((a.0 / b.0 - 1.0).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn what_is_counted_is_the_same_to_the_bit() {
    let (report, _, streamed) = both(SimConfig::new(330, 40), &stories(), 3_000);
    let exact = report.summary;
    assert!(exact.rejected > 0 && exact.preemptions > 0, "{exact:?}");
    let mut same = streamed;
    same.ttft = exact.ttft;
    same.tpot = exact.tpot;
    same.e2e = exact.e2e;
    same.queue = exact.queue;
    same.itl = None;
    same.goodput = None;
    same.queue_growth = exact.queue_growth;
    same.percentile_error = 0.0;
    assert_eq!(same, exact);
}

#[test]
fn gaps_make_up_the_time_from_the_first_token_to_the_last_through_all_preemptions() {
    for scheduling in [Scheduling::Synchronous, Scheduling::OneStepAhead] {
        let mut config = SimConfig::new(360, 40);
        config.rules.scheduling = scheduling;
        let (report, gaps, streamed) = both(config, &stories(), 3_000);
        assert!(report.summary.preemptions > 1_000);
        let served = report.records.iter().filter(|r| r.timing().is_some());
        let (mut count, mut time_ns) = (0, 0);
        for record in served {
            let timing = record.timing().unwrap();
            count += u64::from(record.request.output_tokens) - 1;
            time_ns += timing.finish_ns - timing.first_token_ns;
        }
        assert_eq!(gaps.count(), count);
        let itl = streamed.itl.unwrap();
        assert!((itl.mean.0 * count as f64 / (time_ns as f64 / 1e9) - 1.0).abs() < 1e-12);
        // Most gaps are a step long; those of preempted requests are far longer.
        assert!(itl.p99.0 > 5.0 * itl.p50.0, "{itl:?}");
    }
}

#[test]
fn the_server_is_as_busy_as_its_steps_say() {
    // One request of a chunk and nine decode steps; then nothing for as long; then another.
    let request = |arrival_ns| Request::new(10, 10).at_ns(arrival_ns);
    let model = Linear { step_ns: 1_000_000, ..Linear::default() };
    let requests = [request(0), request(20_000_000)];
    let report = simulator(&model, SimConfig::new(100, 100)).run(&requests).unwrap();
    let server = report.summary.server;
    // 20 steps in 30 ms, with one request each.
    assert!((server.busy_share - 20.0 / 30.0).abs() < 1e-12);
    assert!((server.mean_running - 20.0 / 30.0).abs() < 1e-12);
}

#[test]
fn a_run_without_a_served_request_has_no_figures() {
    let model = model();
    let mut digest = Digest::new().with_limits(limits());
    let simulator = simulator(&model, SimConfig::new(100, 100));
    let totals = simulator.serve(&mut RequestList::new(&[]), &mut digest).unwrap();
    let summary = digest.into_summary(&totals);
    assert_eq!((summary.ttft, summary.itl, summary.queue_growth), (None, None, None));
    let goodput = summary.goodput.unwrap();
    assert_eq!((goodput.met, goodput.per_s.to_bits()), (0, 0));
    assert_eq!(summary.server, rooflut::sim::figures::ServerUse::default());
}

/// The most memory that a digest holds at a time over these requests, of which the `i`th takes
/// `i * growth_ns` longer than the first.
fn peak_bytes(requests: u64, growth_ns: u64) -> u64 {
    let record = |index| {
        let mut timing = Timing::default();
        timing.scheduled_ns = index * growth_ns;
        timing.first_token_ns = 1_000_000 + index * growth_ns;
        timing.finish_ns = 90_000_000 + 11 * index * growth_ns;
        RequestRecord::new(Request::new(0, 11), Outcome::Completed(timing))
    };
    let measured = allocation_counter::measure(|| {
        let mut digest = Digest::new();
        for index in 0..requests {
            digest.finished(index as usize, &record(index));
            digest.resumed(index as usize, 10_000_000 + index * growth_ns);
        }
        assert!(digest.into_summary(&Totals::default()).ttft.is_some());
    });
    measured.bytes_max
}

#[test]
fn memory_grows_with_the_longest_time_and_not_with_requests() {
    // The longest takes 4 s.
    let seconds = peak_bytes(20_000, 18_000);
    assert!(seconds < 650_000, "{seconds}");
    assert_eq!(peak_bytes(2_000_000, 180), seconds);
    // Months.
    let months = peak_bytes(20_000, 40_000_000_000);
    assert!(months < 1_500_000, "{months}");
}
