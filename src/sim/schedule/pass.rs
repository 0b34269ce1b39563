//! Steps in which running requests are visited one by one: blocks or budget do not suffice for all, drafts are verified,
//! or the requests are divided among several batches in flight.

use core::mem;

use crate::engine::{Scheduling, SelfPreemption, VictimIndex, VictimToken};
use crate::sim::SchedulingPolicy;
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::running::Admitted;
use crate::sim::schedule::scheduler::Scheduler;
use crate::sim::schedule::sequence::{InFlight, Sequence};
use crate::step::Chunk;

/// A running request in a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    admitted: Admitted,
    /// Its tokens in the step; 0 if the pass has not reached it, or it can take none.
    tokens: u32,
}

impl Scheduler {
    /// Schedules the tokens of running requests in order of admission, and preempts requests for the blocks of others;
    /// returns the remaining budget.
    ///
    /// Follows the loop over `self.running` in `schedule` of `vllm/v1/core/sched/scheduler.py`.
    #[inline(never)]
    pub(super) fn serve_in_order(&mut self, plan: &mut Plan, threshold: u32) -> u32 {
        let (step, rules) = (plan.number(), self.config.rules);
        let by_priority = self.config.policy == SchedulingPolicy::Priority;
        let slots = self.config.draft_slots();
        let mut budget = self.config.max_num_batched_tokens;
        let mut turns = mem::take(&mut self.turns);
        turns.clear();
        let turn = |admitted| Turn { admitted, tokens: 0 };
        turns.extend(self.running.in_order().map(turn));
        let mut index = 0;
        while budget > slots
            && let Some(&Turn { admitted, .. }) = turns.get(index)
        {
            let tokens = self.wanted(admitted, threshold, step).min(budget - slots);
            if tokens == 0 {
                index += 1;
                continue;
            }
            // Its position in `turns`, where `index` does not follow all removals; `None` once it is preempted itself.
            let mut position = Some(index);
            while let Some(own) = position
                && !self.take_blocks(admitted, tokens, step)
            {
                let victim = self.victim(&turns).unwrap_or(own);
                let turn = turns.remove(victim);
                self.preempt(plan, turn);
                if rules.victim_token == VictimToken::TakenBack && turn.tokens > 0 {
                    budget += turn.tokens + slots;
                }
                let moves = match rules.victim_index {
                    VictimIndex::Stays => false,
                    VictimIndex::MovesIfScheduled => turn.tokens > 0,
                    VictimIndex::Moves => victim < own,
                };
                index -= usize::from(moves);
                position = (victim != own).then_some(own - usize::from(victim < own));
            }
            if let Some(turn) = position.and_then(|own| turns.get_mut(own)) {
                turn.tokens = tokens;
                budget -= tokens + slots;
                index += 1;
            } else if !by_priority || rules.self_preemption == SelfPreemption::EndsPass {
                break;
            }
        }
        self.apply(plan, &turns);
        self.turns = turns;
        budget
    }

    /// Returns the tokens that a running request can take in a step; 0 if its last token is scheduled.
    ///
    /// The tokens that a step in flight accepts are not known yet: a request verifies drafts once more unless that step
    /// certainly has its last token (`num_output_placeholders` of vLLM's scheduler).
    pub(super) fn wanted(&self, admitted: Admitted, threshold: u32, step: u64) -> u32 {
        let Some(sequence) = self.running.get(admitted) else {
            return 0;
        };
        let in_flight = self.in_flight(sequence, step);
        let tokens = match sequence.pending() {
            0 if sequence.surely_ends(in_flight) || self.awaits_token(sequence) => 0,
            0 => 1 + self.config.draft_tokens(),
            pending => pending + self.config.chunk_drafts(),
        };
        // Drafts have positions before the last one of the context.
        let positions = self.config.max_model_len - 1;
        let room = positions.saturating_sub(sequence.computed() + in_flight.unused);
        tokens.min(threshold).min(room)
    }

    /// Returns the tokens of a request in the step in flight when `step` is scheduled.
    fn in_flight(&self, sequence: &Sequence, step: u64) -> InFlight {
        match (self.config.rules.scheduling, self.config.speculation) {
            (Scheduling::Synchronous, _) => InFlight::default(),
            (Scheduling::OneStepAhead, None) => sequence.decoded_in_flight(step),
            (Scheduling::OneStepAhead, Some(_)) => sequence.verified_in_flight(step),
        }
    }

    /// Takes the blocks that a running request needs for `tokens` in `step`, and registers the full ones; returns
    /// whether there were enough.
    pub(super) fn take_blocks(&mut self, admitted: Admitted, tokens: u32, step: u64) -> bool {
        let Some(sequence) = self.running.get(admitted) else {
            return false;
        };
        let in_flight = self.in_flight(sequence, step);
        let Some(sequence) = self.running.get_mut(admitted) else {
            return false;
        };
        self.kv.slide(sequence, step, in_flight.unused);
        sequence.catch_up(step, self.config.block_size);
        // As if all drafts in flight were accepted.
        if !self.kv.grow(sequence, in_flight.unused + tokens) {
            return false;
        }
        sequence.expect(tokens, in_flight.yielded);
        self.kv.register_full(sequence);
        true
    }

    /// Returns the position of the request that is preempted next: the last one, or the least urgent of all, those
    /// included that have their tokens.
    fn victim(&self, turns: &[Turn]) -> Option<usize> {
        if self.config.policy != SchedulingPolicy::Priority {
            return turns.len().checked_sub(1);
        }
        let urgency = |turn: &Turn| {
            let sequence = self.running.get(turn.admitted);
            sequence.map(|sequence| (sequence.request.priority, sequence.order))
        };
        let turns = turns.iter().enumerate();
        let least = turns.max_by_key(|(_, turn)| urgency(turn));
        least.map(|(position, _)| position)
    }

