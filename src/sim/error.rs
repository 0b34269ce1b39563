//! What the simulator refuses: a server that cannot run, a request that it can never serve.

use core::fmt;

use crate::sim::SimConfig;

/// A simulation that cannot be set up.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SimError {
    /// A limit of the server or a count of a load is zero.
    ZeroLimit {
        /// The field of [`SimConfig`](crate::sim::SimConfig), or what there are none of in a load.
        limit: &'static str,
    },
    /// The token budget of a step is smaller than the number of requests that may decode in it.
    BudgetBelowSequences {
        /// Tokens of a step.
        max_num_batched_tokens: u32,
        /// Requests of a step.
        max_num_seqs: u32,
        /// Tokens of each: 1, and those that are drafted.
        tokens_per_request: u32,
    },
    /// Speculative decoding where steps are fixed ahead.
    SpeculationAhead,
    /// Speculative decoding on servers that do prefill or decode only.
    SpeculationDisaggregated,
    /// An arrival rate that is not a positive, finite number.
    InvalidRate {
        /// What was given.
        requests_per_s: f64,
    },
    /// A parameter of a distribution that means nothing.
    InvalidParameter {
        /// Which.
        parameter: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What was given.
        found: f64,
    },
    /// A range of lengths that is empty or has a length of 0.
    InvalidRange {
        /// Its first length.
        min: u32,
        /// Its last length.
        max: u32,
    },
    /// A list to draw from that is empty.
    NothingToDraw {
        /// What it lists.
        of: &'static str,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SimError::ZeroLimit { limit } => {
                write!(f, "{limit}: expected at least 1, found 0")
            }
            SimError::BudgetBelowSequences {
                max_num_batched_tokens,
                max_num_seqs,
                tokens_per_request,
            } => {
                write!(f, "max_num_batched_tokens: expected at least max_num_seqs ")?;
                match tokens_per_request {
                    1 => write!(f, "({max_num_seqs})")?,
                    _ => {
                        let needed = u64::from(max_num_seqs) * u64::from(tokens_per_request);
                        write!(f, "x {tokens_per_request} tokens ({needed})")?;
                    }
                }
                write!(
                    f,
                    ", found {max_num_batched_tokens}: raise it, or lower max_num_seqs"
                )
            }
            SimError::SpeculationDisaggregated => write!(
                f,
                "speculation: speculative decoding with prefill and decode on servers of their own is not \
                 modelled; leave one of the two out"
            ),
            SimError::SpeculationAhead => write!(
                f,
                "speculation: expected synchronous scheduling, found one step ahead: how many tokens \
                 a step yields is known when it has ended"
            ),
            SimError::InvalidRate { requests_per_s } => write!(
                f,
                "arrival rate: expected a positive, finite number of requests per second, found \
                 {requests_per_s}"
            ),
            SimError::InvalidParameter {
                parameter,
                expected,
                found,
            } => write!(f, "{parameter}: expected {expected}, found {found}"),
            SimError::InvalidRange { min, max } => write!(
                f,
                "lengths: expected a range that begins with at least 1 and does not end before, \
                 found {min} to {max}"
            ),
            SimError::NothingToDraw { of } => {
                write!(f, "{of}: expected at least one to draw from, found none")
            }
        }
    }
}

impl core::error::Error for SimError {}

/// A wrong call of a [`Server`](crate::sim::Server), which is unchanged and stays usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerError {
    /// A request arrives before the present.
    ArrivalBeforeNow {
        /// Its arrival, nanoseconds.
        arrival_ns: u64,
        /// The present, nanoseconds.
        now_ns: u64,
    },
    /// The clock was moved to a time before the present.
    TimeBackwards {
        /// The time, nanoseconds.
        to_ns: u64,
        /// The present, nanoseconds.
        now_ns: u64,
    },
    /// A request exceeds a limit of the server.
    NeverServed(Rejection),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ServerError::ArrivalBeforeNow { arrival_ns, now_ns } => write!(
                f,
                "arrival_ns: expected at least {now_ns} (now), found {arrival_ns}; push a request before the \
                 clock passes its arrival"
            ),
            ServerError::TimeBackwards { to_ns, now_ns } => write!(
                f,
                "time: expected at least {now_ns} ns (now), found {to_ns} ns; a server cannot go back"
            ),
            ServerError::NeverServed(reason) => {
                write!(f, "the server can never serve the request: {reason}")
            }
        }
    }
}

impl core::error::Error for ServerError {}

/// Why a request is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rejection {
    /// The prompt has no token.
    EmptyPrompt,
    /// No output token is asked for.
    EmptyOutput,
    /// It arrives later than the clock can serve.
    TooLate {
        /// Its arrival, nanoseconds.
        arrival_ns: u64,
    },
    /// Prompt and output are longer than the server allows.
    TooLong {
        /// Tokens of prompt and output.
        tokens: u64,
        /// The limit.
        max_model_len: u32,
    },
    /// Its KV cache is larger than the whole cache.
    TooManyBlocks {
        /// Blocks that it needs, those shared with its prefix included.
        blocks: u32,
        /// Blocks that exist.
        kv_blocks: u32,
    },
    /// As many requests wait as may.
    QueueFull {
        /// The limit.
        max_waiting: u32,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rejection::EmptyPrompt => write!(f, "the prompt is empty"),
            Rejection::EmptyOutput => write!(f, "no output token is asked for"),
            Rejection::TooLate { arrival_ns } => write!(
                f,
                "it arrives at {arrival_ns} ns, the clock serves arrivals up to {} ns",
                SimConfig::LAST_ARRIVAL_NS
            ),
            Rejection::TooLong {
                tokens,
                max_model_len,
            } => write!(
                f,
                "prompt and output have {tokens} tokens, max_model_len is {max_model_len}"
            ),
            Rejection::TooManyBlocks { blocks, kv_blocks } => {
                write!(f, "it needs {blocks} KV blocks, the cache has {kv_blocks}")
            }
            Rejection::QueueFull { max_waiting } => {
                write!(
                    f,
                    "{max_waiting} requests were waiting, max_waiting is that"
                )
            }
        }
    }
}

impl core::error::Error for Rejection {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn messages_say_what_was_found_and_what_was_expected() {
        let error = SimError::BudgetBelowSequences {
            max_num_batched_tokens: 64,
            max_num_seqs: 128,
            tokens_per_request: 1,
        };
        assert_eq!(
            error.to_string(),
            "max_num_batched_tokens: expected at least max_num_seqs (128), found 64: raise it, or \
             lower max_num_seqs"
        );
        let error = SimError::InvalidParameter {
            parameter: "sigma",
            expected: "a finite number of at least 0",
            found: -1.5,
        };
        assert_eq!(
            error.to_string(),
            "sigma: expected a finite number of at least 0, found -1.5"
        );
        assert_eq!(
            SimError::InvalidRange { min: 9, max: 3 }.to_string(),
            "lengths: expected a range that begins with at least 1 and does not end before, found 9 \
             to 3"
        );
        let rejection = Rejection::TooLong {
            tokens: 9_000,
            max_model_len: 8_192,
        };
        assert_eq!(
            rejection.to_string(),
            "prompt and output have 9000 tokens, max_model_len is 8192"
        );
    }
}
