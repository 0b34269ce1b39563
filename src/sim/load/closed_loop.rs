//! Closed loops: users who wait for each answer.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::error::Invalid;
use crate::sim::Request;
use crate::sim::load::random::Random;
use crate::sim::load::session::{Session, Streams};
use crate::sim::load::source::Source;
use crate::sim::load::{RequestMix, ThinkTime};

/// A closed loop: a fixed number of users, each with one request at a time.
///
/// A user pauses, begins a session, sends its turns one after another (with the pauses of
/// [`Sessions`](crate::sim::load::Sessions) between an answer and the next turn) and starts over, without
/// end. The requests of a user depend only on the seed and the user, not on other users or on the order of
/// the answers.
///
/// The first pause is the rest of a pause that began at a random time before 0, so users with a constant pause do not
/// ask in lockstep. With [`ThinkTime::NONE`] all first requests arrive at 0, as with the `--max-concurrency` of vLLM's
/// `bench serve`.
///
/// ```
/// use rooflut::sim::load::{ClosedLoop, Lengths, RequestMix, ThinkTime};
/// let mix = RequestMix::new(Lengths::try_fixed(512)?, Lengths::try_uniform(64..=256)?);
/// let mut users = ClosedLoop::try_new(32, ThinkTime::NONE, mix, 42)?;
/// let first = users.start();
/// assert_eq!(first.len(), 32);
/// let next = users.next_after(7, 1_000_000).expect("there is a user 7");
/// assert_eq!(next.arrival_ns, 1_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    count: u32,
    pause: ThinkTime,
    mix: RequestMix,
    seed: u64,
    /// Empty before the start.
    users: Vec<User>,
}

impl ClosedLoop {
    /// Creates a loop of `users`, who pause for `pause` before each session (before each request if the mix
    /// has no sessions), the first included.
    ///
    /// # Errors
    ///
    /// 0 users.
    pub fn try_new(users: u32, pause: ThinkTime, mix: RequestMix, seed: u64) -> Result<ClosedLoop, Invalid> {
        if users == 0 {
            return Err(Invalid::zero("users"));
        }
        Ok(ClosedLoop { count: users, pause, mix, seed, users: Vec::new() })
    }

    /// Returns a source of the first `requests` requests that these users send, for
    /// [`Simulator::serve`](crate::sim::Simulator::serve).
    ///
    /// ```
    /// use rooflut::sim::load::{ClosedLoop, Lengths, RequestMix, Source, ThinkTime};
    /// let mix = RequestMix::new(Lengths::try_fixed(512)?, Lengths::try_fixed(64)?);
    /// let mut load = ClosedLoop::try_new(2, ThinkTime::NONE, mix, 42)?.limited(3);
    /// let (index, request) = load.take().expect("the first user's request");
    /// load.take().expect("the second user's request");
    /// assert_eq!(load.next_arrival_ns(), None); // both users are waiting
    /// load.finished(index, &request, 5_000);
    /// assert_eq!(load.next_arrival_ns(), Some(5_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn limited(self, requests: u64) -> LimitedLoop {
        LimitedLoop::new(self, requests)
    }

    /// Starts the loop and returns the first request of every user, in the order of users and not of arrivals.
    ///
    /// A second call starts over with the same requests.
    pub fn start(&mut self) -> Vec<Request> {
        let mut streams = Streams::new(self.seed);
        let starts = (0..self.count).map(|user| self.start_user(user, streams.fork()));
        let (users, requests) = starts.unzip();
        self.users = users;
        requests
    }

    /// Returns the next request of `user`, whose last one was answered (or rejected) at `finish_ns`. It arrives
    /// then or later.
    ///
    /// Returns `None` before [`ClosedLoop::start`] and for a user that does not exist.
    pub fn next_after(&mut self, user: usize, finish_ns: u64) -> Option<Request> {
        let ClosedLoop { count, pause, mix, users, .. } = self;
        let user = users.get_mut(user)?;
        if let Some(turn) = user.session.next_turn(mix, finish_ns) {
            return Some(turn);
        }
        let id = user.session.id.wrapping_add(u64::from(*count));
        let pause_ns = pause.sample_ns(&mut user.pauses);
        let arrival_ns = finish_ns.saturating_add(pause_ns);
        let (session, request) = Session::open(mix, &mut user.streams, id, arrival_ns);
        user.session = session;
        Some(request)
    }

    /// Creates a user and its first request.
    fn start_user(&self, user: u32, mut streams: Streams) -> (User, Request) {
        let mut pauses = streams.pauses();
        let arrival_ns = self.pause.sample_rest_ns(&mut pauses);
        // User i has the session ids i, i + users, i + 2 users and so on.
        let id = u64::from(user);
        let (session, request) = Session::open(&self.mix, &mut streams, id, arrival_ns);
        let user = User { streams, pauses, session };
        (user, request)
    }
}

/// The state of a user.
#[derive(Debug, Clone)]
struct User {
    streams: Streams,
    /// Random numbers of the pauses between sessions.
    pauses: Random,
    session: Session,
}

/// A source of the first requests of a [`ClosedLoop`]; see [`ClosedLoop::limited`].
///
/// The last sessions may be cut short. A rejection counts as an answer, so a run ends even if all requests are
/// rejected.
///
/// Memory: O(users).
#[derive(Debug, Clone)]
pub struct LimitedLoop {
    users: ClosedLoop,
    limit: u64,
    /// Number of requests taken so far.
    taken: usize,
    /// The next request of each user, or the last one if the user is waiting.
    requests: Vec<Request>,
    /// Arrivals of the next requests and their users, the earliest on top.
    arriving: BinaryHeap<Reverse<(u64, usize)>>,
    /// Waiting users, by the indices of their requests.
    waiting: BTreeMap<usize, usize>,
}

impl LimitedLoop {
    fn new(mut users: ClosedLoop, limit: u64) -> LimitedLoop {
        let requests = users.start();
        let arrivals = requests.iter().map(|request| request.arrival_ns);
        let arriving = arrivals.zip(0..).map(Reverse).collect();
        LimitedLoop { users, limit, taken: 0, requests, arriving, waiting: BTreeMap::new() }
    }

    fn is_over(&self) -> bool {
        self.taken as u64 >= self.limit
    }
}

impl Source for LimitedLoop {
    fn feeds_back(&self) -> bool {
        true
    }

    fn next_arrival_ns(&mut self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let Reverse((arrival_ns, _)) = self.arriving.peek()?;
        Some(*arrival_ns)
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        if self.is_over() {
            return None;
        }
        let Reverse((_, user)) = self.arriving.pop()?;
        let request = *self.requests.get(user)?;
        let index = self.taken;
        self.taken += 1;
        self.waiting.insert(index, user);
        Some((index, request))
    }

    fn finished(&mut self, index: usize, _: &Request, now_ns: u64) {
        let Some(user) = self.waiting.remove(&index) else {
            return;
        };
        let next = self.users.next_after(user, now_ns);
        if let Some(next) = next
            && let Some(request) = self.requests.get_mut(user)
        {
            *request = next;
            self.arriving.push(Reverse((next.arrival_ns, user)));
        }
    }

    fn total(&self) -> Option<u64> {
        Some(self.limit)
    }
}