    /// Excludes the tokens that a request samples in the step before `step` from those whose blocks others can find: vLLM
    /// registers a decoded token with the next step that computes one, and `step` does not.
    pub(super) fn forget_unknown(&self, sequence: &mut Sequence, step: u64) {
        if self.config.rules.scheduling == Scheduling::OneStepAhead || self.caches_at_end() {
            let in_flight = self.in_flight(sequence, step);
            sequence.forget_in_flight(in_flight.yielded);
        }
    }

    /// Frees the blocks of a running request and returns it to the queue.
    fn preempt(&mut self, plan: &mut Plan, turn: Turn) {
        let (step, rules) = (plan.number(), self.config.rules);
        let Some(mut victim) = self.running.remove(turn.admitted, step) else {
            return;
        };
        if turn.tokens == 0 {
            self.forget_unknown(&mut victim, step);
        }
        plan.preempted.push(victim.index);
        victim.timing.preemptions += 1;
        if victim.is_complete() {
            // The step with its last token is in flight: nothing is left to compute.
            self.kv.release(&mut victim);
            self.ending.push((turn.admitted, victim));
            return;
        }
        if victim.has_token() && !self.config.is_pipelined() {
            plan.interrupted.push(victim.index);
        }
        let mut counted = 0;
        if rules.victim_token == VictimToken::Computed && turn.tokens > 0 {
            // The scheduler has set its computed tokens to 0 before it adds those of the step.
            plan.add_chunk(Chunk { new: turn.tokens, kv_len: turn.tokens, last: false });
            // Drafts count as rejected, and with them the token before.
            let own = victim.pending().max(1);
            counted = if turn.tokens > own { own - 1 } else { turn.tokens };
        }
        victim.lose(turn.tokens, counted);
        self.kv.release_preempted(&mut victim);
        victim.restart();
        self.waiting.push_preempted(victim);
    }

    /// Schedules the tokens of a pass.
    fn apply(&mut self, plan: &mut Plan, turns: &[Turn]) {
        let step = plan.number();
        let were_left_out = mem::take(&mut self.left_out);
        for turn in turns.iter().filter(|turn| turn.tokens == 0) {
            self.leave_out(plan, turn.admitted);
        }
        self.advance_decodes(plan);
        for &Turn { admitted, tokens } in turns {
            let Some(sequence) = self.running.get(admitted) else {
                continue;
            };
            if tokens == 0 {
                if sequence.left_out_of == step && !self.visits_each() {
                    self.running.decode_from(admitted, step + 1);
                }
            } else if sequence.pending() > 0 {
                let new = tokens.min(sequence.pending());
                if self.schedule_chunk(plan, admitted, new, tokens - new) {
                    self.running.partial.retain(|partial| *partial != admitted);
                }
            } else {
                if were_left_out && sequence.left_out_of + 1 == step {
                    plan.late.push(sequence.index);
                }
                self.verify(plan, admitted, tokens - 1);
            }
        }
    }

    /// Notes that the step has no token for a request, if it decodes.
    fn leave_out(&mut self, plan: &mut Plan, admitted: Admitted) {
        if self.config.is_pipelined() {
            // It is in another batch, and the gap to its next token is measured.
            return;
        }
        let (step, ahead) = (plan.number(), self.verifies_ahead());
        let Some(sequence) = self.running.get_mut(admitted) else {
            return;
        };
        if sequence.pending() > 0 {
            return;
        }
        if ahead {
            let in_flight = sequence.verified_in_flight(step);
            sequence.forget_in_flight(in_flight.yielded);
            self.kv.register_full(sequence);
        }
        if sequence.is_complete() {
            return;
        }
        sequence.left_out_of = step;
        plan.interrupted.push(sequence.index);
        self.left_out = true;
        if sequence.decodes_from.is_some() {
            self.running.leave_decode(admitted, step);
        }
    }

    /// Schedules a token of a decoding request that is visited, and the verification of `drafted` ones before it.
    fn verify(&mut self, plan: &mut Plan, admitted: Admitted, drafted: u32) {
        if !self.visits_each() {
            return;
        }
        let Some(sequence) = self.running.get(admitted) else {
            return;
        };
        let in_flight = self.in_flight(sequence, plan.number());
        let Some(sequence) = self.running.get_mut(admitted) else {
            return;
        };
        // The step itself computes what follows the accepted drafts.
        let computed = sequence.computed() + in_flight.beyond;
        let outside_tokens = self.config.kv_groups.span.outside(computed);
        plan.verify(computed, drafted, outside_tokens);
        if sequence.is_complete() {
            plan.overrun += 1;
            return;
        }
        let accepted =
            self.config.speculation.map_or(0, |speculation| speculation.accepted(sequence.index, sequence.generated()));
        let accepted = accepted.min(drafted);
        plan.drafted += drafted;
        plan.accepted += accepted;
        let yielded = sequence.accept(accepted, drafted, plan.number());
        sequence.blocks.set_tokens(plan.number(), drafted + 1);
        match self.config.speculation {
            Some(_) => plan.yielded += yielded,
            // The duration of its batch is not the gap to its last token.
            None => plan.late.push(sequence.index),
        }
        plan.verified.push((sequence.index, yielded));
        if sequence.is_complete() {
            self.finish(plan, admitted);
        }
    }
}
