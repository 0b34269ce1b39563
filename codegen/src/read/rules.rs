//! The scheduling rules of engine stacks: names, values and meanings.

use super::error::Error;
use super::toml_file::Value;

/// A rule that every stack has or inherits.
pub(crate) struct RuleKind {
    /// The key in `[rules]`, and the field of `SchedulingRules`.
    pub(crate) name: &'static str,
    values: Values,
    pub(crate) meaning: &'static str,
}

/// The values of a rule.
enum Values {
    /// Names, each with its variant of an enum.
    Names(&'static str, &'static [(&'static str, &'static str)]),
    Switch,
    Nanoseconds,
}

/// A rule as a file gives it.
pub(crate) struct Rule {
    pub(crate) kind: &'static RuleKind,
    /// Its value in the file.
    pub(crate) value: String,
    /// Its value in Rust.
    pub(crate) rust: String,
}

/// All rules.
pub(crate) static RULES: [RuleKind; 18] = [
    RuleKind {
        name: "scheduling",
        values: Values::Names("Scheduling", &[("sync", "Synchronous"), ("async", "OneStepAhead")]),
        meaning: "a batch is fixed when the step before it has ended (sync) or starts (async)",
    },
    RuleKind {
        name: "empty_schedule_sleep_ns",
        values: Values::Nanoseconds,
        meaning: "sleep of the engine after a schedule without work while requests are unfinished",
    },
    RuleKind {
        name: "victim_token",
        values: Values::Names("VictimToken", &[("computed", "Computed"), ("taken-back", "TakenBack")]),
        meaning: "priority: the token of a request that is preempted in the step in which it was scheduled",
    },
    RuleKind {
        name: "victim_index",
        values: Values::Names(
            "VictimIndex",
            &[("stays", "Stays"), ("moves-if-scheduled", "MovesIfScheduled"), ("moves", "Moves")],
        ),
        meaning: "priority: the index of the pass over the running requests after one before it was preempted; \
                  where it stays, a request is skipped",
    },
    RuleKind {
        name: "self_preemption",
        values: Values::Names("SelfPreemption", &[("ends-pass", "EndsPass"), ("continues", "Continues")]),
        meaning: "priority: the pass over the running requests after one that preempts itself",
    },
    RuleKind {
        name: "lone_prefill",
        values: Values::Names("LonePrefill", &[("threshold", "Threshold"), ("budget", "Budget")]),
        meaning: "chunks of a prompt while no other request runs or waits: at most long_prefill_token_threshold, or \
                  the budget of the step",
    },
    RuleKind {
        name: "scheduler_reserve_full_isl",
        values: Values::Switch,
        meaning: "a request is admitted only if the blocks of its whole prompt are free, not only the blocks of its \
                  first chunk",
    },
    RuleKind {
        name: "freed_blocks",
        values: Values::Names("FreedBlocks", &[("last", "Last"), ("uncached-first", "UncachedFirst")]),
        meaning: "freed KV blocks are reused last, or first if no lookup could find them",
    },
    RuleKind {
        name: "beyond_max_model_len",
        values: Values::Names("BeyondMaxModelLen", &[("reject", "Reject"), ("truncate", "Truncate")]),
        meaning: "a request whose prompt and max_tokens exceed max_model_len is rejected, or its output truncated",
    },
    RuleKind {
        name: "draft_scheduling",
        values: Values::Names(
            "DraftScheduling",
            &[("sync", "Synchronous"), ("async-heads", "HeadsAhead"), ("async", "Ahead")],
        ),
        meaning: "steps that verify drafts are fixed when the step before has ended (sync), as all steps if an EAGLE \
                  or MTP head drafts (async-heads), or as all steps (async)",
    },
    RuleKind {
        name: "draft_slot",
        values: Values::Switch,
        meaning: "each request takes a slot of the token budget for the draft model",
    },
    RuleKind {
        name: "admission_lookahead",
        values: Values::Switch,
        meaning: "the KV blocks into which a draft model writes are reserved at admission already, not only while a \
                  request runs",
    },
    RuleKind {
        name: "pad_spec_decode",
        values: Values::Names(
            "PadSpecDecode",
            &[("never", "Never"), ("with-running", "WithRunning"), ("always", "Always")],
        ),
        meaning: "a request with all but one token cached verifies placeholders of drafts when it is admitted: never, \
                  in steps with running requests, or always",
    },
    RuleKind {
        name: "chunk_drafts",
        values: Values::Switch,
        meaning: "sync: a draft model also drafts after each part of a prompt, and the step with the last part \
                  verifies these drafts",
    },
    RuleKind {
        name: "cache_sampled_tokens",
        values: Values::Switch,
        meaning: "with drafts, full KV blocks can be found when the step that filled them has ended, not only when \
                  the next one is scheduled",
    },
    RuleKind {
        name: "mtp_drops_block",
        values: Values::Switch,
        meaning: "the last block of a prefix hit is computed again if an MTP layer drafts",
    },
    RuleKind {
        name: "window_in_flight",
        values: Values::Switch,
        meaning: "KV blocks behind a window are kept while a step in flight may read them",
    },
    RuleKind {
        name: "chunked_groups",
        values: Values::Switch,
        meaning: "layers with chunked attention have KV cache groups of their own",
    },
];

impl RuleKind {
    /// Reads the value of the rule.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`](super::error::ErrorKind::Toml) for a value that the rule does not have.
    pub(super) fn read(&'static self, value: &Value<'_>) -> Result<Rule, Error> {
        let (text, rust) = match &self.values {
            Values::Names(of, names) => {
                let found = value.string().ok();
                let Some((name, variant)) = names.iter().find(|(name, _)| found == Some(*name)) else {
                    let names = names.iter().map(|(name, _)| format!("{name:?}")).collect::<Vec<_>>().join(" or ");
                    return Err(value.refuse(names, "correct it"));
                };
                ((*name).to_owned(), format!("{of}::{variant}"))
            }
            Values::Switch => {
                let on = value.switch()?;
                (on.to_string(), on.to_string())
            }
            Values::Nanoseconds => match value.number().ok() {
                Some(ns) if (0.0..=1e18).contains(&ns) && ns % 1.0 <= 0.0 => (ns.to_string(), ns.to_string()),
                _ => {
                    let expected = "a whole number of nanoseconds, at most 1e18";
                    return Err(value.refuse(expected, "correct it"));
                }
            },
        };
        Ok(Rule { kind: self, value: text, rust })
    }
}
