//! Errors of the simulator: invalid configurations, misused servers, rejected requests.

use core::fmt;

use crate::engine::DraftScheduling;
use crate::sim::request::LAST_ARRIVAL_NS;
use crate::step::StepBatch;
use crate::units::Seconds;

/// An invalid configuration of a server or a load, or a step that the clock cannot hold.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SimError {
    /// A limit of the server or a count of the load is zero.
    ZeroLimit {
        /// The field of [`SimConfig`](crate::sim::SimConfig), or the name of the count.
        limit: &'static str,
    },
    /// The token budget of a step is smaller than the number of tokens that decoding requests may take in it.
    BudgetBelowSequences {
        /// Maximum tokens per step.
        max_num_batched_tokens: u32,
        /// Maximum running requests.
        max_num_seqs: u32,
        /// Tokens per decoding request and step: 1 plus the drafted tokens, plus a slot of the draft model where the
        /// engine counts one.
        tokens_per_request: u32,
    },
    /// A `long_prefill_token_threshold` that cuts the drafts of a request, with an engine that admits requests with
    /// placeholders of all drafts.
    ThresholdBelowDrafts {
        /// Maximum tokens per step of one request.
        long_prefill_token_threshold: u32,
        /// Drafted tokens per request and step.
        draft_tokens: u32,
    },
    /// Speculative decoding one step ahead, which the rules of the engine exclude.
    DraftsAhead {
        /// The rule.
        rule: DraftScheduling,
    },
    /// Drafts of a draft model and of an MTP layer at once.
    #[cfg(feature = "serde")]
    TwoDrafters,
    /// An MTP layer of a model with several groups of layers that read tokens, or with windows.
    MtpGroups,
    /// Speculative decoding on separate prefill and decode servers.
    SpeculationDisaggregated,
    /// An arrival rate that is not a positive, finite number.
    InvalidRate {
        /// The rate as given.
        requests_per_s: f64,
    },
    /// Prefix caching with layers that keep a state.
    CachedStates,
    /// A decode server that gets prompts from another one, with layers that keep a state.
    TransferredStates,
    /// Speculative decoding with pipeline stages.
    PipelinedDrafts {
        /// The number of stages.
        stages: u32,
    },
    /// Pipeline stages of a server whose steps are fixed one step ahead.
    PipelineAhead {
        /// The number of stages.
        stages: u32,
    },
    /// Data-parallel ranks of several pipeline stages.
    PipelinedRanks {
        /// The number of stages.
        stages: u32,
    },
    /// A parameter outside of its range.
    InvalidParameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// The values that are allowed.
        expected: &'static str,
        /// The value as given.
        found: f64,
    },
    /// A range of lengths that is empty or contains 0.
    InvalidRange {
        /// First length of the range.
        min: u32,
        /// Last length of the range.
        max: u32,
    },
    /// An empty list to draw from.
    NothingToDraw {
        /// Name of the list.
        of: &'static str,
    },
    /// A step that the clock cannot hold.
    StepTime(StepTimeError),
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SimError::ZeroLimit { limit } => {
                write!(f, "{limit}: expected at least 1, found 0")
            }
            SimError::BudgetBelowSequences { max_num_batched_tokens, max_num_seqs, tokens_per_request } => {
                write!(f, "max_num_batched_tokens: expected at least max_num_seqs ")?;
                match tokens_per_request {
                    1 => write!(f, "({max_num_seqs})")?,
                    _ => {
                        let needed = u64::from(max_num_seqs) * u64::from(tokens_per_request);
                        write!(f, "x {tokens_per_request} tokens ({needed})")?;
                    }
                }
                write!(f, ", found {max_num_batched_tokens}; raise it, or lower max_num_seqs")
            }
            #[cfg(feature = "serde")]
            SimError::TwoDrafters => {
                f.write_str("speculation: expected a draft model or an MTP layer, found both; leave one of them out")
            }
            SimError::MtpGroups => f.write_str(
                "speculation: expected a model whose layers attend to all tokens with an MTP layer, found windows, \
                 chunks or several kinds of layers, whose prefix hits with drafts are not modelled; use a draft model",
            ),
            SimError::SpeculationDisaggregated => write!(
                f,
                "speculation: speculative decoding on separate prefill and decode servers is not modelled; \
                 use one of the two"
            ),
            SimError::ThresholdBelowDrafts { long_prefill_token_threshold, draft_tokens } => write!(
                f,
                "long_prefill_token_threshold: expected more than draft_tokens ({draft_tokens}), found \
                 {long_prefill_token_threshold}, at which this engine fails when a prompt is cached; raise it"
            ),
            SimError::DraftsAhead { rule } => {
                write!(f, "scheduling: expected sync with speculative decoding, found async, which ")?;
                match rule {
                    DraftScheduling::HeadsAhead => {
                        write!(f, "this engine supports with an EAGLE or MTP head as draft model only")?;
                    }
                    DraftScheduling::Synchronous | DraftScheduling::Ahead => {
                        write!(f, "this engine does not support")?;
                    }
                }
                write!(f, "; leave it out, or use a later engine")
            }
            SimError::InvalidRate { requests_per_s } => write!(
                f,
                "arrival rate: expected a positive, finite number of requests per second, found \
                 {requests_per_s}"
            ),
            SimError::CachedStates => f.write_str(
                "prefix caching: expected off for a model whose layers keep a state (gated delta nets), found on; turn \
                 it off, as caches of states are not modelled",
            ),
            SimError::TransferredStates => f.write_str(
                "disaggregated prefill: expected a model without layers that keep a state (gated delta nets), whose \
                 transfer is not modelled; use servers for prefill and decode",
            ),
            SimError::PipelinedDrafts { stages } => write!(
                f,
                "speculation: expected none with {stages} pipeline stages, found some, which is not modelled; use one \
                 pipeline stage"
            ),
            SimError::PipelineAhead { stages } => write!(
                f,
                "scheduling: expected sync with {stages} pipeline stages, whose steps wait for the tokens before them, \
                 found async; leave it out"
            ),
            SimError::PipelinedRanks { stages } => write!(
                f,
                "data-parallel ranks: expected one pipeline stage each, found {stages}, which is not modelled; use \
                 replicas"
            ),
            SimError::InvalidParameter { parameter, expected, found } => {
                write!(f, "{parameter}: expected {expected}, found {found}")
            }
            SimError::InvalidRange { min, max } => {
                write!(f, "lengths: expected a non-empty range of at least 1, found {min} to {max}")
            }
            SimError::NothingToDraw { of } => {
                write!(f, "{of}: expected at least one, found none")
            }
            SimError::StepTime(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SimError {}

impl From<StepTimeError> for SimError {
    fn from(error: StepTimeError) -> SimError {
        SimError::StepTime(error)
    }
}

/// A step that the clock cannot hold, which ends a simulation: the latency model returned a time that is negative,
/// infinite or NaN, or the step ends after the last nanosecond of the clock (2^64, 584 years).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepTimeError {
    /// Start of the step, in nanoseconds from the start of the simulation.
    pub start_ns: u64,
    /// Prompt tokens of the step.
    pub prefill_tokens: u64,
    /// Decoding requests of the step.
    pub decode_requests: u64,
    /// KV tokens of the decoding requests.
    pub decode_kv_tokens: u64,
    /// The time that the latency model returned.
    pub time: Seconds,
}

