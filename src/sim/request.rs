//! Requests: arrival, lengths and content.

/// The last arrival allowed: half the range of the clock, so that it does not overflow.
pub(super) const LAST_ARRIVAL_NS: u64 = u64::MAX / 2;

/// A request: its arrival, its lengths and its content.
///
/// ```
/// use rooflut::sim::Request;
/// let request = Request::new(512, 128).at_ns(2_000_000).with_priority(1);
/// assert_eq!(request.tokens(), 640);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Request {
    /// Arrival, in nanoseconds from the start of the simulation.
    #[cfg_attr(feature = "serde", serde(default))]
    pub arrival_ns: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the output.
    pub output_tokens: u32,
    /// Leading tokens of the prompt that are in the prefix cache.
    ///
    /// Only full KV blocks count, and never the last token of the prompt; tokens beyond are computed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cached_prompt_tokens: u32,
    /// Priority number: with [`SchedulingPolicy::Priority`](crate::sim::SchedulingPolicy::Priority) smaller
    /// numbers go first.
    #[cfg_attr(feature = "serde", serde(default))]
    pub priority: u32,
    /// Identity of the tokens, for prefix caching.
    #[cfg_attr(feature = "serde", serde(default))]
    pub content: Content,
}

/// Identity of a request's tokens: determines which prefixes requests have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Content {
    /// Shares no tokens with other requests.
    #[default]
    Unique,
    /// A shared prefix followed by a text of its own.
    Texts {
        /// Id of the text that the prompt begins with, such as the system prompt of an application.
        prefix: u64,
        /// Tokens of the prefix.
        prefix_tokens: u32,
        /// Id of the text after the prefix, prompt and output: the same in all turns of a session,
        /// each of which continues the one before.
        own: u64,
    },
    /// Block ids of a trace; each id stands for all tokens up to the end of its block.
    TraceBlocks {
        /// Index of the first id in the list of all ids.
        first: u32,
        /// Number of ids; tokens beyond their blocks are unique.
        count: u32,
    },
}

impl Request {
    /// Creates a request that arrives at time 0.
    pub const fn new(prompt_tokens: u32, output_tokens: u32) -> Request {
        Request {
            arrival_ns: 0,
            prompt_tokens,
            output_tokens,
            cached_prompt_tokens: 0,
            priority: 0,
            content: Content::Unique,
        }
    }

    crate::setters! {
        /// Sets the arrival time, in nanoseconds from the start of the simulation.
        at_ns(arrival_ns: u64);
        /// Sets the number of leading prompt tokens that are in the prefix cache.
        with_cached_prompt_tokens(cached_prompt_tokens: u32);
        /// Sets the priority number.
        with_priority(priority: u32);
        /// Sets the identity of the tokens.
        with_content(content: Content);
    }

    /// Returns the tokens of prompt and output.
    pub fn tokens(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_request_does_not_overflow() {
        let request = Request { prompt_tokens: u32::MAX, output_tokens: u32::MAX, ..Request::default() };
        assert_eq!(request.tokens(), 8_589_934_590);
    }
}
