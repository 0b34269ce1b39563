//! A server that is driven call by call.

use crate::support::{Batch, Linear, simulator};
use crate::workloads::IDS;
use rooflut::sim::figures::Totals;
use rooflut::sim::load::RequestList;
use rooflut::sim::{
    Content, Outcome, Rejection, Request, RequestId, RequestRecord, Server, ServerError, ServerEvent, SimConfig,
};

/// Tokens of a trace's id.
pub(super) const TOKENS_PER_ID: u32 = 24;

/// The results of a run.
#[derive(Debug, PartialEq)]
pub(super) struct Served {
    records: Vec<RequestRecord>,
    totals: Totals,
    batches: Vec<Batch>,
}

/// The run of a simulator that is given all requests at once.
pub(super) fn expected(config: SimConfig, requests: &[Request]) -> Served {
    let model = Linear::mixed();
    let mut source = RequestList::new(requests).with_ids(&IDS, TOKENS_PER_ID);
    let simulator = simulator(&model, config);
    let report = simulator.run_source(&mut source.clone(), &mut ()).unwrap();
    model.batches.borrow_mut().clear();
    let totals = simulator.serve(&mut source, &mut ()).unwrap();
    Served { records: report.records, totals, batches: model.batches.into_inner() }
}

/// A server that is driven, and what it has said.
pub(super) struct Driven<'m> {
    pub(super) server: Server<&'m Linear>,
    pub(super) records: Vec<Option<RequestRecord>>,
    first_tokens_ns: Vec<Option<u64>>,
}

impl<'m> Driven<'m> {
    pub(super) fn new(model: &'m Linear, config: SimConfig, requests: usize) -> Driven<'m> {
        Driven {
            server: Server::try_new(model, config).unwrap(),
            records: vec![None; requests],
            first_tokens_ns: vec![None; requests],
        }
    }

    pub(super) fn push(&mut self, request: Request) -> Result<RequestId, ServerError> {
        let ids = match request.content {
            Content::TraceBlocks { first, .. } => &IDS[first as usize..],
            _ => &[],
        };
        self.server.push_with_ids(request, ids, TOKENS_PER_ID)
    }

    pub(super) fn note(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::FirstToken { id, at_ns } => {
                assert!(at_ns <= self.server.now_ns());
                assert_eq!(self.first_tokens_ns[id.index()].replace(at_ns), None);
                assert_eq!(self.records[id.index()], None);
            }
            ServerEvent::Finished { id, at_ns, record } => {
                assert!(at_ns <= self.server.now_ns());
                if let Outcome::Completed(timing) = record.outcome {
                    assert_eq!(timing.finish_ns, at_ns);
                    let first_ns = Some(timing.first_token_ns);
                    assert_eq!(self.first_tokens_ns[id.index()], first_ns);
                }
                assert_eq!(self.records[id.index()].replace(record), None);
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn drain(&mut self) {
        let events: Vec<ServerEvent> = self.server.drain_events().collect();
        events.into_iter().for_each(|event| self.note(event));
    }

    pub(super) fn advance(&mut self, to_ns: u64) {
        self.server.advance_to(to_ns).unwrap();
        assert_eq!(self.server.now_ns(), to_ns);
        if let Some(next_ns) = self.server.next_event_ns() {
            assert!(next_ns > to_ns);
        }
        self.drain();
    }

    pub(super) fn step(&mut self) {
        let ends_ns = self.server.is_in_step().then(|| self.server.next_event_ns());
        let (end_ns, events) = match self.server.step().unwrap() {
            None => (None, Vec::new()),
            Some(outcome) => (Some(outcome.record.start_ns + outcome.record.duration_ns), outcome.events.to_vec()),
        };
        if let Some(ends_ns) = ends_ns {
            assert_eq!(end_ns, ends_ns);
        }
        if let Some(end_ns) = end_ns {
            assert_eq!(self.server.now_ns(), end_ns);
        }
        self.drain();
        events.into_iter().for_each(|event| self.note(event));
    }

    /// Calls that are refused; the server must not mind.
    pub(super) fn misuse(&mut self, config: SimConfig) {
        let now_ns = self.server.now_ns();
        let request = |arrival_ns, prompt_tokens| Request::new(prompt_tokens, 1).at_ns(arrival_ns);
        if let Some(before_ns) = now_ns.checked_sub(1) {
            let backwards = ServerError::TimeBackwards { to_ns: before_ns, now_ns };
            assert_eq!(self.server.advance_to(before_ns), Err(backwards));
            let late = ServerError::ArrivalBeforeNow { arrival_ns: before_ns, now_ns };
            assert_eq!(self.server.push(request(before_ns, 1)), Err(late));
        }
        let reason =
            Rejection::TooLong { tokens: u64::from(config.max_model_len) + 1, max_model_len: config.max_model_len };
        let refused = self.server.push(request(now_ns, config.max_model_len));
        assert_eq!(refused, Err(ServerError::NeverServed(reason)));
        let (arrival_ns, empty) = (now_ns, Rejection::EmptyPrompt);
        let refused = self.server.push(request(arrival_ns, 0));
        assert_eq!(refused, Err(ServerError::NeverServed(empty)));
    }

    pub(super) fn finish(mut self, model: &Linear) -> Served {
        while let Some(next_ns) = self.server.next_event_ns() {
            self.advance(next_ns);
        }
        assert!(self.server.is_idle());
        assert_eq!((self.server.running(), self.server.waiting()), (0, 0));
        assert_eq!((self.server.arriving(), self.server.kv_blocks_used()), (0, 0));
        assert_eq!(self.server.outstanding_tokens(), 0);
        Served {
            records: self.records.into_iter().flatten().collect(),
            totals: self.server.totals(),
            batches: model.batches.take(),
        }
    }
}
