//! Why a scenario cannot be run.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use rooflut::deployment::DeploymentError;
use rooflut::engine::stacks;
use rooflut::model::{MemoryError, SpecError};
use rooflut::sim::{SimConfig, SimError, StepTimeError};
use rooflut::step::UncertainPart;

use crate::acceptance;
use crate::error::{KeyName, ScenarioError, key_name};
use crate::file::key;
use crate::fitting::Fitting;
use crate::lengths_file::LengthsError;
use crate::model::Model;
use crate::number::{gib, grouped};
use crate::prices::PricesError;
use crate::refusal::{Refusal, accepting};
use rooflut_error::{either, hint};

/// The key of the maximum number of tokens of a step.
pub(crate) const MAX_TOKENS: &str = "max_num_batched_tokens";
/// Years of 365 days from the start of a run in which requests can arrive.
pub const ARRIVAL_YEARS: u64 = SimConfig::LAST_ARRIVAL_NS / (365 * 24 * 3600 * 1_000_000_000);

/// Why a scenario cannot be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A value is out of range, or keys contradict or lack each other.
    Scenario(ScenarioError),
    /// No engine stack has this name.
    UnknownEngine {
        /// The name as given.
        name: String,
        /// Similar names.
        nearest: Vec<&'static str>,
    },
    /// The engine is older than all stacks.
    OldEngine {
        /// The name as given.
        name: String,
        /// The oldest stack of this engine.
        oldest: &'static str,
    },
    /// No table set has this name.
    UnknownTables {
        /// The name as given.
        name: String,
        /// Similar names.
        nearest: Vec<&'static str>,
        /// All names.
        known: Vec<&'static str>,
        /// Whether it is the path of a file or folder, which another key takes.
        is_path: bool,
    },
    /// The ranks cannot share the model.
    Tp {
        /// The model.
        model: Box<Model>,
        /// The dimension that cannot be divided.
        error: SpecError,
        /// The values of `key` with which they can.
        possible: Vec<u32>,
        /// `tp`, or `dp` if no `tp` divides the model among so many ranks.
        key: &'static str,
    },
    /// The tables cannot answer for the model.
    Refused(Box<Refusal>),
    /// The draft model has another vocabulary.
    DraftVocabulary {
        /// The draft model.
        draft: String,
        /// Its vocabulary, tokens.
        found: u32,
        /// The model.
        model: String,
        /// Its vocabulary, tokens.
        expected: u32,
    },
    /// Drafts of an MTP layer that the model does not have.
    NoMtp {
        /// The model.
        model: String,
    },
    /// The acceptance of drafts is neither given nor measured.
    NoAcceptance {
        /// Drafted tokens.
        draft_tokens: u32,
    },
    /// Requests may be longer than the draft model takes.
    DraftContext {
        /// The draft model.
        draft: String,
        /// Its longest request, tokens.
        longest: u32,
        /// The longest request asked for, tokens.
        found: u32,
    },
    /// The deployment contradicts itself in another way.
    Deployment(DeploymentError),
    /// Weights and overheads need more memory than there is.
    DoesNotFit {
        /// The model, and its draft model.
        model: String,
        /// The GPU.
        gpu: String,
        /// Tensor parallelism.
        tp: u32,
        /// Share of the memory that the server uses.
        utilization: f64,
        /// Maximum number of tokens of a step.
        max_num_batched_tokens: u32,
        /// Bytes that each GPU needs.
        needed_bytes: f64,
        /// Bytes that each GPU has at this share.
        usable_bytes: f64,
        /// Settings with which the model fits.
        fitting: Vec<Fitting>,
    },
    /// The KV cache holds less than the longest request that is asked for.
    ContextTooLong {
        /// The longest request that the KV cache holds, tokens.
        longest: u32,
        /// The longest request asked for, tokens.
        found: u32,
        /// A setting with which the KV cache holds it.
        fitting: Option<Fitting>,
    },
    /// A memory limit is out of range.
    Memory(MemoryError),
    /// A limit of the server or the load is out of range.
    Sim(SimError),
    /// More tokens of a prompt are cached than the shortest prompt has.
    CachedPrompt {
        /// Cached tokens.
        cached: u32,
        /// Tokens of the shortest prompt.
        prompt: u32,
    },
    /// Requests arrive later than the clock of the simulation can represent.
    LateArrival {
        /// Requests per second.
        rate: f64,
        /// The first request that is too late, from 1.
        request: usize,
    },
    /// The run ends before its warm-up does.
    LongWarmUp {
        /// The warm-up, seconds.
        found_s: f64,
        /// When the last request of the run arrives, seconds.
        run_s: f64,
    },
    /// A file cannot be read.
    Read {
        /// The key that names it.
        key: &'static str,
        /// Its path as given.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of lengths is wrong.
    Lengths {
        /// The key that names it.
        key: &'static str,
        /// Its path as given.
        path: PathBuf,
        /// The problem.
        error: LengthsError,
    },
    /// A file of prices is wrong.
    Prices {
        /// Its path as given.
        path: PathBuf,
        /// The problem.
        error: PricesError,
    },
    /// The default prices are wrong.
    BuiltInPrices(PricesError),
    /// A trace is wrong.
    Trace {
        /// Its path as given.
        path: PathBuf,
        /// The problem.
        error: rooflut_error::Error,
    },
    /// A part of the steps is less certain than is accepted.
    UncertainPart(UncertainPart),
    /// The run was [stopped](crate::Stop).
    Stopped,
}

