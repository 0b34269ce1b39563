//! Keys that need or exclude each other.

use std::collections::BTreeMap;

use rooflut_error::{Error, conflict, missing, no_effect, split};
use serde_json::Value;

use crate::data_sheet::names_file;
use crate::scenario::Scenario;

/// A key, `arrival`, or one value of it, `arrival = gamma`.
type Wanted = &'static str;

/// A key that needs one of others.
struct Need {
    key: Wanted,
    one_of: &'static [Wanted],
    /// Whether the key means nothing alone; else it says too little.
    idle_alone: bool,
}

const fn idle(key: Wanted, one_of: &'static [Wanted]) -> Need {
    Need { key, one_of, idle_alone: true }
}

const fn vague(key: Wanted, one_of: &'static [Wanted]) -> Need {
    Need { key, one_of, idle_alone: false }
}

const NEEDS: [Need; 28] = [
    idle("burstiness", &["arrival = gamma"]),
    idle("think_time", &["users", "turns"]),
    idle("retries", &["patience"]),
    idle("priorities", &["policy = priority"]),
    idle("router", &["replicas", "prefill_replicas", "fleet"]),
    idle("trace_format", &["trace"]),
    idle("columns", &["trace"]),
    idle("trace_speed", &["trace"]),
    idle("trace_requests", &["trace"]),
    idle("trace_duration", &["trace"]),
    idle("where", &["trace"]),
    idle("windows_out", &["windows"]),
    idle("acceptance", &["draft_tokens"]),
    idle("draft_model", &["draft_tokens"]),
    idle("prefill", &["prefill_replicas"]),
    idle("decode", &["prefill_replicas"]),
    idle("link_bandwidth", &["prefill_replicas"]),
    idle("link_latency", &["prefill_replicas"]),
    idle("require", &["goodput"]),
    idle("attainment", &["require"]),
    vague("arrival = gamma", &["burstiness"]),
    vague("policy = priority", &["priorities", "trace"]),
    vague("turns", &["think_time", "users"]),
    vague("draft_tokens", &["draft_model"]),
    vague("decode_replicas", &["prefill_replicas"]),
    vague("prefill_replicas", &["decode_replicas"]),
    vague("prefill_replicas", &["link_bandwidth"]),
    vague("prefill_replicas", &["link_latency"]),
];

/// A key that others leave without effect.
struct Idle {
    key: Wanted,
    is_idle: fn(&Given) -> bool,
    why: &'static str,
}

const IDLE: [Idle; 4] = [
    Idle {
        key: "base",
        is_idle: |given| !given.0.get("gpu").and_then(Value::as_str).is_some_and(names_file),
        why: "it is for a GPU that a data sheet describes, such as my-gpu.toml",
    },
    Idle {
        key: "router",
        is_idle: |given| {
            let pools = ["prefill_replicas = 1", "decode_replicas = 1"];
            given.has("replicas = 1") || pools.iter().all(|pool| given.has(pool))
        },
        why: "there is one server to send requests to",
    },
    Idle {
        key: "router = prefix-affinity",
        is_idle: |given| given.has("prefix_caching = off"),
        why: "servers without prefix caching have no prefixes to route by",
    },
    Idle {
        key: "think_time",
        is_idle: |given| given.has("turns = 1") && !given.has("users"),
        why: "no turn follows the only one of a session",
    },
];

/// A key that excludes others.
struct Conflict {
    key: Wanted,
    with: &'static [Wanted],
    why: Option<&'static str>,
}

const fn excludes(key: Wanted, with: &'static [Wanted]) -> Conflict {
    Conflict { key, with, why: None }
}

