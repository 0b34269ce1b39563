//! Who computes what in the next step: the rules of vLLM V1.

use std::collections::VecDeque;

use super::kv_cache::KvCache;
use super::plan::Plan;
use super::sequence::Sequence;
use rooflut::sim::SimConfig;

/// The queue, the running requests and the KV cache they share.
#[derive(Debug)]
pub(crate) struct Scheduler {
    config: SimConfig,
    kv: KvCache,
    /// First come first served; preempted requests go to the front.
    waiting: VecDeque<Sequence>,
    /// Requests at the front of the queue that were preempted.
    preempted: usize,
    /// In the order of admission.
    running: Vec<Sequence>,
    scheduled_steps: u64,
}

impl Scheduler {
    /// An empty server.
    pub(crate) fn new(config: SimConfig) -> Scheduler {
        Scheduler {
            config,
            kv: KvCache::new(config.kv_blocks, config.block_size),
            waiting: VecDeque::new(),
            preempted: 0,
            running: Vec::new(),
            scheduled_steps: 0,
        }
    }

    /// Puts a request at the end of the queue. It must pass [`SimConfig::check`].
    pub(crate) fn enqueue(&mut self, sequence: Sequence) {
        self.waiting.push_back(sequence);
    }

    /// Fixes the work of the next step.
    ///
    /// The step may turn out empty when every running request has its last token scheduled.
    pub(crate) fn plan(&mut self, plan: &mut Plan) {
        self.scheduled_steps += 1;
        plan.reset(self.scheduled_steps);
        let budget = self.serve_running(plan, self.config.max_num_batched_tokens);
        if plan.preempted.is_empty() {
            self.admit_waiting(plan, budget);
        }
    }

    /// Lets go of the requests that finished in `plan`, which has ended.
    pub(crate) fn retire(&mut self, plan: &Plan) {
        if plan.finished.is_empty() {
            return;
        }
        let kv = &mut self.kv;
        self.running.retain(|sequence| {
            let stays = sequence.last_step != Some(plan.number());
            if !stays {
                kv.release(sequence.blocks);
            }
            stays
        });
    }

    /// The KV cache.
    pub(crate) fn kv(&self) -> &KvCache {
        &self.kv
    }

    /// Gives running requests their tokens in the order of admission; returns the budget left.
    fn serve_running(&mut self, plan: &mut Plan, mut budget: u32) -> u32 {
        let mut position = 0;
        // Preemption shortens the list from its end, at the latest until it reaches this request.
        while let Some(sequence) = self.running.get_mut(position) {
            let tokens = sequence.pending().min(budget);
            let Some(taken) = grow(&mut self.kv, sequence, tokens) else {
                self.preempt_last(plan);
                continue;
            };
            if tokens > 0 {
                plan.add(sequence, tokens);
                budget -= tokens;
            }
            self.overwrite(taken);
            position += 1;
        }
        budget
    }

    /// Takes the blocks of the most recently admitted request and sends it back to the queue.
    fn preempt_last(&mut self, plan: &mut Plan) {
        let Some(mut victim) = self.running.pop() else {
            return;
        };
        self.kv.release(victim.blocks);
        plan.preempted.push(victim.request);
        // The last token may be on its way (`OneStepAhead`): then nothing is left to compute.
        if !victim.is_complete() {
            victim.restart(self.config.prefix_caching, self.config.block_size);
            self.waiting.push_front(victim);
            self.preempted += 1;
        }
    }

    /// Overwrites `blocks` of those that preempted requests would find again: of the one preempted
    /// first, from its end.
    fn overwrite(&mut self, mut blocks: u32) {
        let block_size = self.config.block_size;
        for sequence in self.waiting.iter_mut().take(self.preempted).rev() {
            if blocks == 0 {
                return;
            }
            blocks -= sequence.lose(blocks, block_size);
        }
    }

    /// Admits from the head of the queue while budget, slots and blocks last.
    fn admit_waiting(&mut self, plan: &mut Plan, mut budget: u32) {
        let slots = self.config.max_num_seqs as usize;
        while budget > 0
            && self.running.len() < slots
            && let Some(sequence) = self.waiting.front_mut()
        {
            let tokens = sequence.pending().min(budget);
            let Some(taken) = grow(&mut self.kv, sequence, tokens) else {
                return;
            };
            let found_again = sequence.find_again();
            plan.add(sequence, tokens);
            plan.admitted.push(sequence.request);
            budget -= tokens;
            self.running.extend(self.waiting.pop_front());
            self.preempted = self.preempted.saturating_sub(1);
            self.overwrite(taken.saturating_sub(found_again));
        }
    }
}

/// Takes the blocks that `tokens` more need and says how many; `None` if not all are free.
fn grow(kv: &mut KvCache, sequence: &mut Sequence, tokens: u32) -> Option<u32> {
    let own = kv.blocks_for(sequence.computed() + tokens) - kv.blocks_for(sequence.cached());
    let missing = own - sequence.blocks;
    if !kv.try_take(missing) {
        return None;
    }
    sequence.blocks = own;
    Some(missing)
}
