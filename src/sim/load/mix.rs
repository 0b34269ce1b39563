//! Properties of the requests of a load.

use crate::error::Invalid;
use crate::sim::load::random::Random;
use crate::sim::load::weights::Weights;
use crate::sim::load::{Lengths, ThinkTime};

/// Properties of the requests of a load: lengths, shared prefixes, sessions and priorities.
///
/// [`SyntheticLoad`](crate::sim::load::SyntheticLoad) and [`ClosedLoop`](crate::sim::load::ClosedLoop) add the
/// arrivals. Each property has its own random stream, so changing one property does not change the others.
///
/// ```
/// use rooflut::sim::load::{Lengths, Priorities, RequestMix, Sessions, SharedPrefixes, ThinkTime};
/// use rooflut::units::Seconds;
///
/// let prompt = Lengths::try_lognormal(200.0, 1.0, 1..=8_192)?;
/// let output = Lengths::try_uniform(100..=500)?;
/// let turns = Lengths::try_uniform(1..=8)?;
/// let think = ThinkTime::try_exponential(Seconds(20.0))?;
/// let chat = RequestMix::new(prompt, output)
///     .with_prefixes(SharedPrefixes::try_new(10, 1_000)?)
///     .with_sessions(Sessions::new(turns, think).with_max_tokens(16_384))
///     .with_priorities(Priorities::try_new([0.2, 0.8])?);
/// assert!(chat.sessions.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestMix {
    /// Tokens that the user writes; a shared prefix and earlier turns are added to the prompt.
    pub prompt: Lengths,
    /// Tokens of the output.
    pub output: Lengths,
    /// Shared prefixes of prompts.
    pub prefixes: Option<SharedPrefixes>,
    /// Multi-turn sessions; `None` for independent requests.
    pub sessions: Option<Sessions>,
    /// Priorities; `None` for priority 0.
    pub priorities: Option<Priorities>,
    /// Leading tokens of every prompt that are in the prefix cache, independent of `prefixes` and `sessions`; at
    /// most the whole prompt.
    pub cached_prompt_tokens: u32,
    /// A share of each prompt that is in the prefix cache in place of `cached_prompt_tokens`.
    pub cached_share: Option<CachedShare>,
}

impl RequestMix {
    /// Creates a mix of independent requests that share no tokens.
    pub fn new(prompt: Lengths, output: Lengths) -> RequestMix {
        RequestMix {
            prompt,
            output,
            prefixes: None,
            sessions: None,
            priorities: None,
            cached_prompt_tokens: 0,
            cached_share: None,
        }
    }

    /// Sets the shared prefixes of prompts.
    pub fn with_prefixes(self, prefixes: SharedPrefixes) -> RequestMix {
        let prefixes = Some(prefixes);
        RequestMix { prefixes, ..self }
    }

    /// Sets multi-turn sessions.
    pub fn with_sessions(self, sessions: Sessions) -> RequestMix {
        let sessions = Some(sessions);
        RequestMix { sessions, ..self }
    }

    /// Sets the priorities.
    pub fn with_priorities(self, priorities: Priorities) -> RequestMix {
        let priorities = Some(priorities);
        RequestMix { priorities, ..self }
    }

    /// Sets the number of leading tokens of every prompt that are in the prefix cache.
    pub fn with_cached_prompt(self, cached_prompt_tokens: u32) -> RequestMix {
        RequestMix { cached_prompt_tokens, ..self }
    }

    /// Sets the share of each prompt that is in the prefix cache.
    pub fn with_cached_share(self, cached_share: CachedShare) -> RequestMix {
        RequestMix { cached_share: Some(cached_share), ..self }
    }

    /// Returns the leading tokens of the prompt of session `id` that are in the prefix cache.
    pub(crate) fn cached(&self, id: u64, prompt_tokens: u32) -> u32 {
        match self.cached_share {
            Some(share) => share.tokens(id, prompt_tokens),
            None => self.cached_prompt_tokens.min(prompt_tokens),
        }
    }
}

/// A share of each prompt that is in the prefix cache, in whole KV blocks.
///
/// A share that ends within a block is rounded up for as many requests as makes the share right on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachedShare {
    share: f64,
    block_size: u32,
}

