//! Which flags of `rooflut run` need others, and which cannot be together beyond what clap says.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Mistake;

/// A flag, with this value where there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Its name without dashes.
    pub(super) flag: &'static str,
    pub(super) value: Option<&'static str>,
}

const fn any(flag: &'static str) -> Wanted {
    Wanted { flag, value: None }
}

const fn exactly(flag: &'static str, value: &'static str) -> Wanted {
    let value = Some(value);
    Wanted { flag, value }
}

/// A flag and others of which it needs one.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) of: Wanted,
    pub(super) one_of: &'static [Wanted],
}

const fn needs(of: Wanted, one_of: &'static [Wanted]) -> Rule {
    Rule { of, one_of }
}

/// Flags that mean nothing without another: they go with it.
pub(super) const IDLE_WITHOUT: [Rule; 8] = [
    needs(any("burstiness"), &[exactly("arrival", "gamma")]),
    needs(any("think-time"), &[any("users"), any("turns")]),
    needs(any("trace-format"), &[any("trace")]),
    needs(any("where"), &[any("trace")]),
    needs(any("acceptance"), &[any("draft-tokens")]),
    needs(any("draft-model"), &[any("draft-tokens")]),
    needs(any("link-bandwidth"), &[any("prefill-replicas")]),
    needs(any("link-latency"), &[any("prefill-replicas")]),
];

/// Flags that do not say enough without another.
const VAGUE_WITHOUT: [Rule; 8] = [
    needs(exactly("arrival", "gamma"), &[any("burstiness")]),
    needs(any("turns"), &[any("think-time"), any("users")]),
    needs(any("draft-tokens"), &[any("draft-model")]),
    needs(any("draft-tokens"), &[any("acceptance")]),
    needs(any("decode-replicas"), &[any("prefill-replicas")]),
    needs(any("prefill-replicas"), &[any("decode-replicas")]),
    needs(any("prefill-replicas"), &[any("link-bandwidth")]),
    needs(any("prefill-replicas"), &[any("link-latency")]),
];

/// Two flags that cannot be together.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) of: Wanted,
    pub(super) with: Wanted,
    /// The reason, and what to do.
    why: &'static str,
}

/// Flags that cannot be together for a reason that is worth telling.
pub(super) const CONFLICTS: [Conflict; 2] = [
    Conflict {
        of: exactly("scheduling", "async"),
        with: any("draft-tokens"),
        why: "how many tokens a step yields is known when it has ended; leave it out",
    },
    Conflict {
        of: any("draft-tokens"),
        with: any("prefill-replicas"),
        why: "speculative decoding on servers that only decode is not modelled; leave one of the two out",
    },
];

/// Refuses a flag whose others are missing, or that cannot be beside another.
pub(super) fn check(matches: &ArgMatches) -> Result<(), Mistake> {
    let is_given = |wanted: &Wanted| is_given(matches, wanted);
    let mut conflicts = CONFLICTS.iter();
    if let Some(Conflict { of, with, why }) =
        conflicts.find(|conflict| is_given(&conflict.of) && is_given(&conflict.with))
    {
        return Err(Mistake::Refused {
            flag: Some(of.flag.to_owned()),
            message: format!("{} cannot be with {}: {why}", of.shown(), with.shown()),
        });
    }
    let mut rules = IDLE_WITHOUT.iter().chain(&VAGUE_WITHOUT);
    let broken = rules.find(|rule| is_given(&rule.of) && !rule.one_of.iter().any(is_given));
    let Some(Rule { of, one_of }) = broken else {
        return Ok(());
    };
    let others: Vec<String> = one_of.iter().map(Wanted::shown).collect();
    Err(Mistake::Refused {
        flag: Some(of.flag.to_owned()),
        message: format!("{} needs {}; add it", of.shown(), others.join(" or ")),
    })
}

fn is_given(matches: &ArgMatches, wanted: &Wanted) -> bool {
    // Ids are names with underscores.
    let id = wanted.flag.replace('-', "_");
    let given = matches.value_source(&id) == Some(ValueSource::CommandLine);
    given
        && wanted.value.is_none_or(|value| {
            let mut values = matches.get_raw(&id).into_iter().flatten();
            values.any(|found| found == value)
        })
}

impl Wanted {
    fn shown(&self) -> String {
        let value = self
            .value
            .map_or_else(String::new, |value| format!(" {value}"));
        format!("--{}{value}", self.flag)
    }
}