impl RunError {
    /// The keys that the error is about; the first one that is given is the one to correct.
    pub fn keys(&self) -> Vec<&'static str> {
        match self {
            RunError::Scenario(error) => error.problem.key().into_iter().collect(),
            RunError::UnknownEngine { .. } | RunError::OldEngine { .. } => vec!["engine"],
            RunError::UnknownTables { .. } => vec!["gpu"],
            RunError::Tp { key, .. } => vec![key],
            RunError::DoesNotFit { fitting, .. } => {
                let keys = fitting.iter().flat_map(Fitting::keys);
                keys.chain(["tp", "model"]).collect()
            }
            RunError::Refused(refusal) => refusal.keys(),
            RunError::Read { key, .. } | RunError::Lengths { key, .. } => vec![key],
            RunError::Prices { .. } => vec!["prices"],
            RunError::Trace { .. } => vec!["trace"],
            RunError::CachedPrompt { .. } => vec!["cached_prompt", "prompt"],
            RunError::LateArrival { .. } => vec!["rate"],
            RunError::LongWarmUp { .. } => vec!["warm_up"],
            RunError::DraftVocabulary { .. } | RunError::NoMtp { .. } => vec!["draft_model"],
            RunError::NoAcceptance { .. } => vec!["draft_tokens"],
            RunError::DraftContext { .. } | RunError::ContextTooLong { .. } => {
                vec!["max_model_len"]
            }
            RunError::Memory(error) => keys_in(&error.to_string()),
            RunError::Sim(error) => keys_in(&error.to_string()),
            _ => Vec::new(),
        }
    }
}

