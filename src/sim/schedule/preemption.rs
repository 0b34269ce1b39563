//! Steps in which requests are visited one by one: those that preempt, and those that verify drafts.

use core::mem;

use crate::engine::Scheduling;
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::running::Admitted;
use crate::sim::schedule::scheduler::Scheduler;
use crate::sim::{SchedulingPolicy, Speculation};

impl Scheduler {
    /// Takes the blocks that decoding requests need in this step, in order of admission, and preempts others until
    /// there are enough.
    pub(super) fn grow_or_preempt(&mut self, plan: &mut Plan) {
        let step = plan.number();
        self.for_each_running(|scheduler, admitted| {
            let grows = scheduler.running.grows(admitted, step);
            // It stops running when it is preempted itself.
            while grows
                && scheduler.running.get(admitted).is_some()
                && !scheduler.kv.pool.take_unregistered(1)
            {
                scheduler.preempt_for(plan, admitted);
            }
        });
    }

    /// Schedules the verification of drafts for each decoding request.
    pub(super) fn schedule_verification(&mut self, plan: &mut Plan, speculation: Speculation) {
        plan.decode.drafted = speculation.draft_tokens();
        self.for_each_running(|scheduler, admitted| {
            if !scheduler.make_room(plan, admitted, 1 + speculation.draft_tokens()) {
                return;
            }
            let Some(sequence) = scheduler.running.get_mut(admitted) else {
                return;
            };
            plan.verify(sequence.computed());
            // Its drafts are not registered, and accepted ones with the next step.
            sequence.set_known(sequence.computed() + 1);
            scheduler.kv.register_full(sequence);
            let accepted = speculation.accepted(sequence.index, sequence.generated());
            plan.accepted += accepted;
            let yielded = sequence.accept(accepted);
            plan.yielded += yielded;
            plan.verified.push((sequence.index, yielded));
            if sequence.is_complete() {
                scheduler.finish(plan, admitted);
            }
        });
    }

    /// Takes the blocks that a decoding request needs for `tokens` more, and preempts others until there are
    /// enough. Returns false if the request does not decode, or was preempted itself.
    fn make_room(&mut self, plan: &mut Plan, admitted: Admitted, tokens: u32) -> bool {
        while let Some(sequence) = self.running.get_mut(admitted)
            && sequence.decodes()
        {
            if self.kv.grow(sequence, tokens) {
                return true;
            }
            self.preempt_for(plan, admitted);
        }
        false
    }

    /// Calls `visit` with each running request, in order of admission; some may be preempted by then.
    fn for_each_running(&mut self, mut visit: impl FnMut(&mut Scheduler, Admitted)) {
        let mut visited = mem::take(&mut self.visited);
        visited.clear();
        visited.extend(self.running.in_order());
        for &admitted in &visited {
            visit(self, admitted);
        }
        self.visited = visited;
    }

    /// Preempts a request so that `first` can grow: `first` itself or one that is visited after it.
    fn preempt_for(&mut self, plan: &mut Plan, first: Admitted) {
        let victim = match self.config.policy {
            SchedulingPolicy::Priority => {
                let candidates = self.running.in_order().filter(|other| *other >= first);
                candidates.max_by_key(|admitted| {
                    let sequence = self.running.get(*admitted);
                    sequence.map(|sequence| (sequence.request.priority, sequence.order))
                })
            }
            SchedulingPolicy::Fcfs | SchedulingPolicy::ShortestPrompt => self.running.last(),
        };
        self.preempt(plan, victim.unwrap_or(first));
    }

    /// Frees the blocks of a running request and returns it to the queue.
    pub(super) fn preempt(&mut self, plan: &mut Plan, admitted: Admitted) {
        let Some(mut victim) = self.running.remove(admitted, plan.number()) else {
            return;
        };
        if self.config.rules.scheduling == Scheduling::OneStepAhead {
            // vLLM registers a decoded token with the next step that computes one, and this step does not.
            victim.forget_in_flight();
        }
        plan.preempted.push(victim.index);
        victim.timing.preemptions += 1;
        if victim.is_complete() {
            // The step with its last token is in flight: nothing is left to compute.
            self.kv.release(&mut victim);
            self.ending.push((admitted, victim));
            return;
        }
        if victim.has_token() {
            plan.interrupted.push(victim.index);
        }
        self.kv.release_preempted(&mut victim);
        victim.restart();
        self.waiting.push_preempted(victim);
    }
}