impl StepTimeError {
    /// Creates the error of a step of these batches.
    #[cold]
    pub(super) fn new<'b>(
        start_ns: u64,
        batches: impl IntoIterator<Item = StepBatch<'b>>,
        time: Seconds,
    ) -> StepTimeError {
        let mut error = StepTimeError { start_ns, prefill_tokens: 0, decode_requests: 0, decode_kv_tokens: 0, time };
        for batch in batches {
            error.prefill_tokens += batch.prefill_tokens();
            error.decode_requests += batch.decode_requests();
            let kv_tokens = batch.decode_kv_tokens();
            error.decode_kv_tokens = error.decode_kv_tokens.saturating_add(kv_tokens);
        }
        error
    }
}

impl fmt::Display for StepTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StepTimeError { start_ns, prefill_tokens, decode_requests, decode_kv_tokens, time: Seconds(time_s) } = self;
        write!(
            f,
            "step at {start_ns} ns ({prefill_tokens} prompt tokens, {decode_requests} decoding requests with \
             {decode_kv_tokens} KV tokens): "
        )?;
        if time_s.is_finite() && *time_s >= 0.0 {
            write!(
                f,
                "expected to end before the clock does, after 2^64 ns, found a time of {time_s} s; check the latency \
                 model, and let requests arrive earlier"
            )
        } else {
            write!(
                f,
                "expected a finite time of at least 0 from the latency model, found {time_s} s; correct the model"
            )
        }
    }
}

