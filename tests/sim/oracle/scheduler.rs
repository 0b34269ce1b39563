//! The schedule of the next step, by the rules of vLLM V1.

use std::collections::VecDeque;

use super::kv_cache::{KvCache, tokens};
use super::plan::Plan;
use super::sequence::Sequence;
use rooflut::engine::{LonePrefill, PadSpecDecode, Scheduling, SelfPreemption, VictimIndex, VictimToken};
use rooflut::model::Span;
use rooflut::sim::{PrefixCaching, SchedulingPolicy, SimConfig};

/// The queue, the running requests and the KV cache they share.
#[derive(Debug)]
pub(crate) struct Scheduler {
    config: SimConfig,
    pub(crate) kv: KvCache,
    /// First come first served; preempted requests go to the front.
    pub(crate) waiting: VecDeque<Sequence>,
    /// The steps with the last token of requests that were preempted while these are in flight, and the requests.
    ending: Vec<(u64, usize)>,
    /// The last step that has ended.
    ended: u64,
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
            kv: KvCache::new(&config),
            waiting: VecDeque::new(),
            ending: Vec::new(),
            ended: 0,
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

    /// Returns the load by which vLLM routes requests to data-parallel ranks, `arriving` more requests included.
    pub(crate) fn load(&self, arriving: usize) -> usize {
        4 * (self.waiting.len() + self.ending.len() + arriving) + self.running.len()
    }

