//! Closed loops: what a user asks depends on the seed and the user alone.

use std::collections::HashSet;

use crate::workloads::{self, own, single};
use proptest::prelude::*;
use rooflut::sim::Request;
use rooflut::sim::load::{ClosedLoop, RequestMix, ThinkTime};
use rooflut::units::Seconds;

const USERS: u32 = 6;
const SERVICE_NS: u64 = 30_000_000;

fn chat() -> RequestMix {
    let think = ThinkTime::try_fixed(Seconds(0.5)).unwrap();
    workloads::chat(2, think, [1.0, 1.0])
}

fn users(users: u32, mix: RequestMix) -> ClosedLoop {
    let pause = ThinkTime::try_exponential(Seconds(2.0)).unwrap();
    ClosedLoop::try_new(users, pause, mix, 42).unwrap()
}

/// Requests of each user, each answered after [`SERVICE_NS`], the users in the order of `order`.
fn asked(users: &mut ClosedLoop, order: &[usize]) -> Vec<Vec<Request>> {
    let first = users.start().into_iter();
    let mut asked: Vec<Vec<Request>> = first.map(|request| vec![request]).collect();
    for &user in order {
        let last = asked[user].last().unwrap();
        let finish_ns = last.arrival_ns + SERVICE_NS;
        let next = users.next_after(user, finish_ns).unwrap();
        assert!(next.arrival_ns >= finish_ns);
        asked[user].push(next);
    }
    asked
}

proptest! {
    #[test]
    fn the_order_of_answers_changes_nothing(
        order in prop::collection::vec(0..USERS as usize, 0..200),
    ) {
        let shuffled = asked(&mut users(USERS, chat()), &order);
        let mut one_by_one = order.clone();
        one_by_one.sort_unstable();
        prop_assert_eq!(shuffled, asked(&mut users(USERS, chat()), &one_by_one));
    }
}

#[test]
fn more_users_ask_the_same_and_more() {
    let order = [0, 1, 2, 0, 1, 2, 0, 1, 2];
    let few = asked(&mut users(3, single()), &order);
    let many = asked(&mut users(9, single()), &order);
    assert_eq!(few[..], many[..3]);
}

#[test]
fn a_second_start_begins_again() {
    let mut users = users(USERS, chat());
    let order = [0, 5, 3, 3, 3];
    assert_eq!(asked(&mut users, &order), asked(&mut users, &order));
}

#[test]
fn users_are_different_and_so_are_their_sessions() {
    let order: Vec<usize> = (0..USERS as usize * 50).map(|i| i % USERS as usize).collect();
    let asked = asked(&mut users(USERS, chat()), &order);
    let mut ids = HashSet::new();
    for requests in &asked {
        let own: HashSet<u64> = requests.iter().map(own).collect();
        // 51 requests in sessions of 2 turns on average.
        assert!((18..51).contains(&own.len()), "{}", own.len());
        assert!(own.iter().all(|id| ids.insert(*id)), "an id of another user");
    }
    assert_ne!(asked[0][0].prompt_tokens, asked[1][0].prompt_tokens);
}

#[test]
fn a_turn_continues_the_one_before_after_its_pause() {
    let requests = &asked(&mut users(1, chat()), &[0; 500])[0];
    let mut turns = 0;
    for pair in requests.windows(2) {
        let pause_ns = pair[1].arrival_ns - pair[0].arrival_ns - SERVICE_NS;
        if own(&pair[0]) == own(&pair[1]) {
            assert_eq!(pause_ns, 500_000_000);
            assert!(u64::from(pair[1].prompt_tokens) > pair[0].tokens());
            turns += 1;
        }
    }
    assert!((150..350).contains(&turns), "{turns}");
}

#[test]
fn without_a_pause_the_next_request_arrives_with_the_answer() {
    let mut users = ClosedLoop::try_new(4, ThinkTime::NONE, single(), 1).unwrap();
    assert!(users.start().iter().all(|request| request.arrival_ns == 0));
    assert_eq!(users.next_after(2, 777).unwrap().arrival_ns, 777);
    assert_eq!(users.next_after(2, u64::MAX).unwrap().arrival_ns, u64::MAX);
}

#[test]
fn users_with_a_constant_pause_begin_at_any_time_within_it() {
    let pause = ThinkTime::try_fixed(Seconds(2.0)).unwrap();
    let start = |seed| ClosedLoop::try_new(1_000, pause, single(), seed).unwrap().start();
    let first: Vec<u64> = start(1).iter().map(|request| request.arrival_ns).collect();
    for tenth in 0..10 {
        let in_tenth = |arrival: &&u64| **arrival / 200_000_000 == tenth;
        // Five standard errors of 100 are 47.
        let users = first.iter().filter(in_tenth).count();
        assert!(users.abs_diff(100) < 47, "{users} users in tenth {tenth}");
    }
    assert_ne!(start(1), start(2));
    let mut users = ClosedLoop::try_new(1, pause, single(), 1).unwrap();
    users.start();
    assert_eq!(users.next_after(0, 5).unwrap().arrival_ns, 2_000_000_005);
}

#[test]
fn the_pause_between_sessions_changes_nothing_but_arrivals() {
    let bare = |pause| {
        let mut users = ClosedLoop::try_new(2, pause, chat(), 3).unwrap();
        let mut requests = asked(&mut users, &[0, 1, 0, 1, 1, 0, 0, 0, 1]);
        let all = requests.iter_mut().flatten();
        all.for_each(|request| request.arrival_ns = 0);
        requests
    };
    let pause = ThinkTime::try_exponential(Seconds(1.0)).unwrap();
    assert_eq!(bare(ThinkTime::NONE), bare(pause));
}

#[test]
fn users_that_do_not_exist_ask_nothing() {
    let none = ClosedLoop::try_new(0, ThinkTime::NONE, single(), 1).map(|_| ());
    assert_eq!(none.unwrap_err().to_string(), "users: expected at least 1, found 0");
    let mut users = users(2, single());
    assert_eq!(users.next_after(0, 1), None);
    users.start();
    assert!(users.next_after(1, 1).is_some());
    assert_eq!(users.next_after(2, 1), None);
}