impl RunError {
    /// Returns the message, with keys and values of keys as `name` writes them.
    pub fn message(&self, name: KeyName) -> String {
        match self {
            RunError::Scenario(error) => error.problem.message(name),
            RunError::UnknownEngine { name: found, nearest } => format!(
                "{}: unknown engine {found:?}{}; use {}",
                name("engine", None),
                hint(nearest),
                either(&stacks::ALL.map(|stack| stack.name)),
            ),
            RunError::OldEngine { name: found, oldest } => format!(
                "{}: {found:?} is older than all stacks; use {}, the oldest",
                name("engine", None),
                name("engine", Some(oldest)),
            ),
            RunError::UnknownTables { name: found, nearest, known, is_path } => {
                let own = is_path.then(|| {
                    let tables = name("tables", Some(found));
                    format!(", or {tables} for measurements of your own")
                });
                format!(
                    "unknown table set \"{found}\"{}; use {}{}",
                    hint(nearest),
                    name("gpu", Some(&either(known))),
                    own.unwrap_or_default()
                )
            }
            RunError::Tp { model, error, possible, key } => {
                let possible: Vec<String> = possible.iter().map(u32::to_string).collect();
                if let SpecError::IndependentRanks { dp } = error {
                    let ranks = name("dp", Some(&dp.to_string()));
                    let replicas = name("replicas", Some(&dp.to_string()));
                    return format!(
                        "{ranks}: the data-parallel ranks of {model} share nothing, as it has no experts; use \
                         {replicas}"
                    );
                }
                let possible = name(key, Some(&either(&possible)));
                format!("{model}: {error}; use {possible}")
            }
            RunError::Refused(refusal) => refusal.message(name),
            RunError::DraftVocabulary { draft, found, model, expected } => format!(
                "{}: expected the vocabulary of {model}, {expected} tokens, found {found}; use a smaller model of \
                 the same family",
                name("draft_model", Some(draft))
            ),
            RunError::NoMtp { model } => format!(
                "{}: expected a model with a layer for multi-token prediction, which {model} lacks; use a draft model, \
                 or {}",
                name("draft_model", Some("mtp")),
                name("draft_model", Some("ngram"))
            ),
            RunError::NoAcceptance { draft_tokens } => {
                let known = acceptance::known().into_iter().map(|(model, draft_model, [few, many])| {
                    let drafts = name("draft_tokens", Some(&format!("{few} to {many}")));
                    format!("{model} with {} and {drafts}", name("draft_model", Some(draft_model)))
                });
                format!(
                    "{} needs {}, which has a default for {} only; add it",
                    name("draft_tokens", Some(&draft_tokens.to_string())),
                    name("acceptance", None),
                    either(&known.collect::<Vec<_>>())
                )
            }
            RunError::DraftContext { draft, longest, found } => format!(
                "{}: expected at most {}, the longest request of the draft model {draft}, found {}; lower it, or \
                 use another draft model",
                name("max_model_len", None),
                grouped(*longest),
                grouped(*found)
            ),
            RunError::Deployment(error) => with_keys(&error.to_string(), name),
            RunError::DoesNotFit {
                model,
                gpu,
                tp,
                utilization,
                max_num_batched_tokens: tokens,
                needed_bytes,
                usable_bytes,
                fitting,
            } => {
                let with = |key, value: &u32| name(key, Some(&value.to_string()));
                let subject = match fitting.iter().flat_map(Fitting::keys).next() {
                    Some(MAX_TOKENS) => {
                        let tokens = with(MAX_TOKENS, tokens);
                        format!("{tokens}: the activations of such a step do not fit {gpu} beside {model}")
                    }
                    _ => format!("{model} does not fit {gpu}"),
                };
                let fitting = fitting.iter().map(|fitting| {
                    let settings = fitting.written(name);
                    let blocks = grouped(fitting.kv_blocks);
                    let leave = if fitting.settings.len() > 1 { "leave" } else { "leaves" };
                    format!("{settings}, which {leave} {blocks} KV blocks")
                });
                let advice = match fitting.collect::<Vec<_>>() {
                    none if none.is_empty() => format!(
                        "no {} or {} would do: use a smaller model or a larger GPU",
                        name("tp", None),
                        name("pp", None)
                    ),
                    fitting => format!("use {}", fitting.join(", or ")),
                };
                format!(
                    "{subject} with {}: each GPU needs {} GiB for weights, activations and one KV block and has {} \
                     GiB at {}, {} GiB too little; {advice}",
                    with("tp", tp),
                    gib(*needed_bytes),
                    gib(*usable_bytes),
                    name("gpu_memory_utilization", Some(&utilization.to_string())),
                    gib(needed_bytes - usable_bytes)
                )
            }
            RunError::ContextTooLong { longest, found, fitting } => {
                let fitting = fitting.as_ref().map(|fitting| format!(", or use {}", fitting.written(name)));
                format!(
                    "{}: expected at most {} tokens, which the KV cache holds, found {}; lower it{}",
                    name("max_model_len", None),
                    grouped(*longest),
                    grouped(*found),
                    fitting.unwrap_or_default()
                )
            }
            RunError::Memory(error) => with_keys(&error.to_string(), name),
            RunError::Sim(error) => with_keys(&error.to_string(), name),
            RunError::CachedPrompt { cached, prompt } => format!(
                "{}: expected at most the shortest {}, {prompt}, found {cached}",
                name("cached_prompt", None),
                name("prompt", None)
            ),
            RunError::LateArrival { rate, request } => format!(
                "{}: expected arrivals within {ARRIVAL_YEARS} years, found {rate:?} requests per second, at which \
                 request {request} comes later; use a higher {}",
                name("rate", None),
                name("rate", None)
            ),
            RunError::LongWarmUp { found_s, run_s } => format!(
                "{}: expected less than the {run_s:.1} s in which the requests of the run arrive, found {found_s} s; use \
                 more {}, or a shorter warm-up",
                name("warm_up", None),
                name("requests", None)
            ),
            RunError::Read { path, error, .. } => {
                let advice = match error.kind() {
                    io::ErrorKind::TimedOut => "start its writer first",
                    _ => "check the path",
                };
                format!("cannot read {}: {error}; {advice}", named(path))
            }
            RunError::Lengths { path, error, .. } => in_file(path, error.line, &error.problem),
            RunError::Prices { path, error } => in_file(path, Some(error.line), &error.problem),
            RunError::BuiltInPrices(error) => format!("default prices: {error}"),
            RunError::Trace { path, error } => error.clone().in_file(path).message(name),
            RunError::Stopped => "stopped before its end; run it again".to_owned(),
            RunError::UncertainPart(error) => {
                format!("{error} ({})", accepting(&error.error, name))
            }
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Scenario(error) => error.fmt(f),
            error => f.write_str(&error.message(key_name)),
        }
    }
}

