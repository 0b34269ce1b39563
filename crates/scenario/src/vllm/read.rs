//! Settings of a scenario from a command line of `vllm serve`.

use std::collections::BTreeMap;

use rooflut::engine::EngineStack;
use rooflut::model;
use rooflut_error::{Error, Kind, either, not_json};
use serde_json::{Map, Value};

use super::flag::{Form, Meaning};
use super::speculative;
use super::words::{Given, Words};
use crate::file::table_of;
use crate::scenario::Scenario;

/// Values that vLLM takes for a flag that is not given.
const ABSENT: [&str; 2] = ["", "None"];

/// A command line of `vllm serve`, read for one version of vLLM.
///
/// ```
/// use rooflut::engine;
/// use rooflut_scenario::VllmServe;
/// let words = "meta-llama/Llama-3.1-8B-Instruct -tp 2 --max_num_seqs=64 --port 8000";
/// let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
/// let serve = VllmServe::read(&words, &engine::DEFAULT)?;
/// assert_eq!(serve.scenario.target.tp, Some(2));
/// assert_eq!(serve.scenario.server.max_num_seqs, Some(64));
/// assert_eq!(serve.flag("tp"), Some("--tensor-parallel-size 2"));
/// assert_eq!(serve.without_effect, ["--port"]);
///
/// let error = VllmServe::read(&["--enable-lora".to_owned()], &engine::DEFAULT).unwrap_err();
/// assert!(error.to_string().starts_with("--enable-lora: LoRA adapters are not modelled"));
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VllmServe {
    /// The settings of the server: keys of the target and of `[server]`.
    pub scenario: Scenario,
    /// Flags that have no effect on the answer, each once.
    pub without_effect: Vec<String>,
    /// The flags by the keys that they set.
    flags: BTreeMap<String, String>,
}

impl VllmServe {
    /// Reads the words after `vllm serve`.
    ///
    /// # Errors
    /// Flags that this version of vLLM does not have, values that it does not take, and flags whose effect is not
    /// modelled.
    pub fn read(words: &[String], stack: &EngineStack) -> Result<VllmServe, Error> {
        let Words { flags, model } = Words::read(words, stack)?;
        let mut settings = Settings::default();
        let mut without_effect = Vec::new();
        for given in flags.iter().filter(|given| !ABSENT.contains(&given.value.as_str())) {
            match given.flag.meaning {
                Meaning::None => without_effect.push(given.name()),
                Meaning::Refused { neutral, reason } if !given.is_neutral(neutral) => {
                    return Err(refused(given, reason));
                }
                Meaning::Refused { .. } => (),
                Meaning::Setting { key, values, reason } => {
                    if let Some(value) = given.setting(values, reason)? {
                        settings.set(key, value, given.shown());
                    }
                }
            }
        }
        if let Some(model) = model {
            settings.set("model", model.clone(), model);
        }
        let model = settings.text("model").map(str::to_owned);
        check_format(&flags, model.as_deref())?;
        speculative::settings(&mut settings)?;
        settings.divide_nodes()?;
        Ok(VllmServe { scenario: settings.scenario()?, without_effect, flags: settings.flags })
    }

    /// Returns the flag that set a key, with its value.
    pub fn flag(&self, key: &str) -> Option<&str> {
        self.flags.get(key).map(String::as_str)
    }
}

/// Values of keys, and the flags that they come from.
#[derive(Default)]
pub(super) struct Settings {
    values: BTreeMap<String, String>,
    flags: BTreeMap<String, String>,
}

impl Settings {
    pub(super) fn set(&mut self, key: &str, value: impl ToString, flag: String) {
        self.values.insert(key.to_owned(), value.to_string());
        self.flags.insert(key.to_owned(), flag);
    }

    /// Removes a key; returns its value and its flag.
    pub(super) fn take(&mut self, key: &str) -> Option<(String, String)> {
        self.values.remove(key).zip(self.flags.remove(key))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    fn count(&self, key: &str) -> u32 {
        self.text(key).and_then(|value| value.parse().ok()).unwrap_or(1)
    }

    /// Sets the GPUs of a node from the number of nodes, or from the ranks on a node.
    fn divide_nodes(&mut self) -> Result<(), Error> {
        let server = self.count("tp").saturating_mul(self.count("pp"));
        let gpus = server.saturating_mul(self.count("dp"));
        let (nodes, ranks) = (self.take("nodes"), self.take("local_ranks"));
        let read = |text: &str| text.parse::<u32>().unwrap_or(1).max(1);
        if let Some((ranks, flag)) = ranks.filter(|(ranks, _)| read(ranks) < self.count("dp")) {
            self.set("gpus_per_node", server.saturating_mul(read(&ranks)), flag);
        }
        if let Some((nodes, flag)) = nodes.filter(|(nodes, _)| read(nodes) > 1) {
            if !gpus.is_multiple_of(read(&nodes)) {
                let text = format!("{flag}: expected a number of nodes that divides the {gpus} GPUs of the server");
                return Err(Error::new(Kind::Conflict, text));
            }
            self.set("gpus_per_node", gpus / read(&nodes), flag);
        }
        Ok(())
    }

    fn scenario(&self) -> Result<Scenario, Error> {
        let (mut target, mut server) = (Map::new(), Map::new());
        for (key, value) in &self.values {
            let table = if table_of(key) == Some("server") { &mut server } else { &mut target };
            let value = value.parse().map_or_else(|_| Value::String(value.clone()), Value::Bool);
            table.insert(key.clone(), value);
        }
        let tables = [("target", target), ("server", server)];
        let tables = tables.into_iter().map(|(name, table)| (name.to_owned(), Value::Object(table)));
        Scenario::try_from_sections(tables.collect()).map_err(not_json)
    }
}

impl Given {
    /// The flag without its value.
    fn name(&self) -> String {
        let opposite = if self.flag.form == Form::Switch && self.value == "false" { "no-" } else { "" };
        format!("--{opposite}{}", self.flag.name)
    }

