//! Settings that an engine takes where none are given: `[defaults]` of `engines/*.toml`.

use super::error::Error;
use super::toml_file::{Table, Value};

/// The defaults of an engine stack.
pub(crate) struct Defaults {
    pub(crate) version: String,
    /// Files of the version, each with its SHA-256.
    pub(crate) sources: Vec<(String, String)>,
    pub(crate) gpu_memory_utilization: f64,
    pub(crate) tokens_within_requests: bool,
    pub(crate) graphs_hold_drafts: bool,
    /// GPUs with limits of their own; the first that a GPU belongs to applies.
    pub(crate) gpus: Vec<GpuClass>,
    pub(crate) others: Limits,
}

/// GPUs with a minimum of memory, but for those whose name has one of some words.
pub(crate) struct GpuClass {
    pub(crate) memory_gib: u64,
    pub(crate) except: Vec<String>,
    pub(crate) limits: Limits,
}

/// Limits of a server.
pub(crate) struct Limits {
    pub(crate) max_num_seqs: u64,
    pub(crate) max_num_batched_tokens: u64,
    pub(crate) cuda_graph_max_tokens: u64,
}

/// The keys of `[defaults]`.
pub(super) const KEYS: [&str; 7] =
    ["version", "sources", "gpu_memory_utilization", "tokens_within_requests", "graphs_hold_drafts", "gpus", "others"];

const LIMITS: [&str; 3] = ["max_num_seqs", "max_num_batched_tokens", "cuda_graph_max_tokens"];

impl Defaults {
    /// Reads the defaults; `value` returns that of a key.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`](super::error::ErrorKind::Toml) for a key that is missing or unknown, and for an impossible
    /// value.
    pub(super) fn read<'a>(value: impl Fn(&str) -> Result<Value<'a>, Error>) -> Result<Defaults, Error> {
        let share = value("gpu_memory_utilization")?;
        let gpus = value("gpus")?.list()?;
        let [seqs, tokens, graph] = LIMITS;
        Ok(Defaults {
            version: value("version")?.text()?.to_owned(),
            sources: sources(&value("sources")?)?,
            gpu_memory_utilization: match share.number()? {
                number if number > 0.0 && number <= 1.0 => number,
                _ => return Err(share.refuse("a number above 0 and at most 1", "correct it")),
            },
            tokens_within_requests: value("tokens_within_requests")?.switch()?,
            graphs_hold_drafts: value("graphs_hold_drafts")?.switch()?,
            gpus: gpus
                .iter()
                .map(|gpu| class(&gpu.table(&["memory_gib", "except", seqs, tokens, graph])?))
                .collect::<Result<_, _>>()?,
            others: limits(&value("others")?.table(&LIMITS)?)?,
        })
    }
}

fn class(table: &Table<'_>) -> Result<GpuClass, Error> {
    let words = table.optional("except").map(|words| words.list());
    let words = words.transpose()?.unwrap_or_default();
    let words = words.iter().map(|word| Ok(word.text()?.to_owned()));
    Ok(GpuClass {
        memory_gib: below_2_32(&table.required("memory_gib")?)?,
        except: words.collect::<Result<_, Error>>()?,
        limits: limits(table)?,
    })
}

fn limits(table: &Table<'_>) -> Result<Limits, Error> {
    let limit = |key| below_2_32(&table.required(key)?);
    let [seqs, tokens, graph] = LIMITS;
    Ok(Limits {
        max_num_seqs: limit(seqs)?,
        max_num_batched_tokens: limit(tokens)?,
        cuda_graph_max_tokens: limit(graph)?,
    })
}

fn below_2_32(value: &Value<'_>) -> Result<u64, Error> {
    match value.whole()? {
        number if u32::try_from(number).is_ok() => Ok(number),
        _ => Err(value.refuse("a whole number from 1 to below 2^32", "correct it")),
    }
}

/// Files and their SHA-256.
fn sources(value: &Value<'_>) -> Result<Vec<(String, String)>, Error> {
    let files = value.any_table()?.values();
    let file = |(name, sum): (&str, Value<'_>)| {
        let text = sum.string()?;
        let is_sum = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_sum {
            Ok((name.to_owned(), text.to_owned()))
        } else {
            Err(sum.refuse("a SHA-256 of 64 hexadecimal digits", "correct it"))
        }
    };
    files.into_iter().map(file).collect()
}
