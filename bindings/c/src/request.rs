//! Requests of a server, and their events.

use rooflut::sim::{self, Rejection, RequestId, ServerEvent};

use crate::error::Failure;
use crate::pointer::array;

/// Which tokens of a request others share, for prefix caching.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// None.
    Unique = 0,
    /// Tokens of a prefix, and of earlier turns of a session.
    Texts = 1,
    /// Tokens of blocks with ids, as traces have them.
    TraceBlocks = 2,
}

/// A request. With zeros except for prompt and output, the request arrives at time 0 and shares no tokens.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Arrival, nanoseconds from the start.
    pub arrival_ns: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the output.
    pub output_tokens: u32,
    /// Leading tokens of the prompt that count as found in the prefix cache.
    pub cached_prompt_tokens: u32,
    /// Smaller numbers go first under the policy `priority`.
    pub priority: u32,
    /// A `RooflutContent`.
    pub content: u32,
    /// Tokens of the prefix, of texts.
    pub prefix_tokens: u32,
    /// Id of the prefix, of texts.
    pub prefix: u64,
    /// Id of what follows the prefix, of texts.
    pub own: u64,
    /// Ids of the first blocks of the prompt, of trace blocks; else null.
    pub block_ids: *const u64,
    /// Number of ids.
    pub block_ids_length: usize,
    /// Tokens of each block, of trace blocks.
    pub block_tokens: u32,
}

impl Request {
    /// Returns the request as the library has it, and its block ids with the tokens of each.
    ///
    /// # Safety
    /// `block_ids` is null or valid for reads of its length for `'a`.
    pub(crate) unsafe fn checked<'a>(&self) -> Result<(sim::Request, &'a [u64], u32), Failure> {
        // SAFETY: the caller's promise.
        let ids = unsafe { array(self.block_ids, self.block_ids_length, "block_ids") }?;
        let known = [Content::Unique, Content::Texts, Content::TraceBlocks];
        let content = match known.into_iter().find(|known| *known as u32 == self.content) {
            Some(Content::Unique) => sim::Content::Unique,
            Some(Content::Texts) => {
                sim::Content::Texts { prefix: self.prefix, prefix_tokens: self.prefix_tokens, own: self.own }
            }
            Some(Content::TraceBlocks) if self.block_tokens == 0 => {
                return Err(Failure::value("block_tokens", "at least 1", 0));
            }
            Some(Content::TraceBlocks) => sim::Content::TraceBlocks {
                first: 0,
                count: u32::try_from(ids.len())
                    .map_err(|_| Failure::value("block_ids_length", "a 32-bit number", ids.len()))?,
            },
            None => {
                return Err(Failure::value("content", "0 to 2, a RooflutContent", self.content));
            }
        };
        self.check_content()?;
        let request = sim::Request::new(self.prompt_tokens, self.output_tokens)
            .at_ns(self.arrival_ns)
            .with_cached_prompt_tokens(self.cached_prompt_tokens)
            .with_priority(self.priority)
            .with_content(content);
        Ok((request, ids, self.block_tokens))
    }

    /// Refuses fields of another content than that of the request, which would be ignored.
    fn check_content(&self) -> Result<(), Failure> {
        if self.prefix_tokens != 0 && self.content != Content::Texts as u32 {
            let expected = "0 unless content is ROOFLUT_CONTENT_TEXTS";
            return Err(Failure::value("prefix_tokens", expected, self.prefix_tokens));
        }
        if self.block_ids_length != 0 && self.content != Content::TraceBlocks as u32 {
            let expected = "0 unless content is ROOFLUT_CONTENT_TRACE_BLOCKS";
            return Err(Failure::value("block_ids_length", expected, self.block_ids_length));
        }
        Ok(())
    }
}

/// The kind of an event.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The step that yields the first token of the request has ended.
    FirstToken = 0,
    /// The last event of the request: `outcome` says how it ended.
    Finished = 1,
    /// An event that this version of the interface does not know.
    Unknown = 2,
}

/// How a request ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has not ended.
    None = 0,
    /// It was served in full.
    Completed = 1,
    /// It was rejected: it needs more KV blocks than the server has.
    TooManyKvBlocks = 2,
    /// It was rejected: the queue was full.
    QueueFull = 3,
    /// It was aborted: its client gave up before the first token.
    Abandoned = 4,
    /// It was aborted by `rooflut_server_cancel`.
    Cancelled = 5,
    /// It was rejected for a reason that has no name here.
    Other = 6,
}

impl From<&sim::Outcome> for Outcome {
    fn from(outcome: &sim::Outcome) -> Outcome {
        match outcome {
            sim::Outcome::Completed(_) => Outcome::Completed,
            sim::Outcome::Rejected(Rejection::TooManyBlocks { .. }) => Outcome::TooManyKvBlocks,
            sim::Outcome::Rejected(Rejection::QueueFull { .. }) => Outcome::QueueFull,
            sim::Outcome::Rejected(Rejection::Abandoned { .. }) => Outcome::Abandoned,
            sim::Outcome::Rejected(Rejection::Cancelled) => Outcome::Cancelled,
            _ => Outcome::Other,
        }
    }
}

/// An event in the life of a request. Times are nanoseconds from the start; those after `at_ns` are of completed
/// requests, else 0.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Number of the request, as `rooflut_server_push` returned it.
    pub request: u64,
    /// Time of the event.
    pub at_ns: u64,
    /// When the engine saw the request, after the API server.
    pub at_engine_ns: u64,
    /// When the step with its first chunk was scheduled.
    pub scheduled_ns: u64,
    /// When the step that yields its first token ended.
    pub first_token_ns: u64,
    /// Delay of its tokens in the API server.
    pub api_output_ns: u64,
    /// A `RooflutEventKind`.
    pub kind: u32,
    /// How often it was preempted.
    pub preemptions: u32,
    /// A `RooflutOutcome`.
    pub outcome: u32,
}

impl From<ServerEvent> for Event {
    fn from(event: ServerEvent) -> Event {
        let none = Event {
            request: u64::MAX,
            at_ns: 0,
            at_engine_ns: 0,
            scheduled_ns: 0,
            first_token_ns: 0,
            api_output_ns: 0,
            kind: EventKind::Unknown as u32,
            preemptions: 0,
            outcome: Outcome::None as u32,
        };
        let at = |id: RequestId, at_ns, kind| Event { request: id.index() as u64, at_ns, kind: kind as u32, ..none };
        match event {
            ServerEvent::FirstToken { id, at_ns } => at(id, at_ns, EventKind::FirstToken),
            ServerEvent::Finished { id, at_ns, record } => {
                let outcome = Outcome::from(&record.outcome) as u32;
                let ended = Event { outcome, ..at(id, at_ns, EventKind::Finished) };
                record.timing().map_or(ended, |timing| Event {
                    at_engine_ns: timing.at_engine_ns,
                    scheduled_ns: timing.scheduled_ns,
                    first_token_ns: timing.first_token_ns,
                    api_output_ns: timing.api_output_ns,
                    preemptions: timing.preemptions,
                    ..ended
                })
            }
            _ => none,
        }
    }
}