    /// The flag with its value.
    pub(super) fn shown(&self) -> String {
        match self.flag.form {
            Form::Switch | Form::On => self.name(),
            _ => format!("{} {}", self.name(), self.value),
        }
    }

    /// Whether the value of a flag that is not modelled changes nothing.
    fn is_neutral(&self, neutral: &str) -> bool {
        match (self.flag.form, neutral) {
            (Form::Switch, "") => self.value == "false",
            _ => neutral.split('|').any(|value| !value.is_empty() && value.eq_ignore_ascii_case(&self.value)),
        }
    }

    /// Returns the value of the key; `None` if the flag says what holds without it.
    fn setting(&self, values: &str, reason: &str) -> Result<Option<String>, Error> {
        let given = self.value.as_str();
        let mut expected = Vec::new();
        for value in values.split('|') {
            let read = match value {
                "text" | "json" => Some(given.to_owned()),
                "whole" => given.parse::<u32>().ok().map(|number| number.to_string()),
                "size" => size(given).and_then(|size| u32::try_from(size).ok()).map(|size| size.to_string()),
                "real" => given.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| given.to_owned()),
                _ => {
                    let (from, to) = value.split_once('=').unwrap_or((value, value));
                    from.eq_ignore_ascii_case(given).then(|| to.to_owned())
                }
            };
            match read {
                Some(read) => return Ok(Some(read).filter(|read| !read.is_empty())),
                None => expected.extend(described(value)),
            }
        }
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        let text = format!("--{}: expected {}{reason}, found {given:?}; correct it", self.flag.name, either(&expected));
        Err(Error::new(Kind::Value, text))
    }
}

/// Describes a value in a message; `None` for values that only say what holds anyway.
fn described(value: &str) -> Option<&str> {
    match value {
        "whole" => Some("a whole number"),
        "size" => Some("a whole number, as in 8192, 8k (8,000) or 8K (8,192)"),
        "real" => Some("a number"),
        other => other.split_once('=').filter(|(_, to)| !to.is_empty()).map(|(from, _)| from),
    }
}

/// Reads a number as vLLM's `human_readable_int` does: `8k` is 8,000, `8K` is 8,192.
fn size(text: &str) -> Option<u64> {
    const SUFFIXES: &str = "kmgt";
    let last = text.chars().last()?;
    let power = SUFFIXES.find(last.to_ascii_lowercase()).map(|index| 1 + index as u32);
    let Some(power) = power else {
        return text.parse().ok();
    };
    let number = text.strip_suffix(last).filter(|number| number.chars().all(|c| c.is_ascii_digit() || c == '.'))?;
    if last.is_ascii_uppercase() {
        return number.parse::<u64>().ok()?.checked_mul(1 << (10 * power));
    }
    let number: f64 = number.parse().ok()?;
    // As Python's int() of a float.
    Some((number * 1000_f64.powi(power as i32)) as u64)
}

fn refused(given: &Given, reason: &str) -> Error {
    let text = format!("{}: {reason}; remove it for a server without it", given.shown());
    Error::new(Kind::Conflict, text)
}

/// Rejects `--quantization` with a format that the checkpoint must have, for a model that is known without it.
fn check_format(flags: &[Given], model: Option<&str>) -> Result<(), Error> {
    let asked = flags.iter().find(|given| given.flag.name == "quantization");
    let entry = model.and_then(model::find).filter(|entry| !entry.spec.is_quantized());
    match asked.zip(entry) {
        Some((asked, entry)) if !asked.value.starts_with("fp8") && !ABSENT.contains(&asked.value.as_str()) => {
            let text = format!(
                "{}: expected a checkpoint in this format, found {}, whose weights are bf16; give the path of the \
                 checkpoint's config.json as the model",
                asked.shown(),
                entry.name
            );
            Err(Error::new(Kind::Conflict, text))
        }
        _ => Ok(()),
    }
}
