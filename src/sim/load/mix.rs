//! What the requests of a load look like.

use crate::sim::SimError;
use crate::sim::load::random::Random;
use crate::sim::load::weights::Weights;
use crate::sim::load::{Lengths, ThinkTime};

/// What the requests of a load look like: how long they are, what they share, how urgent they are.
///
/// [`SyntheticLoad`](crate::sim::load::SyntheticLoad) and [`ClosedLoop`](crate::sim::load::ClosedLoop) say when
/// they come. Every property is drawn from a stream of its own, so that a change of one leaves the
/// others as they were.
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
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestMix {
    /// Tokens that the user writes: the prompt without a shared prefix and earlier turns, which come
    /// on top.
    pub prompt: Lengths,
    /// Tokens of the output.
    pub output: Lengths,
    /// Texts that prompts begin with.
    pub prefixes: Option<SharedPrefixes>,
    /// Turns of a conversation; without it each request stands alone.
    pub sessions: Option<Sessions>,
    /// Classes of priority; without it all requests have priority 0.
    pub priorities: Option<Priorities>,
    /// Leading tokens of every prompt that the prefix cache holds, whatever `prefixes` and `sessions`
    /// say; of shorter prompts all.
    pub cached_prompt_tokens: u32,
}

impl RequestMix {
    /// Requests that stand alone and share nothing.
    pub fn new(prompt: Lengths, output: Lengths) -> RequestMix {
        RequestMix {
            prompt,
            output,
            prefixes: None,
            sessions: None,
            priorities: None,
            cached_prompt_tokens: 0,
        }
    }

    /// The same, where prompts begin with one of a few texts.
    pub fn with_prefixes(self, prefixes: SharedPrefixes) -> RequestMix {
        let prefixes = Some(prefixes);
        RequestMix { prefixes, ..self }
    }

    /// The same, where requests are turns of conversations.
    pub fn with_sessions(self, sessions: Sessions) -> RequestMix {
        let sessions = Some(sessions);
        RequestMix { sessions, ..self }
    }

    /// The same, where some requests are more urgent than others.
    pub fn with_priorities(self, priorities: Priorities) -> RequestMix {
        let priorities = Some(priorities);
        RequestMix { priorities, ..self }
    }

    /// The same, where the prefix cache holds the first tokens of every prompt.
    pub fn with_cached_prompt(self, cached_prompt_tokens: u32) -> RequestMix {
        RequestMix {
            cached_prompt_tokens,
            ..self
        }
    }
}

/// Texts of one length, such as system prompts; each session begins with one of them, all equally
/// often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedPrefixes {
    groups: u32,
    tokens: u32,
}

impl SharedPrefixes {
    /// `groups` different texts of `tokens` tokens each.
    ///
    /// # Errors
    ///
    /// [`SimError::ZeroLimit`] for no group.
    pub fn try_new(groups: u32, tokens: u32) -> Result<SharedPrefixes, SimError> {
        if groups == 0 {
            let limit = "groups of shared prefixes";
            return Err(SimError::ZeroLimit { limit });
        }
        Ok(SharedPrefixes { groups, tokens })
    }

    /// Tokens of each text.
    pub fn tokens(self) -> u32 {
        self.tokens
    }

    /// The id of one of the texts. They count down from the last id, those of sessions up from 0.
    pub(crate) fn sample(self, random: &mut Random) -> u64 {
        u64::MAX - random.below(u64::from(self.groups))
    }
}

/// Conversations of several turns. The prompt of each turn is everything said so far, prompts and
/// outputs, and then what the user adds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sessions {
    /// Turns of a session.
    pub turns: Lengths,
    /// The pause before every turn but the first.
    pub think: ThinkTime,
    /// Prompt and output that a turn may have: a session ends before a turn that would have more, but
    /// not before its first.
    pub max_tokens: u32,
}

impl Sessions {
    /// Sessions that end after their last turn, however long they have grown.
    pub fn new(turns: Lengths, think: ThinkTime) -> Sessions {
        Sessions {
            turns,
            think,
            max_tokens: u32::MAX,
        }
    }

    /// The same, ending before a turn of more tokens than a server takes (its `max_model_len`).
    pub fn with_max_tokens(self, max_tokens: u32) -> Sessions {
        Sessions { max_tokens, ..self }
    }
}

/// Shares of the sessions in each class of priority.
#[derive(Debug, Clone, PartialEq)]
pub struct Priorities(Weights);

impl Priorities {
    /// The first share is that of priority 0, the next that of priority 1 and so on; shares have any
    /// sum.
    ///
    /// # Errors
    ///
    /// [`SimError::NothingToDraw`] without a share, [`SimError::InvalidParameter`] unless shares and
    /// their sum are finite, no share is negative and the sum is positive.
    pub fn try_new(shares: impl IntoIterator<Item = f64>) -> Result<Priorities, SimError> {
        Weights::try_new("shares of priorities", shares).map(Priorities)
    }

    /// One class.
    pub(crate) fn sample(&self, random: &mut Random) -> u32 {
        self.0.pick(random) as u32
    }
}
