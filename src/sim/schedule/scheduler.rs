//! The schedule of the next step: the rules of vLLM V1.

use alloc::vec::Vec;

use crate::engine::{LonePrefill, PadSpecDecode, Scheduling};
use crate::sim::load::arrived::Arrived;
use crate::sim::memory::block_pool::BlockPool;
use crate::sim::memory::content::BlockIds;
use crate::sim::schedule::kv_cache::KvCache;
use crate::sim::schedule::pass::Turn;
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::queue::Queue;
use crate::sim::schedule::running::{Admitted, Running};
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{Request, RequestRecord, SimConfig};
use crate::step::{Chunk, DecodeGroup};

/// The queue, the running requests and their KV cache.
///
/// A step costs O(1) for any number of decoding requests; each request costs O(log n) for its last step. A step
/// in which not all running requests get all their tokens visits them one by one, as every step with speculative
/// decoding or pipeline stages does. A request that can share tokens with others costs O(its blocks) more, and again whenever it is at the
/// head of the queue and does not fit.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    pub(super) config: SimConfig,
    pub(super) kv: KvCache,
    pub(super) waiting: Queue,
    pub(super) running: Running,
    /// Requests that were preempted while the step with their last token was in flight.
    pub(super) ending: Vec<(Admitted, Sequence)>,
    scheduled_steps: u64,
    /// The last step whose tokens are known, if several are in flight.
    known_steps: u64,
    /// Whether the last step had no token for some of the decoding requests.
    pub(super) left_out: bool,
    /// Buffer of the requests that are visited one by one.
    pub(super) turns: Vec<Turn>,
}

impl Scheduler {
    /// Creates a scheduler without requests.
    pub(crate) fn new(config: SimConfig) -> Scheduler {
        Scheduler {
            config,
            kv: KvCache::new(&config),
            waiting: Queue::new(&config),
            running: Running::new(&config),
            ending: Vec::new(),
            scheduled_steps: 0,
            known_steps: 0,
            left_out: false,
            turns: Vec::new(),
        }
    }

    /// Adds a request to the queue. It must pass [`SimConfig::check`].
    #[inline]
    pub(crate) fn enqueue(&mut self, arrived: Arrived) {
        self.waiting.push(arrived);
    }