/// Has no source: its message contains that of the error that it wraps.
impl std::error::Error for RunError {}

impl From<ScenarioError> for RunError {
    fn from(error: ScenarioError) -> RunError {
        RunError::Scenario(error)
    }
}

impl From<StepTimeError> for RunError {
    fn from(error: StepTimeError) -> RunError {
        SimError::from(error).into()
    }
}

impl From<SimError> for RunError {
    fn from(error: SimError) -> RunError {
        RunError::Sim(error)
    }
}

/// Splits a message of the library into words, each with what separates it from the next, and says which are keys: the
/// first word, and words that are not English, such as `max_num_seqs` and `tp`.
fn words(message: &str) -> impl Iterator<Item = (&str, Option<&'static str>)> {
    let separates = |next: char| !next.is_ascii_alphanumeric() && next != '_';
    message.split_inclusive(separates).enumerate().map(move |(index, text)| {
        let word = text.trim_end_matches(separates);
        let is_english = index > 0 && !word.contains('_') && word.len() > 2;
        (text, key(word).filter(|_| !is_english))
    })
}

/// Returns the keys that a message of the library names.
fn keys_in(message: &str) -> Vec<&'static str> {
    words(message).filter_map(|(_, key)| key).collect()
}

/// Returns a message of the library with its keys as `name` writes them.
fn with_keys(message: &str, name: KeyName) -> String {
    let named = |(text, key): (&str, Option<&str>)| match key {
        Some(key) => text.replacen(key, &name(key, None), 1),
        None => text.to_owned(),
    };
    words(message).map(named).collect()
}

fn in_file(path: &Path, line: Option<u64>, problem: &impl fmt::Display) -> String {
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    format!("{}{line}: {problem}", named(path))
}

/// Returns a path as messages name it.
fn named(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}
