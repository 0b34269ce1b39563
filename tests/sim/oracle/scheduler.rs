//! The schedule of the next step, by the rules of vLLM V1.

use std::collections::VecDeque;

use super::kv_cache::{KvCache, tokens};
use super::plan::Plan;
use super::sequence::Sequence;
use rooflut::sim::{PrefixCaching, SchedulingPolicy, SimConfig};

/// The queue, the running requests and the KV cache they share.
#[derive(Debug)]
pub(crate) struct Scheduler {
    config: SimConfig,
    pub(crate) kv: KvCache,
    /// First come first served; preempted requests go to the front.
    pub(crate) waiting: VecDeque<Sequence>,
    /// Requests that were preempted for the last plan while the step with their last token is in flight.
    pub(crate) ending: u32,
    /// The ids of a trace.
    listed: Vec<u64>,
    /// In the order of admission.
    running: Vec<Sequence>,
    scheduled_steps: u64,
    came: u64,
}

impl Scheduler {
    /// An empty server.
    pub(crate) fn new(config: SimConfig, listed: Vec<u64>) -> Scheduler {
        Scheduler {
            config,
            kv: KvCache::new(config.kv_blocks, config.prefix_caching),
            waiting: VecDeque::new(),
            ending: 0,
            listed,
            running: Vec::new(),
            scheduled_steps: 0,
            came: 0,
        }
    }

    /// Puts a request at the end of the queue. It must pass [`SimConfig::check`].
    pub(crate) fn enqueue(&mut self, mut sequence: Sequence) {
        self.came += 1;
        sequence.order = self.came;
        self.waiting.push_back(sequence);
    }

    /// Whether any request waits or runs.
    pub(crate) fn has_requests(&self) -> bool {
        !(self.waiting.is_empty() && self.running.is_empty())
    }

    /// The place in the queue of the one whose turn it is.
    fn turn(&self) -> Option<usize> {
        let indices = 0..self.waiting.len();
        let of = |index: &usize| &self.waiting[*index];
        match self.config.policy {
            SchedulingPolicy::Fcfs => indices.min(),
            SchedulingPolicy::ShortestPrompt => {
                indices.min_by_key(|index| (of(index).asked.prompt_tokens, of(index).order))
            }
            SchedulingPolicy::Priority => {
                indices.min_by_key(|index| (of(index).asked.priority, of(index).order))
            }
            other => panic!("{other:?}"),
        }
    }

    /// The place among the running of the one who is preempted for that at `position`.
    fn victim(&self, position: usize) -> usize {
        let last = self.running.len() - 1;
        match self.config.policy {
            SchedulingPolicy::Priority => (position..=last)
                .max_by_key(|index| {
                    let sequence = &self.running[*index];
                    (sequence.asked.priority, sequence.order)
                })
                .unwrap(),
            _ => last,
        }
    }

    /// Fixes the work of the next step.
    ///
    /// The step may turn out empty when every running request has its last token scheduled.
    pub(crate) fn plan(&mut self, plan: &mut Plan) {
        self.scheduled_steps += 1;
        plan.reset(self.scheduled_steps);
        self.ending = 0;
        let budget = self.serve_running(plan, self.config.max_num_batched_tokens);
        if plan.preempted.is_empty() {
            self.admit_waiting(plan, budget);
        }
    }

    /// Releases the requests that finished in `plan`, which has ended.
    pub(crate) fn retire(&mut self, plan: &Plan) {
        let number = Some(plan.number);
        while let Some(index) = self.running.iter().position(|s| s.last_step == number) {
            let mut sequence = self.running.remove(index);
            // Synchronous engines register no block when they free it.
            sequence.ended();
            self.let_go(sequence);
        }
    }

    /// Its blocks are free; those that can be found keep their contents.
    fn let_go(&mut self, mut sequence: Sequence) -> Sequence {
        self.fill(&sequence);
        self.kv.release(std::mem::take(&mut sequence.blocks));
        sequence
    }

