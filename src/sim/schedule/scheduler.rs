//! Who computes what in the next step: the rules of vLLM V1.

use alloc::vec::Vec;

use crate::sim::load::arrived::Arrived;
use crate::sim::memory::block_pool::BlockPool;
use crate::sim::memory::blocks::{admit, give_back, give_up, grow, look_up, name_full};
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::queue::Queue;
use crate::sim::schedule::running::{Admitted, Running};
use crate::sim::schedule::sequence::Sequence;
use crate::sim::{PrefixCaching, RequestRecord, SchedulingPolicy, SimConfig, Speculation};
use crate::step::DecodeGroup;

/// The queue, the running requests and the KV cache they share.
///
/// A step costs O(1), however many requests decode; each request O(log n) for its last step. A step that
/// preempts walks over all running requests. A request that shares tokens with others costs O(its
/// blocks) more, and as often as it is at the head of the queue and does not fit. With speculative decoding a
/// step costs O(requests that decode).
#[derive(Debug)]
pub(crate) struct Scheduler {
    config: SimConfig,
    kv: BlockPool,
    waiting: Queue,
    running: Running,
    /// Requests that were preempted while their last token was on its way.
    ending: Vec<(Admitted, Sequence)>,
    scheduled_steps: u64,
    /// Those who take their turns, where they have to be asked one by one.
    turns: Vec<Admitted>,
}

impl Scheduler {
    /// An empty server.
    pub(crate) fn new(config: SimConfig) -> Scheduler {
        Scheduler {
            config,
            kv: BlockPool::new(config.kv_blocks),
            waiting: Queue::new(config.policy, config.block_size),
            running: Running::new(config.block_size),
            ending: Vec::new(),
            scheduled_steps: 0,
            turns: Vec::new(),
        }
    }

    /// Lets a request wait. It must pass [`SimConfig::check`].
    #[inline]
    pub(crate) fn enqueue(&mut self, arrived: Arrived) {
        self.waiting.push(arrived);
    }

    /// Fixes the work of the next step at `now_ns`.
    ///
    /// The step may turn out empty when every running request has its last token scheduled.
    pub(crate) fn plan(&mut self, plan: &mut Plan, now_ns: u64) {
        self.scheduled_steps += 1;
        plan.reset(self.scheduled_steps);
        match self.config.speculation {
            None => self.serve_decodes(plan),
            Some(speculation) => self.verify_drafts(plan, speculation),
        }
        let budget = self.config.max_num_batched_tokens - plan.decode.tokens() as u32;
        let budget = self.serve_partial(plan, budget);
        if plan.preempted.is_empty() {
            self.admit_waiting(plan, budget, now_ns);
        }
    }

    /// Whether somebody could be admitted if there were budget and blocks.
    pub(crate) fn has_room(&self) -> bool {
        self.running.len() < self.config.max_num_seqs as usize
    }

    /// Fixes the next step if it is known without a look at anyone: all that decode take a token, nobody
    /// has the last one, nobody is admitted, and there are blocks. Then it answers what decodes.
    #[inline]
    pub(crate) fn plan_decodes(&mut self) -> Option<DecodeGroup> {
        let step = self.scheduled_steps + 1;
        let ends = self.running.first_end().is_some_and(|end| end <= step);
        let admits = !self.waiting.is_empty() && self.has_room();
        let idle = self.running.decoding().requests == 0;
        if idle || ends || admits || self.running.partial.is_some() {
            return None;
        }
        if !self.kv.take_unregistered(self.running.growing(step)) {
            return None;
        }
        self.scheduled_steps = step;
        Some(self.running.advance())
    }

    /// How many steps were fixed.
    pub(crate) fn scheduled_steps(&self) -> u64 {
        self.scheduled_steps
    }

