//! Requests whose arrivals do not wait for answers.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use crate::sim::Request;
use crate::sim::load::session::{Session, Streams};
use crate::sim::load::{Arrivals, RequestMix};

/// An endless series of requests in ascending arrival: an open loop, in which users do not wait.
///
/// [`Arrivals`] say when sessions begin. Without [`Sessions`](crate::sim::load::Sessions) each is one
/// request; with them, requests per second are the arrivals' rate times the mean number of turns, once
/// the first sessions have had time to end.
///
/// Arrivals have their seed, and `seed` is for all else. The same seeds give the same bytes on every
/// platform. Arrivals, prompts, outputs, content, priorities, numbers of turns and pauses are drawn
/// from a stream each: a change of one leaves the others as they were.
///
/// Memory: that of the open sessions that have a turn to come.
///
/// Does not model: the answer a user waits for. A turn comes a think time after the arrival of the
/// one before, even if that is not answered; choose a think time that contains the answer.
/// [`ClosedLoop`](crate::sim::load::ClosedLoop) waits.
///
/// ```
/// use rooflut::sim::load::{Arrivals, Lengths, RequestMix, SyntheticLoad};
/// use rooflut::sim::Request;
/// let prompt = Lengths::try_normal(512.0, 128.0, 1..=4_096)?;
/// let output = Lengths::try_uniform(64..=256)?;
/// let arrivals = Arrivals::try_poisson(10.0, 42)?;
/// let load = SyntheticLoad::new(arrivals, RequestMix::new(prompt, output), 42);
/// let requests: Vec<Request> = load.take(1_000).collect();
/// assert!(requests.is_sorted_by_key(|request| request.arrival_ns));
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SyntheticLoad {
    arrivals: Arrivals,
    mix: RequestMix,
    streams: Streams,
    /// Sessions so far.
    sessions: u64,
    /// When the next session begins, if known.
    opening_ns: Option<u64>,
    /// The next turn of every open session that has one, the earliest on top.
    turns: BinaryHeap<Reverse<Turn>>,
}

impl SyntheticLoad {
    /// Requests of `mix`, in sessions that begin with `arrivals`.
    pub fn new(arrivals: Arrivals, mix: RequestMix, seed: u64) -> SyntheticLoad {
        SyntheticLoad {
            arrivals,
            mix,
            streams: Streams::new(seed),
            sessions: 0,
            opening_ns: None,
            turns: BinaryHeap::new(),
        }
    }

    /// The next turn of an open session, if it comes before `opening_ns` or with it.
    fn turn_until(&mut self, opening_ns: u64) -> Option<(Session, Request)> {
        let Reverse(first) = self.turns.peek()?;
        if first.request.arrival_ns > opening_ns {
            return None;
        }
        let Reverse(turn) = self.turns.pop()?;
        Some((turn.session, turn.request))
    }

    fn open(&mut self, arrival_ns: u64) -> (Session, Request) {
        let id = self.sessions;
        self.sessions += 1;
        self.opening_ns = None;
        Session::open(&self.mix, &mut self.streams, id, arrival_ns)
    }
}

impl Iterator for SyntheticLoad {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let opening_ns = match self.opening_ns {
            Some(opening_ns) => opening_ns,
            None => self.arrivals.next()?,
        };
        self.opening_ns = Some(opening_ns);
        let (mut session, request) = match self.turn_until(opening_ns) {
            Some(turn) => turn,
            None => self.open(opening_ns),
        };
        if let Some(next) = session.next_turn(&self.mix, request.arrival_ns) {
            let request = next;
            self.turns.push(Reverse(Turn { request, session }));
        }
        Some(request)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// A turn to come and the session that it is of, in the order of arrivals; sessions that began
/// earlier go first. A session has one at a time, so that no two are equal.
#[derive(Debug, Clone)]
struct Turn {
    request: Request,
    session: Session,
}

impl Turn {
    fn key(&self) -> (u64, u64) {
        (self.request.arrival_ns, self.session.id)
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Turn) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Turn) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Turn {
    fn eq(&self, other: &Turn) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Turn {}