const CONFLICTS: [Conflict; 11] = [
    Conflict {
        key: "draft_tokens",
        with: &["prefill_replicas"],
        why: Some("speculative decoding on servers that only decode is not modelled"),
    },
    excludes("users", &["rate", "arrival", "burstiness"]),
    excludes("cached_prompt", &["prefixes", "turns"]),
    excludes("prefix_hit_rate", &["cached_prompt", "prefixes", "turns", "prefix_caching = off"]),
    excludes("prefill_replicas", &["replicas"]),
    excludes("decode_replicas", &["replicas"]),
    excludes("fleet", &["replicas", "prefill_replicas", "decode_replicas"]),
    excludes("tables", &["gpu"]),
    excludes("columns", &["trace_format"]),
    Conflict {
        key: "kv_blocks",
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
            "prefix_hit_rate",
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
    pub(crate) fn of(scenario: &Scenario) -> Result<Given, Error> {
        let sections = scenario.sections()?;
        let keys = sections.values().filter_map(Value::as_object).flatten();
        let given = keys.filter(|(_, value)| !value.is_null());
        let given = given.map(|(key, value)| (key.clone(), value.clone()));
        Ok(Given(given.collect()))
    }

    fn has(&self, wanted: Wanted) -> bool {
        let (key, value) = split(wanted);
        let found = self.0.get(key);
        found.is_some_and(|found| match (value, found) {
            (None, _) => true,
            (Some(value), Value::String(found)) => value == found,
            (Some(value), found) => found.as_u64().is_some_and(|found| value.parse() == Ok(found)),
        })
    }

    fn has_any(&self, wanted: &[Wanted]) -> bool {
        wanted.iter().any(|wanted| self.has(wanted))
    }

    /// Whether `key`, as it is here, gives way to `others`, which replace or exclude it.
    fn gives_way(&self, key: &str, others: &Given) -> bool {
        let excluded = |Conflict { key: of, with, .. }: &Conflict| {
            let left = split(of).0 == key && self.has(of) && others.has_any(with);
            let is_right = with.contains(&key) && self.0.contains_key(key);
            left || (is_right && others.has(of))
        };
        others.0.contains_key(key) || CONFLICTS.iter().any(excluded)
    }

    /// Whether `key` has no effect without another key, or with another.
    fn is_idle(&self, key: &str) -> bool {
        let alone = |need: &Need| need.idle_alone && need.key == key && !self.has_any(need.one_of);
        let beside = |idle: &Idle| split(idle.key).0 == key && self.has(idle.key) && (idle.is_idle)(self);
        NEEDS.iter().any(alone) || IDLE.iter().any(beside)
    }

    /// Keys that give way to `others`, with those that lose their effect beside these.
    pub(crate) fn replaced_by(&self, others: &Given) -> Vec<String> {
        let mut all = self.clone();
        all.0.retain(|key, _| !self.gives_way(key, others));
        let kept = all.clone();
        all.0.extend(others.0.clone());
        let is_kept = |key: &str| kept.0.contains_key(key) && (self.is_idle(key) || !all.is_idle(key));
        let replaced = self.0.keys().filter(|key| !is_kept(key));
        replaced.cloned().collect()
    }

    /// Rejects keys that exclude each other, lack another, or have no effect.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for &Conflict { key, with, why } in &CONFLICTS {
            let other = with.iter().find(|with| self.has(with));
            match other.filter(|_| self.has(key)) {
                Some(&"requests") if key == "trace" => {
                    let first = rooflut_error::key("trace_requests");
                    let why = format!("a trace has requests of its own, of which {first} replays the first");
                    return Err(conflict(key, "requests", Some(&why)));
                }
                Some(with) => return Err(conflict(key, with, why)),
                None => (),
            }
        }
        let lacks = |need: &&Need| self.has(need.key) && !self.has_any(need.one_of);
        if let Some(&Need { key, .. }) = NEEDS.iter().find(lacks) {
            return Err(missing(key, &self.lacking(key)));
        }
        let is_idle = |idle: &&Idle| self.has(idle.key) && (idle.is_idle)(self);
        match IDLE.iter().find(is_idle) {
            Some(Idle { key, why, .. }) => Err(no_effect(key, why)),
            None => Ok(()),
        }
    }

    /// The keys that `key` lacks, and those that these would lack, as lists of which one is needed.
    fn lacking(&self, key: Wanted) -> Vec<&'static [Wanted]> {
        let mut needs: Vec<&[Wanted]> = Vec::new();
        let mut keys = vec![key];
        while let Some(key) = keys.pop() {
            let lacks = |need: &&Need| need.key == key && !self.has_any(need.one_of);
            for Need { one_of, .. } in NEEDS.iter().filter(lacks) {
                if !needs.contains(one_of) {
                    needs.push(one_of);
                    keys.extend(one_of.first().filter(|_| one_of.len() == 1));
                }
            }
        }
        needs
    }
}