impl CachedShare {
    /// Creates the share of prompts in blocks of `block_size` tokens.
    ///
    /// # Errors
    ///
    /// A share that is not between 0 and 1, both included, and a block of 0 tokens.
    pub fn try_new(share: f64, block_size: u32) -> Result<CachedShare, Invalid> {
        if block_size == 0 {
            return Err(Invalid::zero("tokens of a KV block"));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(Invalid::new("share of cached prompt tokens", "expected 0 to 1, found {}", &[share.into()]));
        }
        Ok(CachedShare { share, block_size })
    }

    /// Returns the tokens of the prompt of session `id`, which are at most those of the prompt.
    fn tokens(self, id: u64, prompt_tokens: u32) -> u32 {
        // The multiples of the golden ratio are spread evenly between whole numbers.
        let spread = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / 18_446_744_073_709_551_616.0;
        let blocks = self.share * f64::from(prompt_tokens) / f64::from(self.block_size) + spread;
        // The cast rounds down.
        (blocks as u32).saturating_mul(self.block_size).min(prompt_tokens)
    }
}

/// Shared prefixes of one length, such as system prompts. Each session begins with one prefix, chosen uniformly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedPrefixes {
    groups: u32,
    tokens: u32,
}

impl SharedPrefixes {
    /// Creates `groups` different prefixes of `tokens` tokens each.
    ///
    /// # Errors
    ///
    /// 0 groups.
    pub fn try_new(groups: u32, tokens: u32) -> Result<SharedPrefixes, Invalid> {
        if groups == 0 {
            return Err(Invalid::zero("groups of shared prefixes"));
        }
        Ok(SharedPrefixes { groups, tokens })
    }

    /// Returns the tokens of each prefix.
    pub fn tokens(self) -> u32 {
        self.tokens
    }

    /// Draws the id of a prefix. Prefixes count down from the last id, sessions up from 0.
    pub(crate) fn sample(self, random: &mut Random) -> u64 {
        u64::MAX - random.below(u64::from(self.groups))
    }
}

/// Multi-turn sessions. The prompt of each turn is the conversation so far, prompts and outputs, followed by what the
/// user adds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sessions {
    /// Turns of a session.
    pub turns: Lengths,
    /// Pause before every turn but the first.
    pub think: ThinkTime,
    /// Maximum tokens of prompt and output of a turn. A session ends before a turn with more, but not before its
    /// first.
    pub max_tokens: u32,
}

impl Sessions {
    /// Creates sessions without a maximum length.
    pub fn new(turns: Lengths, think: ThinkTime) -> Sessions {
        Sessions { turns, think, max_tokens: u32::MAX }
    }

    /// Sets the maximum tokens of a turn, such as the `max_model_len` of the server.
    pub fn with_max_tokens(self, max_tokens: u32) -> Sessions {
        Sessions { max_tokens, ..self }
    }
}

/// The share of sessions with each priority.
#[derive(Debug, Clone, PartialEq)]
pub struct Priorities(Weights);

impl Priorities {
    /// Creates priorities from the shares of priority 0, 1 and so on. The shares need not add up to 1.
    ///
    /// # Errors
    ///
    /// An empty list, a negative share, or a sum of shares that is not positive and finite.
    pub fn try_new(shares: impl IntoIterator<Item = f64>) -> Result<Priorities, Invalid> {
        Weights::try_new("shares of priorities", shares).map(Priorities)
    }

    /// Draws a priority.
    pub(crate) fn sample(&self, random: &mut Random) -> u32 {
        self.0.pick(random) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_share_is_whole_blocks_and_right_on_average() {
        let cached = |share, prompt_tokens| {
            let share = CachedShare::try_new(share, 16).unwrap();
            (0..1_000).map(move |id| share.tokens(id, prompt_tokens)).collect::<std::vec::Vec<u32>>()
        };
        // 25.6 blocks of 512 tokens.
        let some = cached(0.8, 512);
        assert!(some.iter().all(|tokens| [400, 416].contains(tokens)));
        let mean = some.iter().sum::<u32>() as f64 / 1e3;
        assert!((mean - 409.6).abs() < 0.1, "{mean}");
        assert!(cached(0.5, 512).iter().all(|tokens| *tokens == 256));
        assert!(cached(0.0, 512).iter().all(|tokens| *tokens == 0));
        assert!(cached(1.0, 20).iter().all(|tokens| [16, 20].contains(tokens)));
        assert!(CachedShare::try_new(1.1, 16).is_err() && CachedShare::try_new(0.5, 0).is_err());
    }
}
