//! Prompt tokens that a prefix hit saves.

use crate::reason::Reason;

/// Tokens of a KV block.
const BLOCK_TOKENS: u32 = 16;

/// Returns the prompt tokens that are not computed if `cached` of them are in the prefix cache: whole
/// blocks, but never the last token, which yields the first output token.
///
/// # Errors
/// More tokens are cached than the prompt has.
pub(super) fn reused(cached: u32, prompt_tokens: u32) -> Result<u32, Reason> {
    if cached > prompt_tokens {
        Err(Reason::of_row("more of a prompt is cached than there is"))
    } else {
        Ok(at_most(cached, prompt_tokens))
    }
}

/// Returns the reused tokens like [`reused`], for any number of cached tokens.
pub(super) fn at_most(cached: u32, prompt_tokens: u32) -> u32 {
    let reusable = cached.min(prompt_tokens.saturating_sub(1));
    reusable - reusable % BLOCK_TOKENS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_reused_but_never_the_last_token() {
        for (cached, prompt, expected) in
            [(0, 0, 0), (64, 100, 64), (70, 100, 64), (64, 65, 64), (64, 64, 48), (100, 100, 96)]
        {
            assert_eq!(reused(cached, prompt).unwrap(), expected);
        }
        assert!(reused(65, 64).is_err());
        assert_eq!(at_most(65, 64), 48);
    }
}
