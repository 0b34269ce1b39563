//! A scenario as the command line of `vllm serve`.

use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;
use rooflut::model::{self, CatalogEntry};
use rooflut_error::{Error, Kind, setting};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::flag::{self, Flag, Form, Meaning};
use crate::file::keys;
use crate::scenario::{Scenario, Target};

/// Keys that are no flags of a vLLM server: those of rooflut, of the GPU and its network, and of the servers around
/// one.
const OWN: [&str; 14] = [
    "model",
    "assume_llama",
    "gpu",
    "tables",
    "gpus_per_node",
    "network_bandwidth",
    "network_latency",
    "engine",
    "replicas",
    "router",
    "lose",
    "draft_model",
    "draft_tokens",
    "acceptance",
];

/// The `vllm serve` command of one server, or the reason why there is none. JSON has it as text, or null.
///
/// ```
/// use rooflut::engine;
/// use rooflut_scenario::ScenarioFile;
/// let file = ScenarioFile::read(b"tp = 2\nkv_dtype = 'fp8'\n[server]\nprefix_caching = 'off'\n")?;
/// let command = file.scenario().vllm_command(&engine::DEFAULT);
/// let expected = "vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 2 --kv-cache-dtype fp8 \
///                 --no-enable-prefix-caching";
/// assert_eq!(command.words()?.join(" "), expected);
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct VllmCommand(Result<Vec<String>, Error>);

impl VllmCommand {
    /// Returns its words, quoted for a POSIX shell.
    ///
    /// # Errors
    /// A setting that the engine's version of vLLM has no flag for, and weights in a format that only another
    /// checkpoint has.
    pub fn words(&self) -> Result<&[String], Error> {
        self.0.as_deref().map_err(Error::clone)
    }
}

impl Serialize for VllmCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().ok().map(|words| words.join(" ")).serialize(serializer)
    }
}

impl Target {
    /// Returns the name of the model on the Hugging Face hub, or its folder.
    pub fn hub_name(&self) -> String {
        hub_name(self.model(), model::find(self.model()))
    }
}

impl Scenario {
    /// Returns the `vllm serve` command of one server, with a flag for each key that is given.
    ///
    /// [`VllmServe::read`](crate::VllmServe::read) reads it as the same model and the same keys of a server.
    pub fn vllm_command(&self, stack: &EngineStack) -> VllmCommand {
        let words = self.words(stack);
        VllmCommand(words.map(|words| words.iter().map(|word| shell_quoted(word)).collect()))
    }

    fn words(&self, stack: &EngineStack) -> Result<Vec<String>, Error> {
        if self.has_parts() {
            let text = "servers of several kinds have a command each; ask with the settings of one";
            return Err(Error::new(Kind::Conflict, text));
        }
        let entry = model::find(self.target.model());
        let mut words = vec!["vllm".to_owned(), "serve".to_owned(), hub_name(self.target.model(), entry)];
        let sections = self.sections()?;
        for (section, key) in keys() {
            let table = match section {
                "" => "target",
                "server" => section,
                _ => continue,
            };
            let text = match sections.get(table).and_then(|table| table.get(key)) {
                None | Some(Value::Null) => continue,
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            if OWN.contains(&key) || (key == "dtype" && is_own_format(self.target.dtype, entry)) {
                continue;
            }
            words.extend(flag_of(key, &text, stack)?);
        }
        words.extend(self.speculative_config());
        Ok(words)
    }

    fn speculative_config(&self) -> impl Iterator<Item = String> {
        let drafts = self.server.draft_tokens.zip(self.server.draft_model.as_deref());
        let config = drafts.map(|(tokens, model)| match self.server.draft_model() {
            Some(name) => json!({"model": hub_name(name, model::find(name)), "num_speculative_tokens": tokens}),
            None => {
                json!({"method": model.trim_matches(['[', ']']).to_ascii_lowercase(), "num_speculative_tokens": tokens})
            }
        });
        config.into_iter().flat_map(|config| ["--speculative-config".to_owned(), config.to_string()])
    }
}

/// The flag of a key with this value.
fn flag_of(key: &str, text: &str, stack: &EngineStack) -> Result<Vec<String>, Error> {
    let of_key = |flag: &Flag| matches!(flag.meaning, Meaning::Setting { key: of, .. } if of == key);
    let lacks = |why: &str| Error::new(Kind::Conflict, format!("{}: {why}", setting(key, text)));
    // The later of two names is the usual one: `gpu-memory-utilization`.
    let flag = flag::of(stack).filter(of_key).last();
    let Some(Flag { name, form, meaning: Meaning::Setting { values, .. }, .. }) = flag else {
        return Err(lacks("vLLM has no flag for it"));
    };
    let written = values.split('|').find_map(|value| match value.split_once('=') {
        Some((from, to)) => (to == text).then_some(from),
        None => Some(text),
    });
    match (written, form) {
        (Some("true"), Form::Switch) => Ok(vec![format!("--{name}")]),
        (Some("false"), Form::Switch) => Ok(vec![format!("--no-{name}")]),
        (Some(written), _) => Ok(vec![format!("--{name}"), written.to_owned()]),
        (None, _) if key == "dtype" => Err(lacks("vLLM needs a checkpoint with such weights")),
        (None, _) => Err(lacks("vLLM has no such value")),
    }
}

/// Whether the weights of a built-in model have this format already.
fn is_own_format(dtype: Option<Dtype>, entry: Option<&CatalogEntry>) -> bool {
    dtype.zip(entry).is_some_and(|(dtype, entry)| entry.spec.with_weight_dtype(dtype) == entry.spec)
}

/// The Hugging Face id of a built-in model, or the folder of a `config.json`.
fn hub_name(name: &str, entry: Option<&CatalogEntry>) -> String {
    let of_entry = entry.filter(|_| !name.contains('/'));
    let ids = of_entry.into_iter().flat_map(|entry| entry.aliases);
    let id = ids.copied().find(|id| id.contains('/'));
    let folder = name.strip_suffix("config.json").map(|folder| folder.trim_end_matches('/'));
    let folder = folder.map(|folder| if folder.is_empty() { "." } else { folder });
    id.or(folder).unwrap_or(name).to_owned()
}

/// Characters that no shell treats in a special way.
const PLAIN: &[char] = &['-', '_', '.', ',', ':', '/', '=', '@', '+', '%'];

/// Returns a word as a POSIX shell reads it.
///
/// ```
/// use rooflut_scenario::shell_quoted;
/// assert_eq!(["a/b-1", "it's"].map(shell_quoted), ["a/b-1", r"'it'\''s'"]);
/// ```
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(&c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