    /// A step of which `plan` says who has a first token has ended at `now_ns`.
    pub(crate) fn first_tokens(&mut self, plan: &Plan, now_ns: u64) {
        for &(index, admitted) in &plan.first_tokens {
            if let Some(sequence) = self.running.get_mut(admitted) {
                sequence.timing.first_token_ns = now_ns;
                continue;
            }
            // It was preempted for the step after.
            let waiting = self.waiting.iter_mut();
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
                give_back(
                    &mut self.kv,
                    &mut sequence,
                    self.config.prefix_caching,
                    self.config.block_size,
                );
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

    /// Places of the requests that take a token each in `step`, in the order of admission. The step after it may
    /// not be fixed yet, unless it only decodes, too.
    pub(crate) fn decoding_in(&self, step: u64) -> impl Iterator<Item = usize> + '_ {
        let sequences = self
            .running
            .in_order()
            .filter_map(|of| self.running.get(of));
        let decoding = sequences.filter(move |of| of.decodes_from.is_some_and(|from| from <= step));
        decoding.map(|sequence| sequence.index)
    }

    /// Requests in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Requests that hold a sequence slot.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// The KV cache.
    pub(crate) fn kv(&self) -> &BlockPool {
        &self.kv
    }

    /// Gives everyone who decodes a token.
    fn serve_decodes(&mut self, plan: &mut Plan) {
        let step = plan.number();
        let growing = self.running.growing(step);
        if !self.kv.take_unregistered(growing) {
            self.grow_one_by_one(plan);
        }
        plan.decode = self.running.advance();
        while let Some(admitted) = self.running.next_end(step) {
            self.finish(plan, admitted);
        }
    }

    /// Gives those that decode the blocks they need in the order of admission, and takes them from those
    /// whom the policy preempts.
    fn grow_one_by_one(&mut self, plan: &mut Plan) {
        let step = plan.number();
        self.in_turn(|scheduler, admitted| {
            // It may have lost its slot to one before it.
            let grows = scheduler.running.grows(admitted, step);
            while grows
                && scheduler.running.get(admitted).is_some()
                && !scheduler.kv.take_unregistered(1)
            {
                let victim = scheduler.victim(admitted);
                scheduler.preempt(plan, victim);
            }
        });
    }

    /// Lets everyone who decodes verify its drafts.
    fn verify_drafts(&mut self, plan: &mut Plan, speculation: Speculation) {
        plan.decode.drafted = speculation.draft_tokens();
        self.in_turn(|scheduler, admitted| {
            if !scheduler.make_room(plan, admitted, 1 + speculation.draft_tokens()) {
                return;
            }
            let Some(sequence) = scheduler.running.get_mut(admitted) else {
                return;
            };
            plan.verify(sequence.computed());
            let accepted = speculation.accepted(sequence.index, sequence.generated());
            plan.accepted += accepted;
            let yielded = sequence.verified(accepted);
            plan.yielded += yielded;
            plan.verified.push((sequence.index, yielded));
            if sequence.is_complete() {
                scheduler.finish(plan, admitted);
            }
        });
    }

    /// Takes the blocks that a decoding request needs for `tokens` more, if need be from those whom the policy
    /// preempts; says whether it still runs.
    fn make_room(&mut self, plan: &mut Plan, admitted: Admitted, tokens: u32) -> bool {
        while let Some(sequence) = self.running.get_mut(admitted)
            && sequence.decodes()
        {
            if grow(&mut self.kv, sequence, tokens, self.config.block_size) {
                return true;
            }
            let victim = self.victim(admitted);
            self.preempt(plan, victim);
        }
        false
    }

    /// Calls `take_turn` with each that holds a slot now, in the order of admission.
    fn in_turn(&mut self, mut take_turn: impl FnMut(&mut Scheduler, Admitted)) {
        let mut turns = core::mem::take(&mut self.turns);
        turns.clear();
        turns.extend(self.running.in_order());
        for &admitted in &turns {
            take_turn(self, admitted);
        }
        self.turns = turns;
    }

    /// Gives the request whose prompt is not computed yet its next chunk; returns the budget left.
    fn serve_partial(&mut self, plan: &mut Plan, budget: u32) -> u32 {
        let Some(admitted) = self.running.partial else {
            return budget;
        };
        let Some(sequence) = self.running.get_mut(admitted) else {
            return budget;
        };
        let tokens = sequence.pending().min(budget);
        if !grow(&mut self.kv, sequence, tokens, self.config.block_size) {
            self.preempt(plan, admitted);
            return budget;
        }
        self.compute(plan, admitted, tokens);
        budget - tokens
    }

    /// Computes a chunk of a running request's prompt.
    fn compute(&mut self, plan: &mut Plan, admitted: Admitted, tokens: u32) {
        let Some(sequence) = self.running.get_mut(admitted) else {
            return;
        };
        let chunk = sequence.advance(tokens);
        plan.add_chunk(chunk);
        if self.config.prefix_caching == PrefixCaching::Enabled {
            name_full(&mut self.kv, sequence, self.config.block_size);
        }
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

    /// `plan` yields the last token of a request.
    fn finish(&mut self, plan: &mut Plan, admitted: Admitted) {
        if let Some(sequence) = self.running.get(admitted) {
            plan.finished.push((sequence.index, admitted));
        }
    }

    /// Who loses its blocks so that `first`, or somebody admitted after it, can grow.
    fn victim(&mut self, first: Admitted) -> Admitted {
        if self.config.policy == SchedulingPolicy::Priority {
            let candidates = self.running.in_order().filter(|other| *other >= first);
            let urgency = |admitted: &Admitted| {
                let sequence = self.running.get(*admitted);
                sequence.map(|sequence| (sequence.request.priority, sequence.order))
            };
            return candidates.max_by_key(urgency).unwrap_or(first);
        }
        self.running.last().unwrap_or(first)
    }

    /// Takes the blocks of a running request and sends it back to the queue.
    fn preempt(&mut self, plan: &mut Plan, admitted: Admitted) {
        let Some(mut victim) = self.running.remove(admitted, plan.number()) else {
            return;
        };
        plan.preempted.push(victim.index);
        victim.timing.preemptions += 1;
        // The last token may be on its way (`OneStepAhead`): then nothing is left to compute.
        let SimConfig {
            prefix_caching: caching,
            block_size,
            ..
        } = self.config;
        if victim.is_complete() {
            give_back(&mut self.kv, &mut victim, caching, block_size);
            self.ending.push((admitted, victim));
        } else {
            if victim.has_token() {
                plan.interrupted.push(victim.index);
            }
            give_up(&mut self.kv, &mut victim, caching, block_size);
            victim.restart();
            self.waiting.push_preempted(victim);
        }
    }

    /// Admits from the head of the queue while budget, slots and blocks last.
    fn admit_waiting(&mut self, plan: &mut Plan, mut budget: u32, now_ns: u64) {
        let SimConfig {
            prefix_caching: caching,
            block_size,
            ..
        } = self.config;
        while budget > 0
            && self.has_room()
            && let Some(sequence) = self.waiting.first_mut()
        {
            let hits = look_up(&self.kv, sequence, caching, block_size);
            sequence.found(hits.blocks, block_size);
            let tokens = sequence.pending().min(budget);
            if !admit(&mut self.kv, sequence, hits, tokens, block_size) {
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
            self.compute(plan, admitted, tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::sim::{PrefixCaching, Request};

    fn scheduler(max_num_seqs: u32, max_num_batched_tokens: u32, kv_blocks: u32) -> Scheduler {
        let mut config = SimConfig::new(4_096, kv_blocks);
        config.max_num_seqs = max_num_seqs;
        config.max_num_batched_tokens = max_num_batched_tokens;
        Scheduler::new(config)
    }

    fn enqueue(scheduler: &mut Scheduler, index: usize, prompt_tokens: u32, output_tokens: u32) {
        let request = Request {
            prompt_tokens,
            output_tokens,
            ..Request::default()
        };
        scheduler.enqueue(Arrived::new(index, request, (&[], 0), 0));
    }

    /// Places of the requests that hold a slot, in the order of admission.
    fn running(scheduler: &Scheduler) -> Vec<usize> {
        let running = &scheduler.running;
        let sequences = running
            .in_order()
            .filter_map(|admitted| running.get(admitted));
        sequences.map(|sequence| sequence.index).collect()
    }

    /// Places of the requests in the queue.
    fn waiting(scheduler: &Scheduler) -> Vec<usize> {
        scheduler.waiting.indices()
    }

    #[test]
    fn a_head_that_does_not_fit_blocks_those_behind_it() {
        let mut scheduler = scheduler(8, 1_000, 4);
        enqueue(&mut scheduler, 0, 40, 5);
        enqueue(&mut scheduler, 1, 40, 5);
        enqueue(&mut scheduler, 2, 5, 5);
        let mut plan = Plan::new();
        scheduler.plan(&mut plan, 0);
        assert_eq!(running(&scheduler), [0]);
        assert_eq!((scheduler.kv().used(), scheduler.waiting()), (3, 2));
    }

    #[test]
    fn slots_and_budget_limit_admission() {
        let mut slots = scheduler(2, 1_000, 100);
        let mut budget = scheduler(8, 30, 100);
        for index in 0..4 {
            enqueue(&mut slots, index, 20, 5);
            enqueue(&mut budget, index, 20, 5);
        }
        let mut plan = Plan::new();
        slots.plan(&mut plan, 0);
        assert_eq!(running(&slots), [0, 1]);
        budget.plan(&mut plan, 0);
        assert_eq!(running(&budget), [0, 1]);
        let new: Vec<u32> = plan.batch().prefill.iter().map(|chunk| chunk.new).collect();
        assert_eq!(new, [20, 10]);
    }

    #[test]
    fn the_last_admitted_is_preempted_and_waits_at_the_head() {
        let mut scheduler = scheduler(8, 1_000, 3);
        enqueue(&mut scheduler, 0, 16, 5);
        enqueue(&mut scheduler, 1, 16, 5);
        enqueue(&mut scheduler, 2, 16, 5);
        enqueue(&mut scheduler, 3, 1, 1);
        let mut plan = Plan::new();
        scheduler.plan(&mut plan, 0);
        assert_eq!(running(&scheduler), [0, 1, 2]);

        // 0 grows into a second block and takes that of 2; then 1 finds none but its own.
        scheduler.plan(&mut plan, 0);
        assert_eq!(plan.preempted, [2, 1]);
        assert_eq!(plan.batch().decode_kv_tokens(), 17);
        // One block is free and the queue has a request that needs one, but nobody is admitted.
        assert_eq!(running(&scheduler), [0]);
        assert_eq!(scheduler.kv().used(), 2);
        assert_eq!(waiting(&scheduler), [1, 2, 3]);
    }

    #[test]
    fn a_finished_request_holds_its_blocks_until_its_step_has_ended() {
        let mut scheduler = scheduler(1, 1_000, 4);
        enqueue(&mut scheduler, 0, 33, 1);
        enqueue(&mut scheduler, 1, 33, 1);
        let (mut first, mut second) = (Plan::new(), Plan::new());
        scheduler.plan(&mut first, 0);
        let finished: Vec<usize> = first.finished.iter().map(|(request, _)| *request).collect();
        assert_eq!(finished, [0]);
        scheduler.plan(&mut second, 0);
        assert!(second.is_empty());
        assert_eq!(scheduler.kv().used(), 3);
        let (_, ended) = first.finished[0];
        assert!(scheduler.retire(ended, 7, 0).is_some());
        assert_eq!((scheduler.kv().used(), scheduler.running()), (0, 0));
        scheduler.plan(&mut second, 0);
        assert_eq!(running(&scheduler), [1]);
        // The end of another step lets nobody go.
        assert_eq!(scheduler.retire(ended, 8, 0), None);
        assert_eq!(scheduler.running(), 1);
    }

    /// The second request prefills in two steps and finds no block for the second; who is admitted then?
    fn admitted_after_a_failed_prefill(prefix_caching: PrefixCaching) -> Vec<usize> {
        let mut scheduler = scheduler(8, 64, 10);
        scheduler.config.prefix_caching = prefix_caching;
        enqueue(&mut scheduler, 0, 64, 50);
        enqueue(&mut scheduler, 1, 96, 5);
        let mut plan = Plan::new();
        scheduler.plan(&mut plan, 0);
        scheduler.plan(&mut plan, 0);
        assert_eq!(
            (running(&scheduler), scheduler.kv().used()),
            (vec![0, 1], 9)
        );
        scheduler.plan(&mut plan, 0);
        assert_eq!(plan.preempted, [1]);
        scheduler.plan(&mut plan, 0);
        running(&scheduler)
    }

    #[test]
    fn a_preempted_request_waits_until_it_can_go_beyond_the_blocks_it_finds_again() {
        // It finds 3 blocks again and needs 6 for its next chunk; 5 are free.
        let found_again = admitted_after_a_failed_prefill(PrefixCaching::Enabled);
        assert_eq!(found_again, [0]);
        // Without them its first chunk fits, and it will fail at the second again.
        assert_eq!(
            admitted_after_a_failed_prefill(PrefixCaching::Disabled),
            [0, 1]
        );
    }
}
