//! Reports of a server on its steps.

use super::{RequestId, Server, ServerEvent};
use crate::sim::Progress;
use crate::sim::observer::{Observer, StepRecord};

impl<M> Server<M> {
    /// Reports the first tokens of the current step, which ends now.
    #[inline]
    pub(super) fn report_first_tokens(&mut self) {
        let (at_ns, step) = (self.now_ns, &self.current);
        if step.first_tokens.is_empty() {
            return;
        }
        let prompts = step.first_tokens.len() + step.resumed.len();
        let decoding = step.decode.requests.saturating_sub(step.overrun);
        let outputs = prompts as u64 + u64::from(decoding);
        let api_output_ns = self.config.api_output_ns.saturating_mul(outputs);
        self.scheduler.first_tokens(step, at_ns, api_output_ns);
        for &(index, _) in &step.first_tokens {
            let id = RequestId(index);
            self.events.push(ServerEvent::FirstToken { id, at_ns });
        }
    }

    /// Reports the gaps of interrupted requests that have their next token in the current step.
    pub(super) fn report_resumed<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        for &index in self.current.resumed.iter().chain(&self.current.late) {
            if let Some(gap_ns) = self.interrupted.remove(index, self.now_ns) {
                observer.resumed(index, gap_ns);
            }
        }
    }

    /// Records that the requests that the next step preempts or leaves out have had their last token now.
    #[inline]
    pub(super) fn record_interrupted(&mut self) {
        if !self.next.interrupted.is_empty() {
            let indices = self.next.interrupted.drain(..);
            self.interrupted.add(indices, self.now_ns);
        }
    }

    #[inline]
    pub(super) fn count(&mut self, step: &StepRecord) {
        let blocks = self.scheduler.kv().used();
        let running = self.scheduler.running() as u32;
        self.totals.step(step, running, blocks);
    }

    /// Returns the record of a step with the state of the server.
    pub(super) fn with_state(&self, step: &StepRecord) -> StepRecord {
        StepRecord {
            replica: self.replica,
            running: self.scheduler.running() as u32,
            waiting: self.scheduler.waiting() as u32,
            kv_blocks_used: self.scheduler.kv().used(),
            ..*step
        }
    }

    /// Lists the requests that have tokens of the step in flight and those that were preempted for it. Must be
    /// called before the next step is scheduled.
    pub(super) fn fill_buffers(&mut self) {
        let plan = &self.current;
        let id = |index: &usize| RequestId(*index);
        let from_chunks = || {
            let first = plan.first_tokens.iter().map(|(index, _)| index);
            first.chain(&plan.resumed)
        };
        let verified = plan.verified.iter().map(|(index, yielded)| (id(index), *yielded));
        let tokens = &mut self.buffers.tokens;
        tokens.clear();
        tokens.extend(from_chunks().map(|index| (id(index), 1)));
        tokens.extend(verified);
        if self.config.speculation.is_none() && !self.config.is_pipelined() {
            let decoding = self.scheduler.decoding_in(plan.number());
            tokens.extend(decoding.map(|index| (RequestId(index), 1)));
            // The last token of a request comes from its decode, or from the only chunk that yields one.
            let finished = plan.finished.iter().map(|(index, _)| index);
            let decoded = finished.filter(|index| from_chunks().all(|other| other != *index));
            tokens.extend(decoded.map(|index| (id(index), 1)));
        }
        self.buffers.preempted.clear();
        let preempted = plan.preempted_before.iter().chain(&plan.preempted);
        self.buffers.preempted.extend(preempted.map(id));
    }

    /// Returns the progress of a run of this server.
    pub(in crate::sim) fn progress(&self, total: Option<u64>) -> Progress {
        Progress {
            now_ns: self.now_ns,
            steps: self.totals.steps,
            total,
            completed: self.totals.completed,
            rejected: self.totals.rejected,
            waiting: self.scheduler.waiting() as u64,
            running: self.scheduler.running() as u64,
            kv_blocks_used: self.scheduler.kv().used(),
        }
    }
}
