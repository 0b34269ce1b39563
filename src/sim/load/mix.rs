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
}

impl RequestMix {
    /// Creates a mix of independent requests that share no tokens.
    pub fn new(prompt: Lengths, output: Lengths) -> RequestMix {
        RequestMix { prompt, output, prefixes: None, sessions: None, priorities: None, cached_prompt_tokens: 0 }
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
