//! Requests that come from a source: the same as those of a list, and closed loops that end.

use crate::support::{Linear, simulator};
use rooflut::sim::load::{
    Arrivals, ClosedLoop, Lengths, RequestMix, Sessions, Source, Stream, SyntheticLoad, ThinkTime,
};
use rooflut::sim::{Request, SimConfig, SimReport};
use rooflut::units::Seconds;

const TOTAL: u64 = 200;

fn mix() -> RequestMix {
    let prompt = Lengths::try_lognormal(300.0, 1.0, 1..=3_000).unwrap();
    RequestMix::new(prompt, Lengths::try_uniform(1..=64).unwrap())
}

fn chat() -> RequestMix {
    let turns = Lengths::try_uniform(1..=3).unwrap();
    let think = ThinkTime::try_exponential(Seconds(0.5)).unwrap();
    mix().with_sessions(Sessions::new(turns, think).with_max_tokens(4_000))
}

fn served_by(config: SimConfig, users: u32, pause: ThinkTime, mix: RequestMix) -> SimReport {
    let users = ClosedLoop::try_new(users, pause, mix, 42).unwrap();
    simulator(&Linear::mixed(), config).run_source(&mut users.limited(TOTAL), &mut ()).unwrap()
}

fn served(users: u32, pause: ThinkTime, mix: RequestMix) -> SimReport {
    served_by(SimConfig::new(4_096, 20_000), users, pause, mix)
}

#[test]
fn a_stream_is_served_as_the_list_of_its_requests() {
    for mix in [mix(), chat().with_cached_prompt(48)] {
        let arrivals = Arrivals::try_gamma(20.0, 0.5, 7).unwrap();
        let load = SyntheticLoad::new(arrivals, mix, 7).take(TOTAL as usize);
        let listed: Vec<Request> = load.clone().collect();
        let model = Linear::mixed();
        let simulator = simulator(&model, SimConfig::new(4_096, 2_000));
        let mut stream = Stream::new(load).with_total(TOTAL);
        assert_eq!(stream.total(), Some(TOTAL));
        let streamed = simulator.run_source(&mut stream, &mut ()).unwrap();
        assert_eq!(streamed, simulator.run(&listed).unwrap());
    }
}

#[test]
fn a_cached_prompt_is_at_most_the_prompt() {
    let arrivals = Arrivals::try_constant(1.0).unwrap();
    let load = SyntheticLoad::new(arrivals, mix().with_cached_prompt(200), 1);
    let mut whole = 0;
    for request in load.take(500) {
        assert_eq!(request.cached_prompt_tokens, request.prompt_tokens.min(200));
        whole += u32::from(request.cached_prompt_tokens == request.prompt_tokens);
    }
    assert!((50..450).contains(&whole), "{whole}");
}

#[test]
fn without_a_pause_every_user_waits_or_is_served_all_the_time() {
    let report = served(8, ThinkTime::NONE, mix());
    assert_eq!(report.summary.completed, TOTAL);
    let times = |record: &rooflut::sim::RequestRecord| (record.request.arrival_ns, record.timing().unwrap().finish_ns);
    let mut finished: Vec<u64> = report.records.iter().map(|r| times(r).1).collect();
    finished.sort_unstable();
    for (index, record) in report.records.iter().enumerate() {
        // The first eight arrive at 0, each other with the answer that it waited for.
        let expected = index.checked_sub(8).map_or(0, |answers| finished[answers]);
        assert_eq!(times(record).0, expected);
    }
}

#[test]
fn a_loop_ends_with_its_last_request() {
    for users in [1, 7, 199, 200, 201, 1_000] {
        let report = served(users, ThinkTime::NONE, mix());
        assert_eq!(report.records.len() as u64, TOTAL, "{users}");
    }
}

#[test]
fn a_loop_ends_even_if_every_request_is_rejected() {
    for mix in [mix(), chat()] {
        let report = served_by(SimConfig::new(1, 20_000), 3, ThinkTime::NONE, mix);
        assert_eq!(report.summary.rejected, TOTAL);
        assert_eq!(report.summary.steps, 0);
    }
}
