//! Limits of attention.

use core::fmt;

/// The tokens that a token attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Span {
    /// All tokens up to its own.
    #[default]
    Full,
    /// The last ones of this number, its own included: a sliding window.
    Window(u32),
    /// The tokens up to its own in a chunk of this length, as in Llama-4. vLLM does not capture such attention in CUDA
    /// graphs.
    Chunk(u32),
}

impl Span {
    /// Returns the span in sequences of up to `longest` tokens: one that is at least as long is [`Full`](Span::Full).
    #[must_use]
    pub fn up_to(self, longest: u32) -> Span {
        match self {
            Span::Window(tokens) | Span::Chunk(tokens) if tokens >= longest => Span::Full,
            other => other,
        }
    }

    /// Returns the number of tokens that the last one of `kv_len` tokens attends to, its own included.
    ///
    /// ```
    /// use rooflut::model::Span;
    /// assert_eq!(Span::Full.keys(300), 300);
    /// assert_eq!(Span::Window(128).keys(300), 128);
    /// // The third chunk has 44 tokens so far.
    /// assert_eq!(Span::Chunk(128).keys(300), 44);
    /// ```
    pub fn keys(self, kv_len: u32) -> u32 {
        match self {
            Span::Full => kv_len,
            Span::Window(tokens) => kv_len.min(tokens),
            Span::Chunk(tokens) => match kv_len.checked_sub(1) {
                Some(before) => before % tokens.max(1) + 1,
                None => 0,
            },
        }
    }

    /// Returns the number of `computed` tokens that the token after them does not attend to.
    #[cfg(feature = "sim")]
    pub(crate) fn outside(self, computed: u32) -> u64 {
        let kv_len = computed.saturating_add(1);
        u64::from(kv_len - self.keys(kv_len))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::Full => f.write_str("full attention"),
            Span::Window(tokens) => write!(f, "a window of {tokens} tokens"),
            Span::Chunk(tokens) => write!(f, "chunks of {tokens} tokens"),
        }
    }
}
