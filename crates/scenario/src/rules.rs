//! Keys that need or exclude each other.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Problem;
use crate::scenario::Scenario;

/// A key, with this value where there is one.
pub(crate) type Wanted = (&'static str, Option<&'static str>);

/// A key that needs one of others.
struct Need {
    key: Wanted,
    one_of: &'static [Wanted],
    /// Whether the key means nothing alone; else it says too little.
    idle_alone: bool,
}

const fn any(key: &'static str) -> Wanted {
    (key, None)
}

const fn idle(key: &'static str, one_of: &'static [Wanted]) -> Need {
    Need {
        key: any(key),
        one_of,
        idle_alone: true,
    }
}

const fn vague(key: Wanted, one_of: &'static [Wanted]) -> Need {
    Need {
        key,
        one_of,
        idle_alone: false,
    }
}

const NEEDS: [Need; 19] = [
    idle("burstiness", &[("arrival", Some("gamma"))]),
    idle("think_time", &[any("users"), any("turns")]),
    idle("priorities", &[("policy", Some("priority"))]),
    idle("router", &[any("replicas"), any("prefill_replicas")]),
    idle("trace_format", &[any("trace")]),
    idle("where", &[any("trace")]),
    idle("acceptance", &[any("draft_tokens")]),
    idle("draft_model", &[any("draft_tokens")]),
    idle("link_bandwidth", &[any("prefill_replicas")]),
    idle("link_latency", &[any("prefill_replicas")]),
    vague(("arrival", Some("gamma")), &[any("burstiness")]),
    vague(
        ("policy", Some("priority")),
        &[any("priorities"), any("trace")],
    ),
    vague(any("turns"), &[any("think_time"), any("users")]),
    vague(any("draft_tokens"), &[any("draft_model")]),
    vague(any("draft_tokens"), &[any("acceptance")]),
    vague(any("decode_replicas"), &[any("prefill_replicas")]),
    vague(any("prefill_replicas"), &[any("decode_replicas")]),
    vague(any("prefill_replicas"), &[any("link_bandwidth")]),
    vague(any("prefill_replicas"), &[any("link_latency")]),
];

/// A key that excludes others.
struct Conflict {
    key: Wanted,
    with: &'static [&'static str],
    why: Option<&'static str>,
}

const fn excludes(key: &'static str, with: &'static [&'static str]) -> Conflict {
    Conflict {
        key: any(key),
        with,
        why: None,
    }
}

const CONFLICTS: [Conflict; 9] = [
    Conflict {
        key: ("scheduling", Some("async")),
        with: &["draft_tokens"],
        why: Some("the tokens of a step are known when it has ended"),
    },
    Conflict {
        key: any("draft_tokens"),
        with: &["prefill_replicas"],
        why: Some("speculative decoding on servers that only decode is not modelled"),
    },
    excludes("users", &["rate", "arrival", "burstiness"]),
    excludes("cached_prompt", &["prefixes", "turns"]),
    excludes("prefill_replicas", &["replicas"]),
    excludes("decode_replicas", &["replicas"]),
    excludes("tables", &["gpu"]),
    Conflict {
        key: any("kv_blocks"),
        with: &["gpu_memory_utilization"],
        why: Some("it determines the number of KV blocks"),
    },
    excludes(
        "trace",
        &[
            "rate",
            "arrival",
            "burstiness",
            "users",
            "requests",
            "prompt",
            "output",
            "cached_prompt",
            "prefixes",
            "turns",
            "think_time",
            "priorities",
            "seed",
            "seeds",
        ],
    ),
];

/// Keys that are given, with their values as text or JSON.
#[derive(Clone)]
pub(crate) struct Given(BTreeMap<String, Value>);

impl Given {
    pub(crate) fn of(scenario: &Scenario) -> Result<Given, Problem> {
        let sections = serde_json::to_value(scenario);
        let sections = sections.map_err(|error| Problem::Data(error.to_string()))?;
        let sections = sections.as_object().into_iter().flatten();
        let keys = sections.filter_map(|(_, keys)| keys.as_object()).flatten();
        let given = keys.filter(|(_, value)| !value.is_null());
        let given = given.map(|(key, value)| (key.clone(), value.clone()));
        Ok(Given(given.collect()))
    }

    fn has(&self, (key, value): Wanted) -> bool {
        let found = self.0.get(key);
        found.is_some_and(|found| value.is_none_or(|value| found.as_str() == Some(value)))
    }

    fn has_any(&self, wanted: &[Wanted]) -> bool {
        wanted.iter().any(|wanted| self.has(*wanted))
    }

    /// Whether `key`, as it is here, gives way to `others`, which replace or exclude it.
    fn gives_way(&self, key: &str, others: &Given) -> bool {
        let excluded = |conflict: &Conflict| {
            let with = |given: &Given, name: &str| {
                conflict
                    .with
                    .iter()
                    .any(|with| *with == name && given.has(any(with)))
            };
            let left = conflict.key.0 == key
                && self.has(conflict.key)
                && conflict.with.iter().any(|with| others.has(any(with)));
            left || (others.has(conflict.key) && with(self, key))
        };
        others.0.contains_key(key) || CONFLICTS.iter().any(excluded)
    }

    /// Keys that give way to `others`, with those that mean nothing without one of these.
    pub(crate) fn replaced_by(&self, others: &Given) -> Vec<String> {
        let mut kept = self.clone();
        kept.0.retain(|key, _| !self.gives_way(key, others));
        let is_idle = |key: &str| {
            let mut needs = NEEDS
                .iter()
                .filter(|need| need.idle_alone && need.key.0 == key);
            needs.any(|need| {
                let lacks = !kept.has_any(need.one_of) && !others.has_any(need.one_of);
                self.has_any(need.one_of) && lacks
            })
        };
        let keys = self.0.keys();
        let replaced = keys.filter(|key| !kept.0.contains_key(*key) || is_idle(key));
        replaced.cloned().collect()
    }

    /// Rejects keys that exclude each other or lack another.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        for Conflict { key, with, why } in &CONFLICTS {
            let other = with.iter().find(|with| self.has(any(with)));
            if let Some(with) = other.filter(|_| self.has(*key)) {
                let (key, why) = (*key, *why);
                return Err(Problem::Conflict { key, with, why });
            }
        }
        let lacks = |need: &&Need| self.has(need.key) && !self.has_any(need.one_of);
        match NEEDS.iter().find(lacks) {
            Some(&Need { key, one_of, .. }) => Err(Problem::Missing { key, one_of }),
            None => Ok(()),
        }
    }
}
