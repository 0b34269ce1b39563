//! Sessions: turns of one user, each of which continues the one before.

use crate::sim::load::random::{Purpose, Random};
use crate::sim::load::{RequestMix, Sessions};
use crate::sim::{Content, Request};

/// Random streams of requests, one for each property.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    prompts: Random,
    outputs: Random,
    content: Random,
    priority: Random,
    turns: Random,
    think: Random,
}

impl Streams {
    pub(crate) fn new(seed: u64) -> Streams {
        Streams {
            prompts: Random::new(seed, Purpose::Prompts),
            outputs: Random::new(seed, Purpose::Outputs),
            content: Random::new(seed, Purpose::Content),
            priority: Random::new(seed, Purpose::Priority),
            turns: Random::new(seed, Purpose::Turns),
            think: Random::new(seed, Purpose::Think),
        }
    }

    /// Returns a stream for pauses outside of sessions.
    pub(crate) fn pauses(&mut self) -> Random {
        self.think.fork()
    }

    /// Returns streams for one user, which do not depend on what other users draw.
    pub(crate) fn fork(&mut self) -> Streams {
        Streams {
            prompts: self.prompts.fork(),
            outputs: self.outputs.fork(),
            content: self.content.fork(),
            priority: self.priority.fork(),
            turns: self.turns.fork(),
            think: self.think.fork(),
        }
    }
}

/// A session that has begun.
///
/// Lengths and pauses come from streams of its own, so that neither the number of its turns nor their times change
/// another session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: u64,
    content: Content,
    priority: u32,
    /// Remaining turns.
    turns: u32,
    /// Tokens of the conversation so far, with the shared prefix: the next prompt begins with them.
    history: u32,
    prompts: Random,
    outputs: Random,
    think: Random,
}

impl Session {
    /// Creates a session and its first turn.
    pub(crate) fn open(mix: &RequestMix, streams: &mut Streams, id: u64, arrival_ns: u64) -> (Session, Request) {
        let priorities = mix.priorities.as_ref();
        let sessions = mix.sessions.as_ref();
        let mut session = Session {
            id,
            content: content(mix, id, &mut streams.content),
            priority: priorities.map_or(0, |shares| shares.sample(&mut streams.priority)),
            turns: sessions.map_or(1, |all| all.turns.sample(&mut streams.turns)),
            history: mix.prefixes.map_or(0, |prefixes| prefixes.tokens()),
            prompts: streams.prompts.fork(),
            outputs: streams.outputs.fork(),
            think: streams.think.fork(),
        };
        let request = session.turn(mix, arrival_ns);
        (session, request)
    }

    /// Returns the next turn, a pause after `before_ns`, if there is one.
    pub(crate) fn next_turn(&mut self, mix: &RequestMix, before_ns: u64) -> Option<Request> {
        let Sessions { think, max_tokens, .. } = mix.sessions.as_ref()?;
        if self.turns == 0 {
            return None;
        }
        let pause_ns = think.sample_ns(&mut self.think);
        let request = self.turn(mix, before_ns.saturating_add(pause_ns));
        (request.tokens() <= u64::from(*max_tokens)).then_some(request)
    }

    fn turn(&mut self, mix: &RequestMix, arrival_ns: u64) -> Request {
        let written = mix.prompt.sample(&mut self.prompts);
        let output_tokens = mix.output.sample(&mut self.outputs);
        let prompt_tokens = self.history.saturating_add(written);
        self.history = prompt_tokens.saturating_add(output_tokens);
        self.turns = self.turns.saturating_sub(1);
        Request {
            arrival_ns,
            prompt_tokens,
            output_tokens,
            cached_prompt_tokens: mix.cached(self.id, prompt_tokens),
            priority: self.priority,
            content: self.content,
        }
    }
}

/// Returns the content of the turns of session `id`.
fn content(mix: &RequestMix, id: u64, random: &mut Random) -> Content {
    match (mix.prefixes, &mix.sessions) {
        (None, None) => Content::Unique,
        (None, Some(_)) => Content::Texts { prefix: 0, prefix_tokens: 0, own: id },
        (Some(prefixes), _) => {
            Content::Texts { prefix: prefixes.sample(random), prefix_tokens: prefixes.tokens(), own: id }
        }
    }
}
