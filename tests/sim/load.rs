//! Generated loads: the same bytes for the same seed, ascending arrivals, independent properties.

use std::collections::HashMap;

use crate::workloads::{self, PREFIX_TOKENS, own, single};
use proptest::prelude::*;
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, Sessions, SharedPrefixes, SyntheticLoad, ThinkTime};
use rooflut::sim::{Content, Request};
use rooflut::units::Seconds;

fn chat() -> RequestMix {
    let think = ThinkTime::try_exponential(Seconds(1.0)).unwrap();
    workloads::chat(3, think, [1.0, 3.0])
}

fn load(mix: RequestMix, seed: u64) -> SyntheticLoad {
    SyntheticLoad::new(Arrivals::try_poisson(10.0, 42).unwrap(), mix, seed)
}

fn requests(mix: &RequestMix, seed: u64) -> Vec<Request> {
    load(mix.clone(), seed).take(2_000).collect()
}

/// The requests of each session, in order.
fn sessions(requests: &[Request]) -> HashMap<u64, Vec<Request>> {
    let mut sessions: HashMap<u64, Vec<Request>> = HashMap::new();
    for request in requests {
        sessions.entry(own(request)).or_default().push(*request);
    }
    sessions
}

#[test]
fn a_load_is_what_an_independent_program_draws() {
    let expected = [
        (20_542_011, 365, 183, 0, 0),
        (134_854_545, 119, 236, 2, 1),
        (136_478_239, 977, 150, 0, 2),
        (171_983_636, 301, 163, 1, 3),
        (195_113_245, 545, 72, 1, 4),
        (218_584_827, 893, 74, 1, 3),
        (248_199_333, 283, 69, 1, 5),
        (407_839_877, 1_196, 117, 0, 2),
    ]
    .map(|(arrival_ns, prompt_tokens, output_tokens, group, own)| {
        Request::new(prompt_tokens, output_tokens).at_ns(arrival_ns).with_priority(1).with_content(Content::Texts {
            prefix: u64::MAX - group,
            prefix_tokens: PREFIX_TOKENS,
            own,
        })
    });
    assert!(load(chat(), 7).take(expected.len()).eq(expected));
}

#[test]
fn another_seed_is_another_load() {
    assert_eq!(requests(&chat(), 1), requests(&chat(), 1));
    assert_ne!(requests(&chat(), 1), requests(&chat(), 2));
}

#[test]
fn requests_that_share_nothing_are_unique() {
    let all = requests(&single(), 1);
    assert!(all.iter().all(|request| request.content == Content::Unique));
    assert!(all.iter().all(|request| request.priority == 0));
}

#[test]
fn each_turn_continues_the_one_before() {
    for (id, turns) in sessions(&requests(&chat(), 3)) {
        assert!(turns.len() <= 3, "session {id}");
        for pair in turns.windows(2) {
            assert!(pair[1].arrival_ns >= pair[0].arrival_ns);
            assert!(u64::from(pair[1].prompt_tokens) > pair[0].tokens());
            assert_eq!(pair[1].content, pair[0].content);
            assert_eq!(pair[1].priority, pair[0].priority);
        }
    }
}

#[test]
fn groups_and_classes_have_their_shares() {
    let requests: Vec<Request> = load(chat(), 4).take(100_000).collect();
    let sessions = sessions(&requests);
    let count = sessions.len() as f64;
    let share = |holds: fn(&Request) -> bool| sessions.values().filter(|turns| holds(&turns[0])).count() as f64 / count;
    let class = share(|request| request.priority == 0);
    let group = share(|request| matches!(request.content, Content::Texts { prefix, .. } if prefix == u64::MAX));
    // Five standard errors at 50,000 sessions: 0.0097 and 0.0105.
    assert!((class - 0.25).abs() < 0.0097, "{class}");
    assert!((group - 1.0 / 3.0).abs() < 0.0105, "{group}");
    // 2 turns each on average, with a standard deviation of 0.82; the last sessions are open still.
    assert!((count / 50_000.0 - 1.0).abs() < 0.012, "{count}");
}

