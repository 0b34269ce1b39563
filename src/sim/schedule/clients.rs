//! Clients that give up before the first token.

use crate::sim::Request;
use crate::sim::schedule::running::Admitted;
use crate::sim::schedule::scheduler::Scheduler;

impl Scheduler {
    /// Returns the earliest arrival of a request without a token whose last prompt chunk is not scheduled, if clients
    /// give up. Cost: O(1 + prompts being computed).
    #[inline]
    pub(crate) fn first_client_ns(&self) -> Option<u64> {
        self.config.patience_ns?;
        let computing = self.computing().map(|(_, arrival_ns)| arrival_ns);
        computing.chain(self.waiting.first_client_ns()).min()
    }

    /// Removes a request whose client has given up by `now_ns`, as `finish_requests` of vLLM does, and frees its blocks:
    /// running requests first. Cost: O(prompts being computed + log n).
    ///
    /// Chunks of its prompt that are in flight are computed all the same. Blocks of chunks that were scheduled stay in the
    /// prefix cache.
    pub(crate) fn abandon(&mut self, now_ns: u64) -> Option<(usize, Request)> {
        let latest_ns = self.config.impatient_ns(now_ns)?;
        let running = self.computing().find(|(_, arrival_ns)| *arrival_ns <= latest_ns);
        let sequence = if let Some((admitted, _)) = running {
            let mut sequence = self.running.remove(admitted, self.scheduled_steps() + 1)?;
            self.kv.release(&mut sequence);
            sequence
        } else if self.waiting.first_client_ns()? <= latest_ns {
            self.waiting.remove_first_client()?
        } else {
            return None;
        };
        Some((sequence.index, sequence.request))
    }

    /// Returns the running requests that have no token, and their arrivals.
    fn computing(&self) -> impl Iterator<Item = (Admitted, u64)> + '_ {
        let partial = self.running.partial.iter();
        let known = partial.filter_map(|admitted| Some((*admitted, self.running.get(*admitted)?)));
        let without_token = known.filter(|(_, sequence)| !sequence.has_token());
        without_token.map(|(admitted, sequence)| (admitted, sequence.request.arrival_ns))
    }
}
