//! Users who wait for an answer before they ask again.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::sim::load::random::Random;
use crate::sim::load::session::{Session, Streams};
use crate::sim::load::source::Source;
use crate::sim::load::{RequestMix, ThinkTime};
use crate::sim::{Request, SimError};

/// A fixed number of users, each with one request at a time: a closed loop.
///
/// A user pauses, begins a session, asks its turns one after another (with the pauses of
/// [`Sessions`](crate::sim::load::Sessions) between an answer and the next turn) and starts over, without
/// end. What a user asks depends on the seed and the user alone: neither on the other users nor on
/// the order in which they are answered.
///
/// With [`ThinkTime::NONE`] all first requests arrive at 0, as with the `--max-concurrency` of vLLM's
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
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    count: u32,
    pause: ThinkTime,
    mix: RequestMix,
    seed: u64,
    /// Those that have started.
    users: Vec<User>,
}

impl ClosedLoop {
    /// `users` users, who pause for `pause` before each session (each request, if the mix has no
    /// sessions), the first included.
    ///
    /// # Errors
    ///
    /// [`SimError::ZeroLimit`] for no user.
    pub fn try_new(
        users: u32,
        pause: ThinkTime,
        mix: RequestMix,
        seed: u64,
    ) -> Result<ClosedLoop, SimError> {
        if users == 0 {
            return Err(SimError::ZeroLimit { limit: "users" });
        }
        Ok(ClosedLoop {
            count: users,
            pause,
            mix,
            seed,
            users: Vec::new(),
        })
    }

    /// The first `requests` requests that these users send, for
    /// [`Simulator::serve`](crate::sim::Simulator::serve).
    ///
    /// ```
    /// use rooflut::sim::load::{ClosedLoop, Lengths, RequestMix, Source, ThinkTime};
    /// let mix = RequestMix::new(Lengths::try_fixed(512)?, Lengths::try_fixed(64)?);
    /// let mut load = ClosedLoop::try_new(2, ThinkTime::NONE, mix, 42)?.limited(3);
    /// let (place, request) = load.take().expect("that of the first user");
    /// load.take().expect("that of the second user");
    /// assert_eq!(load.next_arrival_ns(), None); // both wait
    /// load.finished(place, &request, 5_000);
    /// assert_eq!(load.next_arrival_ns(), Some(5_000));
    /// # Ok::<(), rooflut::sim::SimError>(())
    /// ```
    pub fn limited(self, requests: u64) -> LimitedLoop {
        LimitedLoop::new(self, requests)
    }

    /// The first request of every user, that of user i at index i, so that arrivals do not ascend.
    ///
    /// A second call starts over with the same requests.
    pub fn start(&mut self) -> Vec<Request> {
        let mut streams = Streams::new(self.seed);
        let starts = (0..self.count).map(|user| self.start_user(user, streams.fork()));
        let (users, requests) = starts.unzip();
        self.users = users;
        requests
    }

    /// The next request of `user`, whose last was answered (or rejected) at `finish_ns`. It arrives
    /// then or later.
    ///
    /// None before [`ClosedLoop::start`] and for a user that does not exist.
    pub fn next_after(&mut self, user: usize, finish_ns: u64) -> Option<Request> {
        let ClosedLoop {
            count,
            pause,
            mix,
            users,
            ..
        } = self;
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

    /// A user with `streams`, and the first request.
    fn start_user(&self, user: u32, mut streams: Streams) -> (User, Request) {
        let mut pauses = streams.pauses();
        let arrival_ns = self.pause.sample_ns(&mut pauses);
        // Ids of all users are apart: those of user i are i, i + users, i + 2 users and so on.
        let id = u64::from(user);
        let (session, request) = Session::open(&self.mix, &mut streams, id, arrival_ns);
        let user = User {
            streams,
            pauses,
            session,
        };
        (user, request)
    }
}

/// A user, whose last request may wait for its answer.
#[derive(Debug, Clone)]
struct User {
    streams: Streams,
    /// For the pauses between sessions.
    pauses: Random,
    session: Session,
}

/// The requests of a [`ClosedLoop`] up to a number of them; [`ClosedLoop::limited`] makes it.
///
/// The end is that of requests, not of sessions: the last ones may lack turns. A rejected request is
/// an answer too, so that a run ends even where all are rejected.
///
/// Memory: that of the users.
#[derive(Debug, Clone)]
pub struct LimitedLoop {
    users: ClosedLoop,
    limit: u64,
    /// Requests that were taken.
    taken: usize,
    /// What each user asks next, or asked last.
    requests: Vec<Request>,
    /// Arrivals of requests to come and their users, the earliest on top.
    coming: BinaryHeap<Reverse<(u64, usize)>>,
    /// The users that wait, by the places of their requests.
    waiting: BTreeMap<usize, usize>,
}

impl LimitedLoop {
    fn new(mut users: ClosedLoop, limit: u64) -> LimitedLoop {
        let requests = users.start();
        let arrivals = requests.iter().map(|request| request.arrival_ns);
        let coming = arrivals.zip(0..).map(Reverse).collect();
        LimitedLoop {
            users,
            limit,
            taken: 0,
            requests,
            coming,
            waiting: BTreeMap::new(),
        }
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
        let Reverse((arrival_ns, _)) = self.coming.peek()?;
        Some(*arrival_ns)
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        if self.is_over() {
            return None;
        }
        let Reverse((_, user)) = self.coming.pop()?;
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
            self.coming.push(Reverse((next.arrival_ns, user)));
        }
    }

    fn total(&self) -> Option<u64> {
        Some(self.limit)
    }
}
