//! What a client asks for.

/// A request: when it arrives and how long it is.
///
/// ```
/// use rooflut::sim::Request;
/// let request = Request { prompt_tokens: 512, output_tokens: 128, ..Request::default() };
/// assert_eq!(request.tokens(), 640);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Request {
    /// When it reaches the engine, in nanoseconds from the start of the simulation.
    pub arrival_ns: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens that it generates before it stops.
    pub output_tokens: u32,
    /// Leading tokens of the prompt that the prefix cache holds.
    ///
    /// Only full KV blocks count, and never the last token of the prompt: what is above that is
    /// computed as if it were not cached.
    pub cached_prompt_tokens: u32,
    /// Class of priority: smaller numbers go first where the policy asks for it.
    pub priority: u32,
    /// What its tokens are, for caches that hash them.
    pub content: Content,
}

/// What the tokens of a request are, as far as other requests have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Content {
    /// Nothing that another request has.
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
    Listed {
        /// Place of its first id in the list of all ids.
        first: u32,
        /// Ids; tokens beyond their blocks are unique.
        count: u32,
    },
}

impl Request {
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
