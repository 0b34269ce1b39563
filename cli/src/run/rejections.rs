//! Why requests were rejected, and what would help.

use rooflut::hardware::Dtype;
use rooflut_report::Rejections;
use rooflut_scenario::{ARRIVAL_YEARS, Run, ServerKind};

use crate::error::Error;
use crate::output::{count, scientific};

/// Requests that were rejected or abandoned for one reason.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) requests: u64,
    /// Their outcome: `rejected` or `abandoned`.
    pub(crate) end: &'static str,
    pub(crate) cause: String,
    pub(crate) next_step: String,
}

/// The error of a run that has served no request.
pub(super) fn all_rejected(rejected: &[Rejected]) -> Error {
    let causes = rejected.iter().map(|rejected| {
        let requests = count(rejected.requests);
        format!("{requests} because {}", rejected.cause)
    });
    let causes: Vec<String> = causes.collect();
    let mut ends: Vec<&str> = rejected.iter().map(|rejected| rejected.end).collect();
    ends.dedup();
    if rejected.is_empty() {
        let text = format!("no request arrives within {ARRIVAL_YEARS} years, the longest run; use shorter pauses");
        return Error::new(text);
    }
    let mut next_steps: Vec<&str> = rejected.iter().map(|r| r.next_step.as_str()).collect();
    next_steps.dedup();
    Error::new(format!("all requests were {}: {}; {}", ends.join(" or "), causes.join(", "), next_steps.join(", ")))
}

/// Where the longest request comes from.
#[derive(Clone, Copy)]
pub(crate) enum LengthLimit {
    /// `--max-model-len`.
    Flag,
    /// The KV cache holds this many tokens, fewer than the longest request of the model.
    KvCache(u32),
    /// The draft model has a smaller limit than the model.
    Draft,
    /// The model.
    Model,
}

impl LengthLimit {
    /// Returns the limit of the longest request of a kind of server.
    pub(crate) fn of(run: &Run, kind: &ServerKind) -> LengthLimit {
        if let Some(tokens) = kind.lowered_from() {
            return LengthLimit::KvCache(tokens);
        }
        let flag = kind.settings().server.max_model_len;
        let draft = run.speculation().and_then(|s| s.draft.as_ref());
        let model = kind.placement().model.spec.max_model_len;
        match draft {
            Some(draft) if flag.is_none() && draft.spec.eagle3.is_none() && draft.spec.max_model_len < model => {
                LengthLimit::Draft
            }
            _ if flag.is_some() => LengthLimit::Flag,
            _ => LengthLimit::Model,
        }
    }

    /// Returns the reason and the advice.
    pub(crate) fn remark(self) -> String {
        match self {
            LengthLimit::KvCache(tokens) => {
                format!(" (lowered from {}, as the KV cache holds no more)", count(tokens.into()))
            }
            LengthLimit::Draft => " (where the draft model ends)".to_owned(),
            LengthLimit::Flag | LengthLimit::Model => String::new(),
        }
    }

    fn cause(self, tokens: u32) -> String {
        const EXCEED: &str = "prompt and output exceed";
        let tokens = count(tokens.into());
        match self {
            LengthLimit::Flag => format!("{EXCEED} the {tokens} tokens of --max-model-len"),
            LengthLimit::KvCache(_) => {
                format!("{EXCEED} the {tokens} tokens that the KV cache holds")
            }
            LengthLimit::Draft => format!("{EXCEED} the draft model's limit of {tokens} tokens"),
            LengthLimit::Model => format!("{EXCEED} the model's limit of {tokens} tokens"),
        }
    }

    fn next_step(self, run: &Run) -> String {
        let advice = match self {
            LengthLimit::Flag => "use shorter requests or a larger --max-model-len",
            LengthLimit::KvCache(_) => {
                let flags = match (run.scenario().server.kv_blocks, run.placement().kv_dtype) {
                    (Some(_), _) => "more --kv-blocks",
                    (None, Dtype::Fp8) => "more memory (--tp, --gpu-memory-utilization)",
                    _ => "more memory (--tp, --gpu-memory-utilization, --kv-dtype fp8)",
                };
                return format!("use shorter requests, or {flags}");
            }
            LengthLimit::Draft => "use shorter requests or another draft model",
            LengthLimit::Model => "use shorter requests or another model",
        };
        advice.to_owned()
    }
}

/// The reasons that occurred.
pub(crate) fn explain(rejections: &Rejections, run: &Run) -> Vec<Rejected> {
    const CORRECT: &str = "correct the trace";
    const REJECTED: &str = "rejected";
    let patience = scientific(run.scenario().workload.patience.unwrap_or_default());
    // A pool rejects what is too long for it; of other unlike servers, all do.
    let limits = run.kinds().map(|kind| (kind.config().max_model_len, kind));
    let found = match run.pools() {
        Some(_) => limits.min_by_key(|(tokens, _)| *tokens),
        None => limits.max_by_key(|(tokens, _)| *tokens),
    };
    let (longest, limit) = found.map_or((0, LengthLimit::Model), |(tokens, kind)| (tokens, LengthLimit::of(run, kind)));
    let all = [
        (rejections.empty_prompt, REJECTED, "the prompt is empty".to_owned(), CORRECT),
        (rejections.empty_output, REJECTED, "no output token is asked for".to_owned(), CORRECT),
        (rejections.too_late, REJECTED, format!("they arrive after {ARRIVAL_YEARS} years"), "use shorter pauses"),
        (rejections.too_long, REJECTED, limit.cause(longest), &limit.next_step(run)),
        (
            rejections.queue_full,
            REJECTED,
            "the queue was full (--max-waiting)".to_owned(),
            "use a lower rate, or a larger --max-waiting",
        ),
        (
            rejections.abandoned,
            "abandoned",
            format!("no token came within {patience} s (--patience)"),
            "use a lower rate, or a longer --patience",
        ),
        (rejections.other, REJECTED, "the server cannot serve them".to_owned(), "use other requests"),
    ];
    let occurred = all.into_iter().filter(|(requests, ..)| *requests > 0);
    let rejected =
        |(requests, end, cause, next_step)| Rejected { requests, end, cause, next_step: String::from(next_step) };
    occurred.map(rejected).collect()
}