#[test]
fn a_session_ends_before_a_turn_that_is_too_long() {
    let turns = Lengths::try_fixed(1_000).unwrap();
    let sessions_of = |max_tokens| Sessions::new(turns.clone(), ThinkTime::NONE).with_max_tokens(max_tokens);
    let tokens = Lengths::try_fixed(10).unwrap();
    let mix = RequestMix::new(tokens.clone(), tokens);
    let arrivals = || Arrivals::try_constant(1.0).unwrap();
    // 20, 40, 60 tokens; 80 would be too long.
    let load = SyntheticLoad::new(arrivals(), mix.clone().with_sessions(sessions_of(79)), 0);
    let first: Vec<u64> = load.take(4).map(|request| request.tokens()).collect();
    assert_eq!(first, [20, 40, 60, 20]);
    // The first turn comes in any case, so that the server can refuse it.
    let load = SyntheticLoad::new(arrivals(), mix.with_sessions(sessions_of(1)), 0);
    let first: Vec<u64> = load.take(3).map(|request| own(&request)).collect();
    assert_eq!(first, [0, 1, 2]);
}

#[test]
fn the_longest_sessions_saturate() {
    let long = Lengths::try_fixed(u32::MAX).unwrap();
    let turns = Sessions::new(long.clone(), ThinkTime::try_fixed(Seconds(1e300)).unwrap());
    let mix = RequestMix::new(long.clone(), long).with_sessions(turns);
    let last = load(mix, 0).nth(100).unwrap();
    assert_eq!(last.prompt_tokens, u32::MAX);
}

/// The visible properties of each session but one, by session.
fn seen(requests: &[Request], see: fn(&Request) -> u64) -> HashMap<u64, Vec<u64>> {
    let sessions = sessions(requests).into_iter();
    sessions.map(|(id, turns)| (id, turns.iter().map(see).collect())).collect()
}

/// Sessions that two loads both have: `same` in both, as far as both have come.
fn assert_same(all: [&[Request]; 2], see: fn(&Request) -> u64, what: &str) {
    let [first, second] = all.map(|requests| seen(requests, see));
    let mut compared = 0;
    for (id, turns) in &first {
        if let Some(other) = second.get(id) {
            let both = turns.len().min(other.len());
            assert_eq!(turns[..both], other[..both], "{what} of session {id}");
            compared += both;
        }
    }
    assert!(compared > 500, "{what}: {compared}");
}

fn prefix(request: &Request) -> u64 {
    match request.content {
        Content::Texts { prefix, .. } => prefix,
        _ => 0,
    }
}

#[test]
fn a_change_of_one_property_leaves_the_others_as_they_were() {
    let arrival: fn(&Request) -> u64 = |request| request.arrival_ns;
    let output: fn(&Request) -> u64 = |request| u64::from(request.output_tokens);
    let priority: fn(&Request) -> u64 = |request| u64::from(request.priority);
    let base = requests(&chat(), 5);
    let changed = |change: fn(&mut RequestMix)| {
        let mut mix = chat();
        change(&mut mix);
        requests(&mix, 5)
    };

    let prompts = changed(|mix| mix.prompt = Lengths::try_fixed(7).unwrap());
    for see in [arrival, output, priority, prefix] {
        assert_same([&base, &prompts], see, "prompts changed");
    }
    let outputs = changed(|mix| mix.output = Lengths::try_normal(9.0, 3.0, 1..=20).unwrap());
    for see in [arrival, priority, prefix] {
        assert_same([&base, &outputs], see, "outputs changed");
    }
    let classes = changed(|mix| mix.priorities = None);
    let groups = changed(|mix| mix.prefixes = SharedPrefixes::try_new(50, PREFIX_TOKENS).ok());
    let prompt: fn(&Request) -> u64 = |request| u64::from(request.prompt_tokens);
    for see in [arrival, prompt, output, prefix] {
        assert_same([&base, &classes], see, "classes changed");
    }
    for see in [arrival, prompt, output, priority] {
        assert_same([&base, &groups], see, "groups changed");
    }
    let turns = changed(|mix| mix.sessions.as_mut().unwrap().turns = Lengths::try_fixed(2).unwrap());
    for see in [arrival, prompt, output, priority, prefix] {
        assert_same([&base, &turns], see, "turns changed");
    }
    let think = changed(|mix| mix.sessions.as_mut().unwrap().think = ThinkTime::NONE);
    let arrivals = Arrivals::try_gamma(2.0, 0.3, 9).unwrap();
    let arrivals: Vec<Request> = SyntheticLoad::new(arrivals, chat(), 5).take(2_000).collect();
    for see in [prompt, output, priority, prefix] {
        assert_same([&base, &think], see, "pauses changed");
        assert_same([&base, &arrivals], see, "arrivals changed");
    }
}

