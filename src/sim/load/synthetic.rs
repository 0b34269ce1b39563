//! Open loops: arrivals that do not wait for answers.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use crate::sim::Request;
use crate::sim::load::session::{Session, Streams};
use crate::sim::load::{Arrivals, RequestMix};

/// An open loop: an endless iterator of requests in order of arrival.
///
/// [`Arrivals`] are the times at which sessions begin. Without [`Sessions`](crate::sim::load::Sessions) each session is
/// one request. With sessions, the request rate is the rate of the arrivals times the mean number of turns, once the
/// first sessions have ended.
///
/// Arrivals have a seed of their own; `seed` is used for everything else. The same seeds give the same bytes on every
/// platform. Arrivals, prompts, outputs, content, priorities, numbers of turns and pauses have a random stream each, so
/// changing one does not change the others.
///
/// Memory: O(open sessions).
///
/// Does not model: users who wait for an answer. A turn arrives a think time after the arrival of the turn before, even
/// if the turn before has not been answered; choose a think time that includes the answer, or use a
/// [`ClosedLoop`](crate::sim::load::ClosedLoop).
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SyntheticLoad {
    arrivals: Arrivals,
    mix: RequestMix,
    streams: Streams,
    /// Number of sessions so far.
    sessions: u64,
    /// Start of the next session, if drawn already.
    opening_ns: Option<u64>,
    /// The next turn of every open session, the earliest on top.
    turns: BinaryHeap<Reverse<Turn>>,
}

impl SyntheticLoad {
    /// Creates a load of requests of `mix`, in sessions that begin at `arrivals`.
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

    /// Removes the next turn of an open session if it arrives at `opening_ns` or before.
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

/// The next turn of a session, ordered by arrival, then by session. A session has one at a time, so that no two are
/// equal.
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