    /// Returns the number of requests in the queue as vLLM counts them: until their last token has come.
    pub(crate) fn queued(&self) -> u32 {
        (self.waiting.len() + self.ending.len()) as u32
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
            SchedulingPolicy::Priority => indices.min_by_key(|index| (of(index).asked.priority, of(index).order)),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the position of the running request that is preempted next.
    fn victim(&self) -> usize {
        let indices = 0..self.running.len();
        let last = match self.config.policy {
            SchedulingPolicy::Priority => indices.max_by_key(|index| {
                let sequence = &self.running[*index];
                (sequence.asked.priority, sequence.order)
            }),
            _ => indices.max(),
        };
        last.unwrap()
    }

    /// Fixes the work of the next step.
    ///
    /// The step may turn out empty when every running request has its last token scheduled.
    pub(crate) fn plan(&mut self, plan: &mut Plan) {
        self.scheduled_steps += 1;
        plan.reset(self.scheduled_steps);
        self.ending.retain(|(last, _)| *last > self.ended);
        let threshold = self.threshold();
        for sequence in &mut self.running {
            sequence.last_output_is_known(plan.number);
        }
        let budget = self.config.max_num_batched_tokens;
        let budget = self.serve_running(plan, budget, threshold);
        if plan.preempted.is_empty() {
            self.admit_waiting(plan, budget, threshold);
        }
    }

    /// Releases the requests that finished in `plan`, which has ended.
    pub(crate) fn retire(&mut self, plan: &Plan) {
        self.ended = plan.number;
        let number = Some(plan.number);
        while let Some(index) = self.running.iter().position(|s| s.last_step == number) {
            let mut sequence = self.running.remove(index);
            // Synchronous engines register no block when they free it.
            sequence.ended();
            self.let_go(sequence);
        }
    }

    /// Aborts the requests without a token that have arrived by `latest_ns`; returns which.
    pub(crate) fn abort(&mut self, latest_ns: u64) -> Vec<usize> {
        let gives_up = |sequence: &Sequence| sequence.asked.arrival_ns <= latest_ns && !sequence.has_token();
        let mut aborted = Vec::new();
        while let Some(place) = self.running.iter().position(gives_up) {
            let sequence = self.running.remove(place);
            aborted.push(self.let_go(sequence).request);
        }
        while let Some(place) = self.waiting.iter().position(gives_up) {
            aborted.extend(self.waiting.remove(place).map(|sequence| sequence.request));
        }
        aborted
    }

    /// Aborts a request; returns whether it was here.
    pub(crate) fn cancel(&mut self, index: usize) -> bool {
        let is_it = |sequence: &Sequence| sequence.request == index;
        if let Some(place) = self.running.iter().position(is_it) {
            let mut sequence = self.running.remove(place);
            sequence.last_output_is_known(self.scheduled_steps + 1);
            self.let_go(sequence);
            return true;
        }
        let before = self.waiting.len() + self.ending.len();
        self.waiting.retain(|sequence| !is_it(sequence));
        self.ending.retain(|(last, of)| *of != index || *last <= self.ended);
        self.waiting.len() + self.ending.len() < before
    }

    /// Its blocks are free; those that can be found keep their contents.
    fn let_go(&mut self, mut sequence: Sequence) -> Sequence {
        self.fill(&sequence);
        for blocks in &mut sequence.blocks {
            self.kv.release(std::mem::take(blocks).into_iter().flatten());
        }
        self.kv.release(std::mem::take(&mut sequence.states).into_iter());
        sequence
    }

    /// The blocks that a request has filled can be found.
    fn fill(&mut self, sequence: &Sequence) {
        if self.config.prefix_caching == PrefixCaching::Disabled {
            return;
        }
        let block_size = self.config.block_size;
        for (group, blocks) in sequence.blocks.iter().enumerate() {
            for (block, end) in blocks.iter().zip(ends(sequence, block_size)) {
                if let Some(block) = block
                    && end <= sequence.known
                {
                    let tokens = tokens(&sequence.asked, sequence.request, &self.listed, end);
                    self.kv.fill(*block, group, tokens);
                }
            }
        }
    }

    /// The most tokens of one request in the next step.
    fn threshold(&self) -> u32 {
        let requests = self.running.len() + self.waiting.len() + self.ending.len();
        let lifted = requests <= 1 && self.config.rules.lone_prefill == LonePrefill::Budget;
        match self.config.long_prefill_token_threshold {
            Some(threshold) if !lifted => threshold,
            _ => u32::MAX,
        }
    }

    /// Tokens of the budget that each request takes beyond its own.
    fn slots(&self) -> u32 {
        let own_model = self.config.speculation.is_some_and(|of| of.lookahead_tokens() > 0 && !of.is_mtp());
        u32::from(self.config.rules.draft_slot && own_model)
    }

    /// Drafts that follow the tokens of a running request whose prompt is cut: a draft model has drafted after the
    /// chunk before.
    fn chunk_drafts(&self, sequence: &Sequence) -> u32 {
        let rules = self.config.rules;
        let applies = rules.chunk_drafts && rules.scheduling == Scheduling::Synchronous;
        match self.config.speculation {
            Some(speculation) if applies && sequence.is_partial() => speculation.lookahead_tokens(),
            _ => 0,
        }
    }

    /// The tokens up to `end`, and those that a draft model writes beyond.
    fn with_lookahead(&self, end: u32) -> u32 {
        let room = self.config.max_model_len.saturating_sub(end);
        let drafted = self.config.speculation.map_or(0, |of| of.lookahead_tokens());
        end + drafted.min(room)
    }

    /// Gives running requests their tokens in the order of admission; returns the budget left.
    ///
    /// Line by line the loop of `schedule` in vLLM, which computes tokens only once all are given.
    fn serve_running(&mut self, plan: &mut Plan, mut budget: u32, threshold: u32) -> u32 {
        let (rules, slots) = (self.config.rules, self.slots());
        let mut given: Vec<(usize, u32)> = Vec::new();
        let mut index = 0;
        while index < self.running.len() && budget > slots {
            let sequence = &self.running[index];
            let request = sequence.request;
            let positions = self.config.max_model_len - 1;
            let pipelined = self.config.pipeline_parallel_size > 1;
            if pipelined && sequence.awaits_token(self.ended) {
                index += 1;
                continue;
            }
            let tokens = (sequence.pending(plan.number) + self.chunk_drafts(sequence))
                .min(threshold)
                .min(budget - slots)
                .min(positions.saturating_sub(sequence.believed(plan.number)));
            if tokens == 0 {
                index += 1;
                continue;
            }
            let mut preempted_itself = false;
            while !preempted_itself && !self.allocate(request, tokens, plan.number) {
                let place = self.victim();
                let victim = self.running[place].request;
                let had = given.iter().position(|(of, _)| *of == victim).map_or(0, |at| given.remove(at).1);
                if rules.victim_token == VictimToken::TakenBack && had > 0 {
                    budget += had + slots;
                }
                match rules.victim_index {
                    VictimIndex::MovesIfScheduled if had > 0 => index -= 1,
                    VictimIndex::Moves if place < index => index -= 1,
                    _ => {}
                }
                self.preempt(plan, place, had);
                preempted_itself = victim == request;
            }
            if preempted_itself {
                let priority = self.config.policy == SchedulingPolicy::Priority;
                match rules.self_preemption {
                    SelfPreemption::Continues if priority => continue,
                    _ => break,
                }
            }
            given.push((request, tokens));
            budget -= tokens + slots;
            index += 1;
        }
        for sequence in &mut self.running {
            if let Some((_, tokens)) = given.iter().find(|(of, _)| *of == sequence.request) {
                plan.add(sequence, *tokens);
            }
        }
        budget
    }

    /// Takes the blocks for `tokens` more of a running request, if there are enough.
    fn allocate(&mut self, request: usize, tokens: u32, step: u64) -> bool {
        let place = self.running.iter().position(|s| s.request == request);
        let mut sequence = self.running.remove(place.unwrap());
        self.slide(&mut sequence, step);
        let end = sequence.believed(step) + tokens;
        let own = blocks_for(&sequence, self.with_lookahead(end), self.config.block_size);
        let missing = own.saturating_sub(sequence.blocks[0].len() as u32) as usize;
        let blocks = self.kv.take((missing * sequence.blocks.len()) as u32);
        let fits = blocks.is_some();
        if let Some(blocks) = blocks {
            let mut blocks = blocks.into_iter();
            for group in &mut sequence.blocks {
                group.extend(blocks.by_ref().take(missing).map(Some));
            }
            sequence.expect(tokens, step);
            self.fill(&sequence);
        }
        self.running.insert(place.unwrap(), sequence);
        fits
    }

    /// Frees the blocks that the tokens of `step` do not read.
    fn slide(&mut self, sequence: &mut Sequence, step: u64) {
        let given = sequence.cached / self.config.block_size;
        let skipped = self.kv.skipped(sequence.processed(step));
        for group in &self.kv.groups.limited.clone() {
            let blocks = &mut sequence.blocks[*group];
            let skipped = skipped.saturating_sub(given).min(blocks.len() as u32);
            let skipped = blocks[..skipped as usize].iter_mut();
            // `release` begins with the last.
            let freed: Vec<usize> = skipped.filter_map(Option::take).collect();
            self.kv.release(freed.into_iter());
        }
    }

    /// Takes the blocks of a running request and sends it back to the queue; it had `tokens` of the step.
    fn preempt(&mut self, plan: &mut Plan, place: usize, tokens: u32) {
        let victim = self.running.remove(place);
        let mut victim = self.let_go(victim);
        plan.preempted.push(victim.request);
        // The last token may be on its way (`OneStepAhead`): then nothing is left to compute.
        if victim.is_complete() {
            self.ending.extend(victim.last_step.map(|last| (last, victim.request)));
            return;
        }
        let computed = self.config.rules.victim_token == VictimToken::Computed;
        let counted = if computed { tokens } else { 0 };
        if counted > 0 {
            plan.add_lost(counted);
        }
        victim.restart(counted);
        self.waiting.push_front(victim);
    }

    /// Admits from the head of the queue while budget, slots and blocks last.
    fn admit_waiting(&mut self, plan: &mut Plan, mut budget: u32, threshold: u32) {
        let (rules, slots) = (self.config.rules, self.slots());
        let drops = rules.mtp_drops_block && self.config.speculation.is_some_and(|of| of.is_mtp());
        let block_size = self.config.block_size;
        let drafted = self.config.speculation.map_or(0, |of| of.draft_tokens());
        let (given, prefills) = (!plan.is_empty(), plan.has_chunks());
        while budget > slots
            && self.running.len() < self.config.max_num_seqs as usize
            && let Some(turn) = self.turn()
        {
            let sequence = &mut self.waiting[turn];
            let findable = ends(sequence, block_size).take_while(|end| *end <= sequence.findable());
            let wanted = findable.map(|end| tokens(&sequence.asked, sequence.request, &self.listed, end));
            let wanted: Vec<_> = wanted.collect();
            let before = sequence.cached / block_size;
            let mut hits = match sequence.counted {
                0 => self.kv.hits(&wanted, before as usize),
                _ => vec![Vec::new(); self.kv.groups.count()],
            };
            if drops {
                for hits in &mut hits {
                    hits.pop();
                }
            }
            let found = hits[0].len() as u32;
            sequence.found(sequence.cached + found * block_size);
            let skipped = match sequence.counted {
                0 => self.kv.skipped(sequence.computed).saturating_sub(before),
                _ => 0,
            };
            for group in &self.kv.groups.limited {
                for hit in hits[*group].iter_mut().take(skipped as usize) {
                    *hit = None;
                }
                let length = hits[*group].len().max(skipped as usize);
                hits[*group].resize(length, None);
            }
            let (computed, pending) = (sequence.computed, sequence.pending(plan.number));
            let mut new = pending.min(threshold).min(budget - slots);
            // It counts as a decode, which verifies drafts.
            if drafted > 0 && pending == 1 && !prefills {
                let padded = 1 + drafted;
                let pads = match rules.pad_spec_decode {
                    PadSpecDecode::WithRunning if given && computed + padded > self.config.max_model_len => return,
                    PadSpecDecode::WithRunning => given,
                    PadSpecDecode::Always => (given || computed > 0) && computed + padded < self.config.max_model_len,
                    _ => false,
                };
                if pads && padded > budget - slots {
                    return;
                }
                if pads {
                    new = padded;
                }
            }
            let end = if rules.admission_lookahead { self.with_lookahead(computed + new) } else { computed + new };
            let sequence = &mut self.waiting[turn];
            let own = blocks_for(sequence, end, block_size);
            let lacking = |own: u32, cap: u32| -> u32 {
                let lacking = |(group, hits): (usize, &Vec<Option<usize>>)| {
                    let limited = self.kv.groups.limited.contains(&group);
                    let own = if limited { own.min(cap.saturating_sub(before)) } else { own };
                    own.saturating_sub(hits.len() as u32)
                };
                hits.iter().enumerate().map(lacking).sum()
            };
            let needed = if rules.scheduler_reserve_full_isl {
                let prompt = blocks_for(sequence, computed + pending, block_size);
                lacking(own, u32::MAX).max(lacking(prompt, most_limited(&self.config)))
            } else {
                lacking(own, u32::MAX)
            };
            let kept_free = if self.running.is_empty() {
                0
            } else {
                (self.config.watermark * f64::from(self.config.kv_blocks + 1)) as u32
            };
            let states = self.config.kv_groups.states;
            if !self.kv.fits(&hits, needed + states + kept_free) {
                return;
            }
            self.kv.touch(&hits);
            sequence.states = self.kv.take(states).unwrap();
            for group in &mut hits {
                let new = own.saturating_sub(group.len() as u32);
                group.extend(self.kv.take(new).unwrap().into_iter().map(Some));
            }
            sequence.blocks = hits;
            sequence.expect(new, plan.number);
            plan.add(sequence, new);
            plan.admitted.push((sequence.request, sequence.cached + found * block_size));
            budget -= new + slots;
            let sequence = self.waiting.remove(turn).unwrap();
            self.fill(&sequence);
            self.running.push(sequence);
        }
    }
}

/// The most blocks that a request holds in a group with a window or chunks.
fn most_limited(config: &SimConfig) -> u32 {
    let ahead = config.rules.window_in_flight && config.rules.scheduling == Scheduling::OneStepAhead;
    let in_flight = config.max_num_batched_tokens * if ahead { 2 } else { 1 };
    match config.kv_groups.span {
        Span::Window(window) => (window - 1 + in_flight).div_ceil(config.block_size) + 1,
        Span::Chunk(chunk) => (chunk + in_flight).div_ceil(config.block_size),
        _ => u32::MAX,
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