#[test]
fn the_memory_of_a_load_does_not_grow() {
    // Before the first measurement the heap has grown to the sessions that are open at a time.
    let mut turns = load(chat(), 1);
    turns.by_ref().take(100_000).for_each(drop);
    let used = allocation_counter::measure(|| turns.by_ref().take(200_000).for_each(drop));
    assert!(used.bytes_max < 100_000, "{used:?}");
    let mut alone = load(single(), 1);
    let used = allocation_counter::measure(|| alone.by_ref().take(100_000).for_each(drop));
    assert_eq!(used.count_total, 0);
}

fn any_lengths() -> impl Strategy<Value = Lengths> {
    let values = prop::collection::vec(1..3_000_u32, 1..6);
    prop_oneof![
        (1..3_000_u32).prop_map(|length| Lengths::try_fixed(length).unwrap()),
        (1..50_u32, 0..3_000_u32).prop_map(|(min, more)| Lengths::try_uniform(min..=min + more).unwrap()),
        (1.0..900.0, 0.0..2.5).prop_map(|(median, sigma)| Lengths::try_lognormal(median, sigma, 1..=3_049).unwrap()),
        values.prop_map(|values| Lengths::try_empirical(values).unwrap()),
    ]
}

fn any_sessions() -> impl Strategy<Value = Sessions> {
    let think = prop_oneof![
        Just(ThinkTime::NONE),
        (0.001..50.0).prop_map(|mean| ThinkTime::try_exponential(Seconds(mean)).unwrap()),
        (0.001..50.0).prop_map(|pause| ThinkTime::try_fixed(Seconds(pause)).unwrap()),
    ];
    (1..9_u32, think, 1..20_000_u32).prop_map(|(turns, think, max_tokens)| {
        let turns = Lengths::try_uniform(1..=turns).unwrap();
        Sessions::new(turns, think).with_max_tokens(max_tokens)
    })
}

proptest! {
    #[test]
    fn arrivals_ascend_and_ranges_are_kept(
        prompt in any_lengths(),
        output in any_lengths(),
        sessions in prop::option::of(any_sessions()),
        burstiness in 0.05..4.0_f64,
        seed: u64,
    ) {
        let mut mix = RequestMix::new(prompt, output);
        mix.sessions = sessions.clone();
        let arrivals = Arrivals::try_gamma(10.0, burstiness, seed).unwrap();
        let load = SyntheticLoad::new(arrivals, mix, seed);
        let requests: Vec<Request> = load.clone().take(300).collect();
        prop_assert!(requests.is_sorted_by_key(|request| request.arrival_ns));
        prop_assert!(load.take(300).eq(requests.iter().copied()));
        let mut turns: HashMap<u64, u64> = HashMap::new();
        for request in &requests {
            prop_assert!((1..=3_049).contains(&request.output_tokens));
            prop_assert!(request.prompt_tokens >= 1);
            if let Some(sessions) = &sessions {
                let turn = turns.entry(own(request)).or_default();
                *turn += 1;
                let first = *turn == 1;
                prop_assert!(first || request.tokens() <= u64::from(sessions.max_tokens));
                prop_assert!(*turn <= 8);
            } else {
                prop_assert!(request.prompt_tokens <= 3_049);
            }
        }
    }
}
