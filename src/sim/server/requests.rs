//! How requests enter and leave a server.

use super::{RequestId, Server, ServerEvent};
use crate::sim::load::arrived::Arrived;
use crate::sim::{Outcome, Rejection, Request, RequestRecord, Role};

impl<M> Server<M> {
    /// Adds a request that arrives now to the queue; rejects it if it can never be served, its client has given up, or
    /// the queue is full.
    #[inline]
    fn receive(&mut self, mut arrived: Arrived) -> Result<(), Rejection> {
        arrived.with_kv = self.config.role == Role::Decode;
        let checked = match self.config.role {
            Role::Whole | Role::Prefill => self.config.check(&arrived.request),
            // It was checked before its prompt was computed.
            Role::Decode => Ok(()),
        };
        checked.and_then(|()| self.check_client(&arrived.request)).and_then(|()| self.check_queue())?;
        let output_tokens = self.config.served_output(&arrived.request);
        self.totals.truncated += u64::from(output_tokens < arrived.request.output_tokens);
        arrived.request.output_tokens = output_tokens;
        self.queued_tokens += arrived.request.tokens();
        self.scheduler.enqueue(arrived);
        Ok(())
    }

    /// Checks that the client still waits: the API server may have taken longer than its patience.
    fn check_client(&self, request: &Request) -> Result<(), Rejection> {
        match (self.config.patience_ns, self.config.impatient_ns(self.now_ns)) {
            (Some(patience_ns), Some(latest_ns)) if request.arrival_ns <= latest_ns => {
                Err(Rejection::Abandoned { patience_ns })
            }
            _ => Ok(()),
        }
    }

    fn check_queue(&self) -> Result<(), Rejection> {
        match self.config.max_waiting {
            Some(max_waiting) if self.scheduler.waiting() >= max_waiting as usize => {
                Err(Rejection::QueueFull { max_waiting })
            }
            _ => Ok(()),
        }
    }

    /// Aborts the requests that were cancelled or whose clients have given up by now, then receives those that have
    /// arrived.
    #[inline]
    pub(in crate::sim) fn take_arrivals(&mut self) {
        if !self.cancelled.is_empty() {
            self.abort_cancelled();
        }
        if let Some(patience_ns) = self.config.patience_ns {
            self.abort_abandoned(patience_ns);
        }
        if self.inbox.is_due(self.now_ns) {
            self.take_due();
        }
    }

    #[inline(never)] // Most steps begin without an arrival.
    fn take_due(&mut self) {
        while let Some(arrived) = self.inbox.take(self.now_ns) {
            let Arrived { index, request, .. } = arrived;
            if !self.cancelled.is_empty() && self.cancelled.remove(&index) {
                self.report_rejected(index, request, Rejection::Cancelled);
                continue;
            }
            if let Err(reason) = self.receive(arrived) {
                self.report_rejected(index, request, reason);
            }
        }
    }

    /// Aborts the requests whose clients have given up by now.
    fn abort_abandoned(&mut self, patience_ns: u64) {
        while let Some((index, request)) = self.scheduler.abandon(self.now_ns) {
            self.queued_tokens -= request.tokens();
            self.report_rejected(index, request, Rejection::Abandoned { patience_ns });
        }
    }

    /// Returns when the first client gives up that waits for a token, if clients give up.
    #[inline]
    pub(super) fn gives_up_ns(&self) -> Option<u64> {
        let patience_ns = self.config.patience_ns?;
        Some(self.scheduler.first_client_ns()?.saturating_add(patience_ns))
    }

    /// Rejects the first request of the queue, which does not fit into an empty KV cache.
    ///
    /// [`SimConfig::check`](crate::sim::SimConfig::check) keeps such requests out of the queue; a server that
    /// has one all the same goes on without it.
    #[cold]
    pub(super) fn reject_first_waiting(&mut self) {
        let Some((index, request)) = self.scheduler.remove_first_waiting() else {
            return;
        };
        self.queued_tokens -= request.tokens();
        let reason =
            Rejection::TooManyBlocks { blocks: self.config.blocks_for(&request), kv_blocks: self.config.kv_blocks };
        self.report_rejected(index, request, reason);
    }

    pub(super) fn report_rejected(&mut self, index: usize, request: Request, reason: Rejection) {
        self.totals.rejected(reason);
        self.events.push(ServerEvent::Finished {
            id: RequestId(index),
            at_ns: self.now_ns,
            record: RequestRecord::new(request, Outcome::Rejected(reason)),
        });
    }

    /// Removes the requests whose last token the current step yields.
    #[inline]
    pub(super) fn retire_finished(&mut self) {
        if !self.current.finished.is_empty() {
            self.retire_all();
        }
    }

    fn retire_all(&mut self) {
        if !self.cancelled.is_empty() {
            self.keep_finished();
        }
        let at_ns = self.now_ns;
        for &(index, admitted) in &self.current.finished {
            if let Some(record) = self.scheduler.retire(admitted, at_ns, self.replica) {
                self.totals.served(&record);
                self.queued_tokens -= record.request.tokens();
                let id = RequestId(index);
                self.events.push(ServerEvent::Finished { id, at_ns, record });
            }
        }
    }

    /// Calls `report` with the index, the record and the time of each request that has finished since the last
    /// call, and drops the events.
    #[inline]
    pub(in crate::sim) fn report_finished(&mut self, mut report: impl FnMut(usize, &RequestRecord, u64)) {
        for event in &self.events {
            if let ServerEvent::Finished { id, at_ns, record } = event {
                report(id.0, record, *at_ns);
            }
        }
        self.events.clear();
    }

    /// Returns the number of requests served, rejected or abandoned so far.
    pub(in crate::sim) fn finished(&self) -> u64 {
        self.totals.completed + self.totals.rejected
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::sim::SimConfig;
    use crate::step::{LatencyModel, StepBatch};
    use crate::units::Seconds;

    struct Constant;

    impl LatencyModel for Constant {
        fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
            Seconds(1.0)
        }
    }

    #[test]
    fn a_request_that_can_never_be_scheduled_is_rejected_and_does_not_block_the_queue() {
        let mut config = SimConfig::new(1_000, 4);
        // Decode servers rely on the check that was made before the prefill.
        config.role = Role::Decode;
        let mut server = Server::new(Constant, config, 0);
        for (index, prompt_tokens) in [(0, 100), (1, 20)] {
            server.expect(index, Request::new(prompt_tokens, 2), (&[], 0));
        }
        assert_eq!(server.outstanding_tokens(), 124);
        server.run_until_idle().unwrap();
        let mut left = Vec::new();
        server.report_finished(|index, record, _| left.push((index, record.outcome)));
        let (blocks, kv_blocks) = (7, 4);
        let reason = Rejection::TooManyBlocks { blocks, kv_blocks };
        assert_eq!(left[0], (0, Outcome::Rejected(reason)));
        assert!(matches!(left[1], (1, Outcome::Completed(_))));
        assert_eq!((left.len(), server.finished()), (2, 2));
        assert_eq!(server.outstanding_tokens(), 0);
        assert!(server.is_idle());
    }
}
