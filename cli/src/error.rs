//! Every way in which a command fails: one line, cause and next step.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use rooflut::ResolveError;
use rooflut::hardware::Dtype;
use rooflut::model::{MemoryError, SpecError};
use rooflut::sim::SimError;
use rooflut::step::UncertainPart;
use rooflut::step::compat::CompatError;
use rooflut::table::{LoadError, Strictness, TooUncertain};
use rooflut_hf_config::ConfigError;
use rooflut_nearest::hint;
use rooflut_traces::TraceError;
use rooflut_validation::Tally;

use crate::clock::{LATEST_ARRIVAL_NS, NANOS_PER_YEAR};
use crate::import::ImportError;
use crate::output::{count, scientific};
use crate::refusal::Refusal;
use crate::rejections::Rejected;
use crate::tallied;
use crate::validate::Unpredicted;
use crate::workload::LengthsError;

const GIB: f64 = (1_u64 << 30) as f64;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line cannot be read.
    Arguments(String),
    /// A scenario is not what it should be.
    Scenario {
        path: PathBuf,
        line: u64,
        problem: String,
    },
    /// No built-in model has this name, and no file.
    UnknownModel {
        name: String,
        nearest: Vec<&'static str>,
    },
    /// A `config.json` does not give a model.
    Config { path: PathBuf, error: ConfigError },
    /// No compiled-in table set has this name.
    UnknownSet {
        name: String,
        nearest: Vec<&'static str>,
        known: Vec<&'static str>,
        /// Whether there is a file or folder of that name.
        is_path: bool,
    },
    /// Neither a built-in table set nor anything on the disk has this name.
    NoSet {
        name: String,
        nearest: Vec<&'static str>,
        known: Vec<&'static str>,
    },
    /// A set that should have no warnings has some.
    Warnings { set: String, warnings: usize },
    /// A picture that is there already.
    PictureExists { path: PathBuf },
    /// A picture cannot be drawn.
    Picture(rooflut_inspect::DrawingError),
    /// The ranks cannot share the model.
    Tp {
        model: String,
        error: SpecError,
        possible: Vec<u32>,
    },
    /// The set cannot answer for the model.
    Step(Refusal),
    /// A predecessor's model has no answer.
    Compat {
        model: String,
        latency_model: &'static str,
        error: CompatError,
    },
    /// Only the roofline model knows formats of the KV cache.
    KvDtype {
        latency_model: &'static str,
        found: Dtype,
    },
    /// Only the roofline model knows formats of weights.
    Dtype { latency_model: &'static str },
    /// More of a prompt is cached than the shortest has.
    CachedPrompt { cached: u32, prompt: u32 },
    /// A draft model that cannot propose tokens of the target.
    DraftVocabulary {
        draft: String,
        found: u32,
        model: String,
        expected: u32,
    },
    /// Requests longer than the draft model takes.
    DraftContext {
        draft: String,
        longest: u32,
        found: u32,
    },
    /// A rate at which requests arrive later than the clock can tell.
    LateArrival {
        /// Requests per second.
        rate: f64,
        /// The first request that is too late, from 1.
        request: usize,
    },
    /// Weights and overheads alone need more memory than there is.
    DoesNotFit {
        model: String,
        gpu: String,
        tp: u32,
        utilization: f64,
        needed_bytes: f64,
        usable_bytes: f64,
        /// The smallest tensor parallelism that would do, and its KV blocks.
        fitting: Option<(u32, u32)>,
    },
    /// A memory limit makes no sense.
    Memory(MemoryError),
    /// The server cannot run.
    Sim(SimError),
    /// No request can be served.
    AllRejected(Vec<Rejected>),
    /// A kernel cannot be looked up.
    Lookup(ResolveError),
    /// The answer is less certain than `--strict` accepts.
    TooUncertain(TooUncertain),
    /// A part of a step is.
    UncertainPart(UncertainPart),
    /// A file cannot be read.
    Read { path: PathBuf, error: io::Error },
    /// A file of lengths cannot be drawn from.
    Lengths { path: PathBuf, error: LengthsError },
    /// A trace is not what it should be.
    Trace { path: PathBuf, error: TraceError },
    /// Published tables do not become a table set.
    Import(ImportError),
    /// A CSV of measured kernels is not what it should be.
    Measurements(rooflut_codegen::Error),
    /// A set of measured kernels is not what it should be.
    Tables(LoadError),
    /// No row of a CSV of measured kernels can be compared with a set.
    NothingScored {
        path: PathBuf,
        set: String,
        skipped: Vec<Tally>,
    },
    /// A file of measured runs is not what it should be.
    MeasuredRuns(rooflut_validation::Error),
    /// No row of any file of measured runs can be predicted.
    NothingPredicted(Unpredicted),
    /// A file cannot be written.
    Write { path: PathBuf, error: io::Error },
    /// A file that would be replaced should not be.
    NotReplaceable { path: PathBuf, why: &'static str },
    /// Standard output cannot be written.
    Output(io::Error),
    /// An answer cannot be written as JSON.
    Json(serde_json::Error),
}

impl From<TooUncertain> for Error {
    fn from(error: TooUncertain) -> Error {
        Error::TooUncertain(error)
    }
}

impl From<UncertainPart> for Error {
    fn from(error: UncertainPart) -> Error {
        Error::UncertainPart(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Arguments(message) => f.write_str(message),
            Error::Scenario {
                path,
                line,
                problem,
            } => write_placed(f, path, Some(*line), problem),
            Error::UnknownModel { name, nearest } => {
                write!(
                    f,
                    "unknown model \"{name}\"{}; `rooflut models` lists all, or give the path of a \
                     config.json",
                    hint(nearest)
                )
            }
            Error::Config { path, error } => write!(f, "{}: {error}", path.display()),
            Error::UnknownSet {
                name,
                nearest,
                known,
                is_path,
            } => {
                write!(
                    f,
                    "unknown table set \"{name}\"{}; use --gpu {}",
                    hint(nearest),
                    either(known)
                )?;
                match is_path {
                    true => write!(f, ", or --tables {name} for measurements of your own"),
                    false => Ok(()),
                }
            }
            Error::NoSet {
                name,
                nearest,
                known,
            } => {
                write!(
                    f,
                    "expected the path of a folder or file of measurements or {}, found \"{name}\"{}; \
                     check the path, or use one of these names",
                    either(known),
                    hint(nearest)
                )
            }
            Error::Warnings { set, warnings } => write!(
                f,
                "{set}: expected no warning, found {}; measure the rows again or leave them out, or leave \
                 out --deny-warnings",
                count(*warnings as u64)
            ),
            Error::PictureExists { path } => write!(
                f,
                "{} is there already; replace it with --force, or name another folder with --out",
                path.display()
            ),
            Error::Picture(error) => error.fmt(f),
            Error::Tp {
                model,
                error,
                possible,
            } => {
                let possible: Vec<String> = possible.iter().map(u32::to_string).collect();
                write!(f, "{model}: {error}; use --tp {}", either(&possible))
            }
            Error::Step(refusal) => refusal.fmt(f),
            Error::Compat {
                model,
                latency_model,
                error,
            } => write!(f, "{model}, {latency_model} model: {error}"),
            Error::KvDtype {
                latency_model,
                found,
            } => write!(
                f,
                "--kv-dtype: the {latency_model} model knows only bf16, found {found}; use \
                 --latency-model roofline"
            ),
            Error::Dtype { latency_model } => write!(
                f,
                "--dtype: the {latency_model} model does not know formats of weights; use \
                 --latency-model roofline"
            ),
            Error::CachedPrompt { cached, prompt } => write!(
                f,
                "--cached-prompt: expected at most the shortest --prompt, {prompt}, found {cached}"
            ),
            Error::LateArrival { rate, request } => write!(
                f,
                "--rate: expected arrivals within {} years, found {} requests per second, at which \
                 request {request} comes later; use a higher --rate or fewer --requests",
                LATEST_ARRIVAL_NS / NANOS_PER_YEAR,
                scientific(*rate)
            ),
            Error::DoesNotFit {
                model,
                gpu,
                tp,
                utilization,
                needed_bytes,
                usable_bytes,
                fitting,
            } => {
                write!(
                    f,
                    "{model} does not fit {gpu} with --tp {tp}: each GPU needs {:.1} GiB for weights, \
                     activations and one KV block and has {:.1} GiB at \
                     --gpu-memory-utilization {utilization}, {:.1} GiB too little; ",
                    needed_bytes / GIB,
                    usable_bytes / GIB,
                    (needed_bytes - usable_bytes) / GIB
                )?;
                match fitting {
                    Some((tp, kv_blocks)) => {
                        write!(f, "use --tp {tp}, which leaves {kv_blocks} KV blocks")
                    }
                    None => write!(f, "no --tp would do: use a smaller model or a larger GPU"),
                }
            }
            Error::Memory(error) => error.fmt(f),
            Error::Sim(SimError::BudgetBelowSequences {
                max_num_batched_tokens,
                max_num_seqs,
                tokens_per_request,
            }) => {
                let times = match tokens_per_request {
                    1 => String::new(),
                    tokens => format!(" x {tokens} tokens with drafts"),
                };
                write!(
                    f,
                    "--max-num-batched-tokens: expected at least --max-num-seqs {max_num_seqs}{times}, found \
                     {max_num_batched_tokens}; raise it, or lower --max-num-seqs"
                )
            }
            Error::DraftContext {
                draft,
                longest,
                found,
            } => write!(
                f,
                "--max-model-len: expected at most {}, where the draft model {draft} ends, found {}; lower \
                 it, or use another draft model",
                count(u64::from(*longest)),
                count(u64::from(*found)),
            ),
            Error::DraftVocabulary {
                draft,
                found,
                model,
                expected,
            } => write!(
                f,
                "--draft-model {draft}: expected the vocabulary of {model}, {} tokens, found {}; use a \
                 smaller model of the same family",
                count(u64::from(*expected)),
                count(u64::from(*found)),
            ),
            Error::Sim(error) => error.fmt(f),
            Error::AllRejected(rejected) => write_all_rejected(f, rejected),
            Error::Lookup(error) => error.fmt(f),
            Error::TooUncertain(error) => write!(f, "{error} ({})", strict_flag(error)),
            Error::UncertainPart(error) => write!(f, "{error} ({})", strict_flag(&error.error)),
            Error::Read { path, error } => {
                write!(f, "cannot read {}: {error}; check the path", path.display())
            }
            Error::Lengths { path, error } => write_placed(f, path, error.line, &error.problem),
            Error::Trace { path, error } => write_placed(f, path, error.line, &error.problem),
            Error::Import(error) => error.fmt(f),
            Error::Measurements(error) => error.fmt(f),
            Error::Tables(error) => error.fmt(f),
            Error::NothingScored { path, set, skipped } => {
                let told = |tally: &Tally| format!("{}: {}", tallied::rows(tally), tally.text);
                let reasons: Vec<String> = skipped.iter().map(told).collect();
                write!(
                    f,
                    "{}: expected a row that table set {set} can be compared with, found none: {}",
                    path.display(),
                    reasons.join("; ")
                )
            }
            Error::MeasuredRuns(error) => error.fmt(f),
            Error::NothingPredicted(skipped) => skipped.fmt(f),
            Error::Write { path, error } => write!(
                f,
                "cannot write {}: {error}; check the folder and its permissions",
                path.display()
            ),
            Error::NotReplaceable { path, why } => {
                write!(f, "{} {why}; name another file", path.display())
            }
            Error::Output(error) => write!(f, "cannot write the answer: {error}; try again"),
            Error::Json(error) => write!(f, "cannot write the answer as JSON: {error}"),
        }
    }
}

impl std::error::Error for Error {}

/// What is wrong with a file, with its line where it is one.
fn write_placed(
    f: &mut fmt::Formatter<'_>,
    path: &Path,
    line: Option<u64>,
    problem: &dyn fmt::Display,
) -> fmt::Result {
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    write!(f, "{}{line}: {problem}", path.display())
}

fn write_all_rejected(f: &mut fmt::Formatter<'_>, rejected: &[Rejected]) -> fmt::Result {
    write!(f, "all requests were rejected")?;
    for (
        index,
        Rejected {
            requests, cause, ..
        },
    ) in rejected.iter().enumerate()
    {
        let separator = if index == 0 { ":" } else { "," };
        write!(f, "{separator} {} because {cause}", count(*requests))?;
    }
    let mut next_steps: Vec<&str> = rejected.iter().map(|r| r.next_step.as_str()).collect();
    next_steps.dedup();
    write!(f, "; {}", next_steps.join(", "))
}

/// The flag that accepts an answer.
pub(crate) fn strict_flag(error: &TooUncertain) -> String {
    match error.wider() {
        Strictness::ANY => "without --strict".to_owned(),
        wider => format!("--strict {wider}"),
    }
}

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn either<S: AsRef<str>>(names: &[S]) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let last = index + 1 == names.len();
        text.push_str(match index {
            0 => "",
            _ if last => " or ",
            _ => ", ",
        });
        text.push_str(name.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_one_says_it() {
        assert_eq!(either(&["a"]), "a");
        assert_eq!(either(&["a", "b"]), "a or b");
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }

    #[test]
    fn an_unknown_name_without_neighbours_still_has_a_next_step() {
        let error = Error::UnknownModel {
            name: "zzz".into(),
            nearest: vec![],
        };
        assert_eq!(
            error.to_string(),
            "unknown model \"zzz\"; `rooflut models` lists all, or give the path of a config.json"
        );
    }
}