impl core::error::Error for StepTimeError {}

/// A refused call of a [`Server`](crate::sim::Server). The server is unchanged and stays usable, except after a
/// [`StepTime`](ServerError::StepTime).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ServerError {
    /// A request arrives before the current time.
    ArrivalBeforeNow {
        /// Arrival of the request, in nanoseconds.
        arrival_ns: u64,
        /// Current time, in nanoseconds.
        now_ns: u64,
    },
    /// The clock was moved back.
    TimeBackwards {
        /// The time that was asked for, in nanoseconds.
        to_ns: u64,
        /// Current time, in nanoseconds.
        now_ns: u64,
    },
    /// A request exceeds a limit of the server.
    NeverServed(Rejection),
    /// A step that the clock cannot hold. The server runs no further step.
    StepTime(StepTimeError),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ServerError::ArrivalBeforeNow { arrival_ns, now_ns } => write!(
                f,
                "arrival_ns: expected at least {now_ns} (now), found {arrival_ns}; push a request before the \
                 clock passes its arrival"
            ),
            ServerError::TimeBackwards { to_ns, now_ns } => {
                write!(f, "to_ns: expected at least {now_ns} (now), found {to_ns}; advance to a later time")
            }
            ServerError::NeverServed(reason) => write!(f, "request cannot be served: {reason}"),
            ServerError::StepTime(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ServerError {}

impl From<StepTimeError> for ServerError {
    fn from(error: StepTimeError) -> ServerError {
        ServerError::StepTime(error)
    }
}

/// The reason why a request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rejection {
    /// The prompt has no tokens.
    EmptyPrompt,
    /// The request asks for no output tokens.
    EmptyOutput,
    /// The request arrives after [`SimConfig::LAST_ARRIVAL_NS`](crate::sim::SimConfig::LAST_ARRIVAL_NS).
    TooLate {
        /// Arrival of the request, in nanoseconds.
        arrival_ns: u64,
    },
    /// Prompt and output are longer than the server allows.
    TooLong {
        /// Tokens of prompt and output.
        tokens: u64,
        /// Maximum tokens per request.
        max_model_len: u32,
    },
    /// The request needs more KV blocks than the server has.
    TooManyBlocks {
        /// KV blocks that the request needs, a prefix hit included.
        blocks: u32,
        /// KV blocks of the server.
        kv_blocks: u32,
    },
    /// The queue was full.
    QueueFull {
        /// Maximum queue length.
        max_waiting: u32,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rejection::EmptyPrompt => write!(f, "the prompt is empty"),
            Rejection::EmptyOutput => write!(f, "no output token is asked for"),
            Rejection::TooLate { arrival_ns } => {
                write!(f, "it arrives at {arrival_ns} ns, the last arrival allowed is {LAST_ARRIVAL_NS} ns")
            }
            Rejection::TooLong { tokens, max_model_len } => {
                write!(f, "prompt and output have {tokens} tokens, max_model_len is {max_model_len}")
            }
            Rejection::TooManyBlocks { blocks, kv_blocks } => {
                write!(f, "it needs {blocks} KV blocks, the cache has {kv_blocks}")
            }
            Rejection::QueueFull { max_waiting } => {
                write!(f, "the queue is full, max_waiting is {max_waiting}")
            }
        }
    }
}

impl core::error::Error for Rejection {}