    /// Schedules the next step at `now_ns`: running requests, then admission.
    ///
    /// The step is empty if no request is waiting that fits and the last token of every running request has been
    /// scheduled, or if a request that preempts itself ends the pass over the running requests.
    pub(crate) fn plan(&mut self, plan: &mut Plan, now_ns: u64) {
        self.scheduled_steps += 1;
        plan.reset(self.scheduled_steps);
        let threshold = self.threshold();
        let budget = if self.all_fit(plan.number(), threshold) {
            self.serve_all(plan, threshold)
        } else {
            self.serve_in_order(plan, threshold)
        };
        if plan.preempted.is_empty() {
            self.admit_waiting(plan, budget, threshold, now_ns);
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
        if idle || ends || admits || self.left_out || !self.running.partial.is_empty() {
            return None;
        }
        if !self.grow_decodes(step) {
            return None;
        }
        if self.running.shares() {
            self.register_decoded(step);
        }
        self.scheduled_steps = step;
        Some(self.running.advance(step))
    }

    /// Returns whether a sequence slot is free.
    pub(crate) fn has_room(&self) -> bool {
        self.running.len() < self.config.max_num_seqs as usize
    }

    /// Returns the number of steps scheduled so far.
    pub(crate) fn scheduled_steps(&self) -> u64 {
        self.scheduled_steps
    }

    /// Notes that a step has ended; several may be in flight.
    pub(crate) fn end_step(&mut self, number: u64) {
        self.known_steps = number;
    }

    /// Returns whether the last token of a decoding request is not known yet, so that it cannot take the next one.
    pub(super) fn awaits_token(&self, sequence: &Sequence) -> bool {
        self.config.is_pipelined() && sequence.last_step() > self.known_steps
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
        let sequences = self.running.in_order().filter_map(|of| self.running.get(of));
        let decoding = sequences.filter(move |of| of.decodes_from.is_some_and(|from| from <= step));
        decoding.map(|sequence| sequence.index)
    }

    /// Sets the time of the first tokens of the step `plan`, which has ended at `now_ns`, and their delay by the API
    /// server.
    pub(crate) fn first_tokens(&mut self, plan: &Plan, now_ns: u64, api_output_ns: u64) {
        for &(index, admitted) in &plan.first_tokens {
            if let Some(sequence) = self.running.get_mut(admitted) {
                sequence.timing.first_token_ns = now_ns;
                sequence.timing.api_output_ns = api_output_ns;
                continue;
            }
            // A step after it preempts it, and perhaps another one has admitted it again.
            let waiting = self.waiting.sequences_mut();
            let ending = self.ending.iter_mut().map(|(_, sequence)| sequence);
            let running = self.running.sequences_mut();
            let all = waiting.chain(ending).chain(running);
            for sequence in all.filter(|s| s.index == index) {
                sequence.timing.first_token_ns = now_ns;
                sequence.timing.api_output_ns = api_output_ns;
            }
        }
    }

    /// Removes a request whose last token came at `now_ns` and returns its record.
    pub(crate) fn retire(&mut self, admitted: Admitted, now_ns: u64, replica: u32) -> Option<RequestRecord> {
        let sequence = match self.running.remove(admitted, self.scheduled_steps + 1) {
            Some(mut sequence) => {
                if self.caches_at_end() {
                    sequence.set_known(sequence.computed());
                }
                self.kv.release(&mut sequence);
                sequence
            }
            None => {
                let index = self.ending.iter().position(|(of, _)| *of == admitted)?;
                self.ending.swap_remove(index).1
            }
        };
        Some(sequence.record(now_ns, replica))
    }

    /// Removes the request at the head of the queue.
    pub(crate) fn remove_first_waiting(&mut self) -> Option<(usize, Request)> {
        let sequence = self.waiting.pop()?;
        Some((sequence.index, sequence.request))
    }

    /// Returns the maximum tokens of a chunk in the next step.
    fn threshold(&self) -> u32 {
        let lifted = || {
            let alone = self.running() + self.waiting() <= 1;
            alone && self.config.rules.lone_prefill == LonePrefill::Budget
        };
        match self.config.long_prefill_token_threshold {
            Some(threshold) if !lifted() => threshold,
            _ => u32::MAX,
        }
    }

    /// Returns whether each running request gets all tokens that it can take in `step`, so that their order is
    /// irrelevant; the chunk of the last one may be cut. The order counts, too, where a prompt may fill the same block
    /// as a decoding request after it: the first one registers it.
    fn all_fit(&self, step: u64, threshold: u32) -> bool {
        if self.visits_each() || self.left_out {
            return false;
        }
        let mut budget = self.config.max_num_batched_tokens - self.running.decoding().requests;
        let mut blocks = self.running.growing(step);
        for &partial in &self.running.partial {
            let Some(sequence) = self.running.get(partial) else {
                continue;
            };
            let wanted = sequence.pending().min(threshold);
            let tokens = wanted.min(budget);
            let in_order = tokens < wanted || self.running.shares() && sequence.shares() || self.kv.grouped;
            if in_order && !self.running.is_last(partial) {
                return false;
            }
            budget -= tokens;
            blocks += self.kv.missing(sequence, tokens);
        }
        self.kv.in_groups(blocks) <= self.kv.pool.free()
    }

    /// Schedules the tokens of all running requests, for which there are enough blocks; returns the remaining budget.
    fn serve_all(&mut self, plan: &mut Plan, threshold: u32) -> u32 {
        let step = plan.number();
        let taken = self.grow_decodes(step);
        debug_assert!(taken, "fewer blocks than all running requests need");
        if self.running.shares() {
            self.register_decoded(step);
        }
        self.advance_decodes(plan);
        let mut budget = self.config.max_num_batched_tokens - plan.decode.requests;
        let mut index = 0;
        while let Some(&partial) = self.running.partial.get(index)
            && let Some(sequence) = self.running.get_mut(partial)
        {
            let tokens = sequence.pending().min(threshold).min(budget);
            if tokens > 0 {
                self.kv.slide(sequence, step, 0);
            }
            let taken = self.kv.grow(sequence, tokens);
            debug_assert!(taken, "fewer blocks than all running requests need");
            budget -= tokens;
            if tokens > 0 && self.schedule_chunk(plan, partial, tokens, 0) {
                self.running.partial.remove(index);
            } else {
                index += 1;
            }
        }
        budget
    }

    /// Schedules a token for each decoding request, whose blocks are taken.
    pub(super) fn advance_decodes(&mut self, plan: &mut Plan) {
        plan.decode = self.running.advance(plan.number());
        while let Some(admitted) = self.running.next_end(plan.number()) {
            self.finish(plan, admitted);
        }
    }

    /// Registers the blocks that decoding requests have filled, before requests are admitted to `step`.
    ///
    /// A block is registered when the step that fills it is scheduled, or the following one if the last token of the
    /// block is not known before: `allocate_slots` of vLLM registers no unknown token.
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

    /// Takes the blocks that decoding requests need in `step`, after those that their windows leave behind are freed;
    /// returns whether there were enough before, and does nothing if not.
    #[inline]
    fn grow_decodes(&mut self, step: u64) -> bool {
        let Scheduler { running, kv, .. } = self;
        let mut growing = running.growing(step);
        if kv.grouped {
            growing = kv.in_groups(growing);
            if growing <= kv.pool.free() {
                running.for_each_sliding(step, |sequence| kv.slide(sequence, step, 0));
            }
        }
        kv.pool.take_unregistered(growing)
    }

    /// Admits requests from the head of the queue while budget, slots and blocks last.
    fn admit_waiting(&mut self, plan: &mut Plan, mut budget: u32, threshold: u32, now_ns: u64) {
        let slots = self.config.draft_slots();
        let running = !plan.is_empty();
        let pads = self.config.rules.pad_spec_decode;
        let drafted = if plan.has_chunks() { 0 } else { self.config.draft_tokens() };
        while budget > slots
            && self.has_room()
            && let Some(sequence) = self.waiting.first_mut()
        {
            let hits = self.kv.look_up(sequence);
            sequence.found(hits.blocks, self.config.block_size);
            let tokens = sequence.pending().min(threshold).min(budget - slots);
            let one_left = sequence.pending() == 1 && drafted > 0;
            let room = self.config.max_model_len - sequence.computed();
            let padding = match pads {
                PadSpecDecode::WithRunning if one_left && running => drafted,
                PadSpecDecode::Always if one_left && (running || sequence.computed() > 0) && drafted + 2 <= room => {
                    drafted
                }
                _ => 0,
            };
            if tokens + padding > (budget - slots).min(room) {
                return;
            }
            let kept_free = match self.running.len() {
                0 => 0,
                _ => self.kv.watermark_blocks,
            };
            if !self.kv.admit(sequence, hits, tokens + padding, kept_free) {
                plan.kv_cache_full = true;
                return;
            }
            let Some(mut sequence) = self.waiting.pop() else {
                return;
            };
            // Only the first admission counts: every later one follows a preemption.
            if sequence.timing.preemptions == 0 {
                sequence.timing.scheduled_ns = now_ns;
                let block_size = self.config.block_size;
                sequence.timing.cached_tokens = (sequence.given_blocks(block_size) + hits.blocks) * block_size;
            }
            budget -= tokens + padding + slots;
            let admitted = self.running.admit(sequence);
            if !self.schedule_chunk(plan, admitted, tokens, padding) {
                self.running.partial.push(admitted);
            }
        }
    }

    /// Schedules a chunk of a running request's prompt and `padding` for drafts that are all rejected; returns whether
    /// it is the last one.
    pub(super) fn schedule_chunk(&mut self, plan: &mut Plan, admitted: Admitted, tokens: u32, padding: u32) -> bool {
        let in_flight = self.verifies_ahead() || self.config.is_pipelined();
        let visits_each = self.visits_each();
        let Some(sequence) = self.running.get_mut(admitted) else {
            return false;
        };
        let chunk = sequence.advance(tokens);
        sequence.blocks.set_tokens(plan.number(), tokens + padding);
        plan.add_chunk(Chunk { new: chunk.new + padding, kv_len: chunk.kv_len + padding, ..chunk });
        self.kv.register_full(sequence);
        if !chunk.last {
            return false;
        }
        if sequence.is_at_first_token() {
            plan.first_tokens.push((sequence.index, admitted));
        } else {
            plan.resumed.push(sequence.index);
        }
        if in_flight {
            sequence.set_first_in_flight(plan.number(), padding);
        }
        let complete = sequence.is_complete();
        if complete {
            self.finish(plan, admitted);
        } else if !visits_each {
            self.running.decode_from(admitted, plan.number() + 1);
        }
        true
    }

    /// Returns whether each step visits the decoding requests one by one: drafts are accepted, or the requests are divided
    /// among the batches in flight.
    pub(super) fn visits_each(&self) -> bool {
        self.config.speculation.is_some() || self.config.is_pipelined()
    }

    /// Returns whether full blocks can be found when the step that filled them has ended.
    pub(super) fn caches_at_end(&self) -> bool {
        let drafts = self.config.speculation.is_some();
        self.verifies_ahead() || drafts && self.config.rules.cache_sampled_tokens
    }

    /// Returns whether drafts are verified in steps that are fixed one step ahead.
    pub(super) fn verifies_ahead(&self) -> bool {
        self.config.speculation.is_some() && self.config.rules.scheduling == Scheduling::OneStepAhead
    }

    /// Notes that `plan` yields the last token of a request.
    pub(super) fn finish(&mut self, plan: &mut Plan, admitted: Admitted) {
        if let Some(sequence) = self.running.get(admitted) {
            let earlier = plan.finished.last().is_some_and(|(_, last)| admitted < *last);
            plan.finished.push((sequence.index, admitted));
            if earlier {
                // Blocks are freed in the order of the running requests, chunks and decodes mixed.
                plan.finished.sort_unstable_by_key(|(_, admitted)| *admitted);
            }
        }
    }
}
