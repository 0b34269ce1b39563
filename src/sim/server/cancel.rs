//! Cancelled requests.

use core::mem;

use super::{RequestId, Server};
use crate::sim::{Rejection, ServerError};

impl<M> Server<M> {
    /// Cancels a request: its client has a timeout of its own, or another server was faster.
    ///
    /// It takes effect at the next step boundary, as an abort of vLLM does, and at once for a request that arrives after
    /// [`now_ns`](Server::now_ns): the request ends with a [`ServerEvent::Finished`](super::ServerEvent::Finished) and
    /// [`Rejection::Cancelled`], and has no other event. A request whose last token comes from the step in flight is
    /// served all the same.
    ///
    /// Its KV blocks are freed; full ones of tokens that were computed stay in the prefix cache. A step that is fixed
    /// already ([`OneStepAhead`](crate::engine::Scheduling::OneStepAhead), pipeline stages) computes its tokens in vain,
    /// drafts included; they count as [`overrun_requests`](crate::sim::StepRecord::overrun_requests). A request that the
    /// API server still has reaches the engine and is cancelled there. Of separate prefill and decode servers, cancel it on
    /// the one that has it; between them, on the link, it is on none. Costs O(requests of the server).
    ///
    /// # Errors
    /// [`ServerError::UnknownRequest`] for a request that was never pushed, has finished, or was cancelled before. The
    /// server is unchanged.
    pub fn cancel(&mut self, id: RequestId) -> Result<(), ServerError> {
        let RequestId(index) = id;
        let unknown = ServerError::UnknownRequest { index };
        if self.cancelled.contains(&index) {
            return Err(unknown);
        }
        match self.inbox.request(index).copied() {
            Some(request) if request.arrival_ns > self.now_ns => {
                self.inbox.remove(index);
                self.report_rejected(index, request, Rejection::Cancelled);
            }
            None if !self.scheduler.has(index) => return Err(unknown),
            _ => {
                self.cancelled.insert(index);
            }
        }
        Ok(())
    }

    /// Aborts the cancelled requests; those that the engine has not seen remain.
    #[cold]
    pub(super) fn abort_cancelled(&mut self) {
        for index in mem::take(&mut self.cancelled) {
            let Some(sequence) = self.scheduler.cancel(index) else {
                self.cancelled.insert(index);
                continue;
            };
            self.next.drop_results(&sequence);
            self.pipeline.drop_results(&sequence);
            self.interrupted.remove(index, self.now_ns);
            self.queued_tokens -= sequence.request.tokens();
            self.report_rejected(index, sequence.request, Rejection::Cancelled);
        }
    }

    /// Leaves the requests that the current step completes as they are: they were cancelled while it was in flight.
    #[cold]
    pub(super) fn keep_finished(&mut self) {
        for (index, _) in &self.current.finished {
            self.cancelled.remove(index);
        }
    }
}
