//! A request: its arrival, its lengths and its content.

/// A request: when it arrives and how long it is.
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
    /// Tokens that it generates before it stops.
    pub output_tokens: u32,
    /// Leading tokens of the prompt that the prefix cache holds.
    ///
    /// Only full KV blocks count, and never the last token of the prompt: what is above that is
    /// computed as if it were not cached.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cached_prompt_tokens: u32,
    /// Class of priority: smaller numbers go first where the policy asks for it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub priority: u32,
    /// What its tokens are, for caches that hash them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub content: Content,
}

/// Identity of a request's tokens, which tells requests with equal prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Content {
    /// Tokens that no other request has.
    #[default]
    Unique,
    /// The first tokens of one text, then those of another.
    Texts {
        /// The text that the prompt begins with, such as the system prompt of an application.
        prefix: u64,
        /// Tokens of it.
        prefix_tokens: u32,
        /// The text of everything after, prompt and output: the same in the turns of a session,
        /// each of which continues the one before.
        own: u64,
    },
    /// Blocks with the ids of a trace, each of which stands for all tokens up to its end.
    TraceBlocks {
        /// Place of its first id in the list of all ids.
        first: u32,
        /// Ids; tokens beyond their blocks are unique.
        count: u32,
    },
}

impl Request {
    /// A request of `prompt_tokens` and `output_tokens` that arrives at the start of the simulation.
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
        /// The same request with another arrival, in nanoseconds from the start of the simulation.
        at_ns(arrival_ns: u64);
        /// The same request with leading prompt tokens that the prefix cache holds.
        with_cached_prompt_tokens(cached_prompt_tokens: u32);
        /// The same request with another class of priority.
        with_priority(priority: u32);
        /// The same request with content that others may share.
        with_content(content: Content);
    }

    /// Tokens of the prompt and of the output.
    pub fn tokens(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_request_does_not_overflow() {
        let request = Request {
            prompt_tokens: u32::MAX,
            output_tokens: u32::MAX,
            ..Request::default()
        };
        assert_eq!(request.tokens(), 8_589_934_590);
    }
}
