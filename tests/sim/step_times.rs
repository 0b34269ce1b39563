//! Times that no step can take, and steps that end after the clock.

use rooflut::engine::Scheduling;
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Lockstep, Router, ServerPool};
use rooflut::sim::figures::Totals;
use rooflut::sim::load::RequestList;
use rooflut::sim::{Request, Server, ServerError, SimConfig, Simulator, StepTimeError};
use rooflut::step::{LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// A step takes a microsecond, and `time` from this number of KV tokens of decoding requests on.
#[derive(Clone, Copy)]
struct Wrong {
    from_kv_tokens: u64,
    time: Seconds,
}

impl LatencyModel for Wrong {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        if batch.decode_kv_tokens() >= self.from_kv_tokens { self.time } else { Seconds(1e-6) }
    }
}

/// The last one is finite, and longer than the clock.
const TIMES: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300, 1e11];

/// A prompt of 10 tokens: the KV length of its decode steps is 11, 12 and so on.
const REQUESTS: [Request; 1] = [Request::new(10, 100)];

fn configs() -> [SimConfig; 3] {
    let config = SimConfig::new(300, 100);
    let synchronous = config.with_scheduling(Scheduling::Synchronous);
    let mut pipelined = synchronous;
    pipelined.pipeline_parallel_size = 2;
    pipelined.rules.empty_schedule_sleep_ns = 0;
    [config, synchronous, pipelined]
}

/// Serves [`REQUESTS`] on each kind of servers.
fn served(model: Wrong, config: SimConfig) -> Vec<Result<Totals, StepTimeError>> {
    let source = || RequestList::new(&REQUESTS);
    let one = Simulator::try_new(model, config).unwrap();
    let several = Cluster::try_new(model, config, 3, Router::RoundRobin).unwrap();
    let mut all = vec![
        one.serve(&mut source(), &mut ()),
        several.serve(&mut source(), &mut ()),
        one.run(&REQUESTS).map(|_| Totals::default()),
    ];
    if config.pipeline_parallel_size == 1 {
        let ranks = Lockstep::try_new(model, config, 2).unwrap();
        all.push(ranks.serve(&mut source(), &mut ()));
    }
    all
}

#[test]
fn a_step_without_a_valid_time_is_an_error_that_names_it() {
    for config in configs() {
        for time in TIMES.map(Seconds) {
            // The prompt, and the fifth decode step.
            for (from_kv_tokens, prefill_tokens, decode_requests, start_ns) in [(0, 10, 0, 0), (15, 0, 1, 5_000)] {
                let model = Wrong { from_kv_tokens, time };
                for served in served(model, config) {
                    let error = served.unwrap_err();
                    assert_eq!(error.time.0.to_bits(), time.0.to_bits());
                    assert_eq!((error.prefill_tokens, error.decode_requests), (prefill_tokens, decode_requests));
                    assert_eq!((error.decode_kv_tokens, error.start_ns), (from_kv_tokens, start_ns));
                }
            }
        }
    }
}

#[test]
fn separate_prefill_and_decode_servers_report_it_too() {
    let link = KvLink::try_new(1e9, Seconds(1e-6), 1.0).unwrap();
    for (from_kv_tokens, prefill_tokens) in [(0, 10), (15, 0)] {
        let model = Wrong { from_kv_tokens, time: Seconds(f64::NAN) };
        let pool = ServerPool::new(model, SimConfig::new(300, 100), 2);
        let servers = Disaggregated::try_new(pool, pool, Router::RoundRobin, link).unwrap();
        let served = servers.serve(&mut RequestList::new(&REQUESTS), &mut ());
        let error = served.unwrap_err();
        let found = (error.prefill_tokens, error.decode_kv_tokens);
        assert_eq!(found, (prefill_tokens, from_kv_tokens));
    }
}

#[test]
fn valid_times_whose_sum_is_beyond_the_clock_are_an_error() {
    // 317 years each, of the 584 that the clock has.
    let model = Wrong { from_kv_tokens: 0, time: Seconds(1e10) };
    for config in configs() {
        for served in served(model, config) {
            let error = served.unwrap_err();
            assert_eq!(error.start_ns, 10_000_000_000_000_000_000);
            assert_eq!(
                error.to_string(),
                "step at 10000000000000000000 ns (0 prompt tokens, 1 decoding requests with 11 KV tokens): expected \
                 to end before the clock does, after 2^64 ns, found a time of 10000000000 s; check the latency model, \
                 and let requests arrive earlier"
            );
        }
    }
}

#[test]
fn a_driven_server_stops_at_the_step_and_says_so_again() {
    for config in configs() {
        let model = Wrong { from_kv_tokens: 15, time: Seconds(f64::NAN) };
        let mut server = Server::try_new(model, config).unwrap();
        server.push(REQUESTS[0]).unwrap();
        server.advance_to(3_000).unwrap();
        let Err(ServerError::StepTime(error)) = server.advance_to(u64::MAX) else {
            panic!("no error");
        };
        assert_eq!((error.start_ns, server.now_ns()), (5_000, 5_000));
        assert_eq!(
            error.to_string(),
            "step at 5000 ns (0 prompt tokens, 1 decoding requests with 15 KV tokens): expected a finite time of at \
             least 0 from the latency model, found NaN s; correct the model"
        );
        // Events from before the fault are kept.
        assert_eq!(server.drain_events().count(), 1);
        assert_eq!(server.totals().steps, 5);
        let again = [
            server.advance_to(u64::MAX).unwrap_err().to_string(),
            server.run_until_idle().unwrap_err().to_string(),
            server.step().unwrap_err().to_string(),
        ];
        assert!(again.iter().all(|text| *text == error.to_string()));
        assert_eq!((server.now_ns(), server.totals().steps), (5_000, 5));
    }
}
