//! Requests that leave before their last token: their clients give up, or they are cancelled.

use crate::sim::Request;
use crate::sim::schedule::queue::Rank;
use crate::sim::schedule::running::Admitted;
use crate::sim::schedule::scheduler::Scheduler;
use crate::sim::schedule::sequence::Sequence;

/// Where a request is.
enum Place {
    Running(Admitted),
    /// Index in `ending`.
    Ending(usize),
    Waiting(Rank),
}

impl Scheduler {
    /// Returns the earliest arrival of a request without a token whose last prompt chunk is not scheduled, if clients
    /// give up. Cost: O(1 + prompts being computed).
    #[inline]
    pub(crate) fn first_client_ns(&self) -> Option<u64> {
        self.config.patience_ns?;
        let computing = self.computing().map(|(_, arrival_ns)| arrival_ns);
        computing.chain(self.waiting.first_client_ns()).min()
    }

    /// Removes a request whose client has given up by `now_ns`: running requests first. Cost: O(prompts being computed +
    /// log n).
    pub(crate) fn abandon(&mut self, now_ns: u64) -> Option<(usize, Request)> {
        let latest_ns = self.config.impatient_ns(now_ns)?;
        let running = self.computing().find(|(_, arrival_ns)| *arrival_ns <= latest_ns);
        let sequence = if let Some((admitted, _)) = running {
            self.abort(admitted)?
        } else if self.waiting.first_client_ns()? <= latest_ns {
            self.waiting.remove_first_client()?
        } else {
            return None;
        };
        Some((sequence.index, sequence.request))
    }

    /// Returns whether a request waits or runs. Cost: O(requests).
    pub(crate) fn has(&self, index: usize) -> bool {
        self.place(index).is_some()
    }

    /// Removes a request, wherever it is; `None` if it is not here. Cost: O(requests).
    pub(crate) fn cancel(&mut self, index: usize) -> Option<Sequence> {
        match self.place(index)? {
            Place::Running(admitted) => self.abort(admitted),
            Place::Ending(place) => Some(self.ending.swap_remove(place).1),
            Place::Waiting(rank) => self.waiting.remove(rank),
        }
    }

    fn place(&self, index: usize) -> Option<Place> {
        let is_running = |admitted: &Admitted| self.running.get(*admitted).is_some_and(|of| of.index == index);
        let running = || self.running.in_order().find(is_running).map(Place::Running);
        let ending = || self.ending.iter().position(|(_, of)| of.index == index).map(Place::Ending);
        let waiting = || self.waiting.rank_of(index).map(Place::Waiting);
        running().or_else(ending).or_else(waiting)
    }

    /// Removes a running request as `finish_requests` of vLLM does, and frees its blocks.
    ///
    /// Its tokens in flight are computed all the same. Full blocks of tokens that were scheduled, and whose values are
    /// known, stay in the prefix cache.
    fn abort(&mut self, admitted: Admitted) -> Option<Sequence> {
        let step = self.scheduled_steps() + 1;
        let mut sequence = self.running.remove(admitted, step)?;
        self.forget_unknown(&mut sequence, step);
        self.kv.release(&mut sequence);
        Some(sequence)
    }

    /// Returns the running requests that have no token, and their arrivals.
    fn computing(&self) -> impl Iterator<Item = (Admitted, u64)> + '_ {
        let partial = self.running.partial.iter();
        let known = partial.filter_map(|admitted| Some((*admitted, self.running.get(*admitted)?)));
        let without_token = known.filter(|(_, sequence)| !sequence.has_token());
        without_token.map(|(admitted, sequence)| (admitted, sequence.request.arrival_ns))
    }
}
