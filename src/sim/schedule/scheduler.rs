//! The schedule of the next step: the rules of vLLM V1.

use alloc::vec::Vec;

use crate::engine::Scheduling;
use crate::sim::load::arrived::Arrived;
use crate::sim::memory::block_pool::BlockPool;
use crate::sim::memory::content::BlockIds;
use crate::sim::schedule::kv_cache::KvCache;
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::queue::Queue;
use crate::sim::schedule::running::{Admitted, Running};
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{Request, RequestRecord, SimConfig};
use crate::step::DecodeGroup;

/// The queue, the running requests and their KV cache.
///
/// A step costs O(1) for any number of decoding requests; each request costs O(log n) for its last step. A step
/// that preempts visits all running requests. A request that can share tokens with others costs O(its blocks) more,
/// and again whenever it is at the head of the queue and does not fit. With speculative decoding a step costs
/// O(decoding requests).
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub(super) config: SimConfig,
    pub(super) kv: KvCache,
    pub(super) waiting: Queue,
    pub(super) running: Running,
    /// Requests that were preempted while the step with their last token was in flight.
    pub(super) ending: Vec<(Admitted, Sequence)>,
    scheduled_steps: u64,
    /// Buffer of the requests that are visited one by one.
    pub(super) visited: Vec<Admitted>,
}

impl Scheduler {
    /// Creates a scheduler without requests.
    pub(crate) fn new(config: SimConfig) -> Scheduler {
        Scheduler {
            config,
            kv: KvCache::new(&config),
            waiting: Queue::new(config.policy, config.block_size),
            running: Running::new(&config),
            ending: Vec::new(),
            scheduled_steps: 0,
            visited: Vec::new(),
        }
    }

    /// Adds a request to the queue. It must pass [`SimConfig::check`].
    #[inline]
    pub(crate) fn enqueue(&mut self, arrived: Arrived) {
        self.waiting.push(arrived);
    }

    /// Schedules the next step at `now_ns`: decoding requests first, then the request in prefill, then admission.
    ///
    /// The step is empty if no request is waiting that fits and the last token of every running request has been
    /// scheduled.
    pub(crate) fn plan(&mut self, plan: &mut Plan, now_ns: u64) {
        self.scheduled_steps += 1;
        plan.reset(self.scheduled_steps);
        match self.config.speculation {
            None => self.schedule_decodes(plan),
            Some(speculation) => self.schedule_verification(plan, speculation),
        }
        let budget = self.config.max_num_batched_tokens - plan.decode.tokens() as u32;
        let budget = self.schedule_partial(plan, budget);
        if plan.preempted.is_empty() {
            self.admit_waiting(plan, budget, now_ns);
        }
    }

    /// Schedules the next step if all decoding requests take a token in it and nothing else happens: no request
    /// takes its last token, is admitted or is preempted. Returns the decoding requests.
    #[inline]
    pub(crate) fn plan_decodes(&mut self) -> Option<DecodeGroup> {
        let step = self.scheduled_steps + 1;
        let ends = self.running.first_end().is_some_and(|end| end <= step);
        let admits = !self.waiting.is_empty() && self.has_room();
        let idle = self.running.decoding().requests == 0;
        if idle || ends || admits || self.running.partial.is_some() {
            return None;
        }
        let growing = self.running.growing(step);
        if !self.kv.pool.take_unregistered(growing) {
            return None;
        }
        if self.running.shares() {
            self.register_decoded(step);
        }
        self.scheduled_steps = step;
        Some(self.running.advance())
    }

    /// Returns whether a sequence slot is free.
    pub(crate) fn has_room(&self) -> bool {
        self.running.len() < self.config.max_num_seqs as usize
    }

    /// Returns the number of steps scheduled so far.
    pub(crate) fn scheduled_steps(&self) -> u64 {
        self.scheduled_steps
    }