    /// The blocks that a request has filled can be found.
    fn fill(&mut self, sequence: &Sequence) {
        if self.config.prefix_caching == PrefixCaching::Disabled {
            return;
        }
        let block_size = self.config.block_size;
        for (block, end) in sequence.blocks.iter().zip(ends(sequence, block_size)) {
            if end <= sequence.known {
                let tokens = tokens(&sequence.asked, sequence.request, &self.listed, end);
                self.kv.fill(*block, tokens);
            }
        }
    }

    /// Gives running requests their tokens in the order of admission; returns the budget left.
    fn serve_running(&mut self, plan: &mut Plan, mut budget: u32) -> u32 {
        let mut position = 0;
        // Preemption shortens the list from its end, at the latest until it reaches this request.
        while let Some(sequence) = self.running.get(position) {
            let tokens = sequence.pending().min(budget);
            let end = sequence.computed + tokens;
            // A draft model writes beyond the step.
            let room = self.config.max_model_len.saturating_sub(end);
            let drafted = self
                .config
                .speculation
                .map_or(0, |of| of.lookahead_tokens());
            let own = blocks_for(sequence, end + drafted.min(room), self.config.block_size);
            let missing = own.saturating_sub(sequence.blocks.len() as u32);
            let Some(blocks) = self.kv.take(&[], missing) else {
                self.preempt(plan, self.victim(position));
                continue;
            };
            let sequence = &mut self.running[position];
            sequence.blocks.extend(blocks);
            if tokens > 0 {
                plan.add(sequence, tokens);
                budget -= tokens;
                let sequence = self.running.remove(position);
                self.fill(&sequence);
                self.running.insert(position, sequence);
            }
            position += 1;
        }
        budget
    }

    /// Takes the blocks of a running request and sends it back to the queue.
    fn preempt(&mut self, plan: &mut Plan, index: usize) {
        let victim = self.running.remove(index);
        let mut victim = self.let_go(victim);
        plan.preempted.push(victim.request);
        // The last token may be on its way (`OneStepAhead`): then nothing is left to compute.
        if victim.is_complete() {
            self.ending += 1;
        } else {
            victim.restart();
            self.waiting.push_front(victim);
        }
    }

    /// Admits from the head of the queue while budget, slots and blocks last.
    fn admit_waiting(&mut self, plan: &mut Plan, mut budget: u32) {
        let slots = self.config.max_num_seqs as usize;
        let block_size = self.config.block_size;
        while budget > 0
            && self.running.len() < slots
            && let Some(turn) = self.turn()
        {
            let sequence = &mut self.waiting[turn];
            let findable = ends(sequence, block_size).take_while(|end| *end <= sequence.findable());
            let wanted =
                findable.map(|end| tokens(&sequence.asked, sequence.request, &self.listed, end));
            let hits = self.kv.hits(wanted);
            sequence.found(sequence.cached + hits.len() as u32 * block_size);
            let new = sequence.pending().min(budget);
            let own = blocks_for(sequence, sequence.computed + new, block_size);
            let Some(blocks) = self.kv.take(&hits, own - hits.len() as u32) else {
                return;
            };
            sequence.blocks = blocks;
            plan.add(sequence, new);
            plan.admitted.push(sequence.request);
            budget -= new;
            let sequence = self.waiting.remove(turn).unwrap();
            self.fill(&sequence);
            self.running.push(sequence);
        }
    }
}

/// Where the blocks of a request end, the first one beyond its prefix hit first.
fn ends(sequence: &Sequence, block_size: u32) -> impl Iterator<Item = u32> + use<> {
    let first = sequence.cached / block_size;
    (first + 1..).map(move |block| block * block_size)
}

/// Blocks that `tokens` need beyond the prefix hit.
fn blocks_for(sequence: &Sequence, tokens: u32, block_size: u32) -> u32 {
    tokens.div_ceil(block_size) - sequence.cached / block_size
}
