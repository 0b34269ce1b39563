//! Errors of the simulator: misused servers, rejected requests, steps that the clock cannot hold.

use core::fmt;

use crate::sim::request::LAST_ARRIVAL_NS;
use crate::step::StepBatch;
use crate::units::Seconds;

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
    /// A request to cancel was never pushed, has finished, or was cancelled before.
    UnknownRequest {
        /// Number of the request.
        index: usize,
    },
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
            ServerError::UnknownRequest { index } => write!(
                f,
                "request {index}: expected one that was pushed and has not finished, found one that was not pushed, has \
                 finished, or was cancelled; cancel a request before its last event"
            ),
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
    /// The client gave up: the first token had not come in time. It counts as rejected, because it was not served.
    Abandoned {
        /// How long the client waited, in nanoseconds from the arrival.
        patience_ns: u64,
    },
    /// The request was cancelled ([`Server::cancel`](crate::sim::Server::cancel)). It counts as rejected, because it was
    /// not served.
    Cancelled,
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
            Rejection::Abandoned { patience_ns } => {
                write!(f, "its client gave up after {patience_ns} ns without a token")
            }
            Rejection::Cancelled => write!(f, "it was cancelled"),
        }
    }
}

impl core::error::Error for Rejection {}