    /// Returns the number of requests in the queue, and of those that were preempted while the step with their last
    /// token was in flight: vLLM queues them until that step ends.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len() + self.ending.len()
    }

    /// Returns the number of requests that hold a sequence slot.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns how many tokens of a prompt with these `ids` are in the prefix cache.
    pub(crate) fn cached_tokens(&self, ids: &BlockIds<'_>, prompt_tokens: u32) -> u32 {
        self.kv.cached_tokens(ids, prompt_tokens)
    }

    /// Returns the KV blocks.
    pub(crate) fn kv(&self) -> &BlockPool {
        &self.kv.pool
    }

    /// Returns the indices of the requests that take a token each in `step`, in order of admission. The following
    /// step must not be scheduled yet, unless it only decodes as well.
    pub(crate) fn decoding_in(&self, step: u64) -> impl Iterator<Item = usize> + '_ {
        let sequences = self
            .running
            .in_order()
            .filter_map(|of| self.running.get(of));
        let decoding = sequences.filter(move |of| of.decodes_from.is_some_and(|from| from <= step));
        decoding.map(|sequence| sequence.index)
    }

    /// Sets the time of the first tokens of the step `plan`, which has ended at `now_ns`.
    pub(crate) fn first_tokens(&mut self, plan: &Plan, now_ns: u64) {
        for &(index, admitted) in &plan.first_tokens {
            if let Some(sequence) = self.running.get_mut(admitted) {
                sequence.timing.first_token_ns = now_ns;
                continue;
            }
            // The following step preempts it.
            let waiting = self.waiting.sequences_mut();
            let ending = self.ending.iter_mut().map(|(_, sequence)| sequence);
            for sequence in waiting.chain(ending).filter(|s| s.index == index) {
                sequence.timing.first_token_ns = now_ns;
            }
        }
    }

    /// Removes a request whose last token came at `now_ns` and returns its record.
    pub(crate) fn retire(
        &mut self,
        admitted: Admitted,
        now_ns: u64,
        replica: u32,
    ) -> Option<RequestRecord> {
        let mut sequence = match self.running.remove(admitted, self.scheduled_steps + 1) {
            Some(mut sequence) => {
                self.kv.release(&mut sequence);
                sequence
            }
            None => {
                let index = self.ending.iter().position(|(of, _)| *of == admitted)?;
                self.ending.swap_remove(index).1
            }
        };
        sequence.timing.finish_ns = now_ns;
        sequence.timing.replica = replica;
        Some(sequence.record())
    }

    /// Removes the request at the head of the queue.
    pub(crate) fn remove_first_waiting(&mut self) -> Option<(usize, Request)> {
        let sequence = self.waiting.remove_first()?;
        Some((sequence.index, sequence.request))
    }

    /// Schedules a token for each decoding request.
    fn schedule_decodes(&mut self, plan: &mut Plan) {
        let step = plan.number();
        let growing = self.running.growing(step);
        if !self.kv.pool.take_unregistered(growing) {
            self.grow_or_preempt(plan);
        }
        if self.running.shares() {
            self.register_decoded(step);
        }
        plan.decode = self.running.advance();
        while let Some(admitted) = self.running.next_end(step) {
            self.finish(plan, admitted);
        }
    }

    /// Registers the blocks that decoding requests have filled, before requests are admitted to `step`.
    ///
    /// A block is registered when the step that fills it is scheduled, or the following one if the last token of the
    /// block is not known before: `allocate_slots` of vLLM registers no unknown token.
    /// Kept out of line: runs without shared blocks would take 3 % more instructions.
    #[cold]
    fn register_decoded(&mut self, step: u64) {
        let grows_in = match self.config.rules.scheduling {
            Scheduling::Synchronous => step + 1,
            Scheduling::OneStepAhead => step,
        };
        let Scheduler { running, kv, .. } = self;
        running.for_each_sharing(grows_in, |sequence, computed| {
            kv.register_decoded(sequence, computed);
        });
    }

    /// Schedules the next chunk of the request in prefill; returns the remaining budget.
    fn schedule_partial(&mut self, plan: &mut Plan, budget: u32) -> u32 {
        let Some(admitted) = self.running.partial else {
            return budget;
        };
        let Some(sequence) = self.running.get_mut(admitted) else {
            return budget;
        };
        let tokens = sequence.pending().min(budget);
        if !self.kv.grow(sequence, tokens) {
            self.preempt(plan, admitted);
            return budget;
        }
        self.schedule_chunk(plan, admitted, tokens);
        budget - tokens
    }

    /// Admits requests from the head of the queue while budget, slots and blocks last.
    fn admit_waiting(&mut self, plan: &mut Plan, mut budget: u32, now_ns: u64) {
        while budget > 0
            && self.has_room()
            && let Some(sequence) = self.waiting.first_mut()
        {
            let hits = self.kv.look_up(sequence);
            sequence.found(hits.blocks, self.config.block_size);
            let tokens = sequence.pending().min(budget);
            if !self.kv.admit(sequence, hits, tokens) {
                return;
            }
            let Some(mut sequence) = self.waiting.pop() else {
                return;
            };
            // Only the first admission counts: every later one follows a preemption.
            if sequence.timing.preemptions == 0 {
                sequence.timing.scheduled_ns = now_ns;
            }
            budget -= tokens;
            let admitted = self.running.admit(sequence);
            self.schedule_chunk(plan, admitted, tokens);
        }
    }

    /// Schedules a chunk of a running request's prompt.
    fn schedule_chunk(&mut self, plan: &mut Plan, admitted: Admitted, tokens: u32) {
        let Some(sequence) = self.running.get_mut(admitted) else {
            return;
        };
        let chunk = sequence.advance(tokens);
        plan.add_chunk(chunk);
        self.kv.register_full(sequence);
        if !chunk.last {
            self.running.partial = Some(admitted);
            return;
        }
        if sequence.is_at_first_token() {
            plan.first_tokens.push((sequence.index, admitted));
        } else {
            plan.resumed.push(sequence.index);
        }
        let complete = sequence.is_complete();
        self.running.partial = None;
        if complete {
            self.finish(plan, admitted);
        } else if self.config.speculation.is_none() {
            self.running.decode_from(admitted, plan.number() + 1);
        }
    }

    /// Notes that `plan` yields the last token of a request.
    pub(super) fn finish(&mut self, plan: &mut Plan, admitted: Admitted) {
        if let Some(sequence) = self.running.get(admitted) {
            plan.finished.push((sequence.index, admitted));
        }
    }
}
