//! The deployment, from arguments, facts and given keys.

use rooflut::{engine, model};
use rooflut_error::Error;
use rooflut_scenario::{Scenario, VllmServe};
use serde_json::{Value, json};

use crate::json::contents;
use crate::measured::{Fact, GIVEN, Measured};

/// Facts that are keys of a scenario.
const KEYS: [&str; 10] = [
    "gpu",
    "tp",
    "dp",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "kv_blocks",
    "block_size",
    "gpu_memory_utilization",
    "prefix_caching",
];

/// The tokens of a KV block, where nothing else is said.
const BLOCK_SIZE: u64 = 16;

/// The settings of a deployment that logs name.
#[derive(Default)]
pub(crate) struct Deployment {
    /// Version of vLLM, with its file.
    version: Option<(String, String)>,
    /// A name of the model, with its file.
    pub(crate) model: Option<(String, String)>,
    /// Arguments of the server with their file.
    pub(crate) arguments: Vec<(Vec<String>, String)>,
}

impl Deployment {
    /// Whether no log tells anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.version.is_none() && self.arguments.is_empty()
    }

    /// Notes the version of the server that wrote a log.
    pub(crate) fn version(&mut self, file: &str, version: Option<&str>) -> Result<(), Error> {
        let Some(version) = version else {
            return Ok(());
        };
        match &self.version {
            Some((known, other)) if known != version => Err(contents(format!(
                "{other} is of vLLM {known}, {file} of vLLM {version}, so these are two servers; give the files of one"
            ))),
            Some(_) => Ok(()),
            None => {
                self.version = Some((version.to_owned(), file.to_owned()));
                Ok(())
            }
        }
    }

    /// Puts together what is known of the deployment: given keys first, then facts, then arguments.
    pub(crate) fn settle(self, measured: &mut Measured, given: &Scenario) -> Result<(), Error> {
        if let Some((version, file)) = &self.version {
            let engine = format!("vllm-{version}");
            measured.set("engine", json!(engine), file);
            measured.facts.insert("vllm_version".to_owned(), Fact { value: json!(version), source: file.clone() });
            if engine::find(&engine).is_none() {
                let closest = engine::closest(&engine)
                    .map_or_else(String::new, |stack| format!("; {} answers for it", stack.name));
                measured.notes.push(format!("no engine stack of vLLM {version} is known{closest}"));
            }
        }
        let of_server = self.model.clone();
        self.set_arguments(measured)?;
        measured.set_facts();
        let of_runs =
            measured.runs.iter().find_map(|run| Some((run.model.clone()?, run.sources.get("load").cloned()?)));
        if let Some((model, file)) = of_runs.or(of_server).filter(|_| !measured.deployment.contains_key("model")) {
            measured.set("model", json!(model), &file);
        }
        measured.give(given)
    }

    /// Reads the arguments, each by itself: what is not modelled is noted.
    fn set_arguments(self, measured: &mut Measured) -> Result<(), Error> {
        let engine = self.version.as_ref().map(|(version, _)| format!("vllm-{version}"));
        let stack = engine.as_deref().and_then(|name| engine::find(name).or_else(|| engine::closest(name)));
        let stack = stack.unwrap_or(&engine::DEFAULT);
        let mut words = Vec::new();
        let mut source = String::new();
        let has_model = |words: &[String]| words.first().is_some_and(|word| !word.starts_with('-'));
        let mut model_is_set = false;
        for (argument, file) in self.arguments {
            if has_model(&argument) && std::mem::replace(&mut model_is_set, true) {
                continue;
            }
            match VllmServe::read(&argument, stack) {
                Ok(_) => words.extend(argument),
                Err(error) => measured.notes.push(format!("{file}: left out: {error}")),
            }
            source = file;
        }
        if !words.is_empty() {
            let serve = VllmServe::read(&words, stack)?;
            for (key, value) in keys(&serve.scenario)? {
                measured.set(&key, value, &source);
            }
        }
        Ok(())
    }
}

impl Measured {
    /// Puts the keys of a scenario in place of those that files tell.
    ///
    /// # Errors
    /// Values that JSON does not have.
    pub fn give(&mut self, given: &Scenario) -> Result<(), Error> {
        for (key, value) in keys(given)? {
            let replaced = self.deployment.get(&key).filter(|known| !is_same(&known.value, &value));
            let note = replaced.map(|Fact { value: known, source }| {
                format!("{key}: {known} of {source} is replaced by {value} of the {GIVEN}")
            });
            self.notes.extend(note.or_else(|| self.replaced_load(&key, &value)));
            self.set(&key, value, GIVEN);
        }
        self.leave_blocks();
        self.note_missing();
        self.escape_notes();
        Ok(())
    }

    /// Returns a remark on the loads that have another value of a key.
    fn replaced_load(&self, key: &str, value: &Value) -> Option<String> {
        let own = self.runs.iter().filter_map(|run| Some((run, self.workload(run).get(key)?.clone())));
        let mut others = own.filter(|(_, own)| own != value);
        let (run, first) = others.next()?;
        let source = run.sources.get("load").map_or("the first run", String::as_str);
        let more = match others.count() {
            0 => String::new(),
            1 => " (another run differs, too)".to_owned(),
            more => format!(" ({more} other runs differ, too)"),
        };
        Some(format!("{key}: {first} of {source}{more} is replaced by {value} of the {GIVEN}"))
    }

    pub(crate) fn set(&mut self, key: &str, value: Value, source: &str) {
        self.deployment.insert(key.to_owned(), Fact { value, source: source.to_owned() });
    }

    /// Takes facts that are keys of a scenario, in place of what the server was asked for.
    fn set_facts(&mut self) {
        let blocks = self.kv_blocks();
        for (key, fact) in KEYS.iter().filter_map(|key| Some((*key, self.facts.get(*key)?.clone()))).chain(blocks) {
            self.deployment.insert(key.to_owned(), fact);
        }
    }

    /// Leaves the share of the memory out of a scenario with the number of KV blocks, which it would determine.
    fn leave_blocks(&mut self) {
        const SHARE: &str = "gpu_memory_utilization";
        let is_found = self.deployment.get(SHARE).is_some_and(|share| share.source != GIVEN);
        if is_found && self.deployment.contains_key("kv_blocks") {
            self.facts.extend(self.deployment.remove_entry(SHARE));
        }
    }

    /// Returns the number of KV blocks from the number of tokens, where these are whole blocks.
    fn kv_blocks(&self) -> Option<(&'static str, Fact)> {
        let tokens = self.facts.get("kv_tokens").filter(|_| !self.facts.contains_key("kv_blocks"))?;
        let size = self.deployment.get("block_size").or(self.facts.get("block_size"));
        let size = size.map_or(Some(BLOCK_SIZE), |size| size.value.as_u64()).filter(|size| *size > 0)?;
        let blocks = tokens.value.as_u64().filter(|tokens| tokens.is_multiple_of(size))? / size;
        Some(("kv_blocks", Fact { value: json!(blocks), source: tokens.source.clone() }))
    }

    /// Notes the keys that a scenario needs and no file tells.
    fn note_missing(&mut self) {
        let is_set = |key: &str| self.deployment.contains_key(key);
        let mut missing: Vec<&str> = Vec::new();
        let model = self.deployment.get("model").and_then(|fact| fact.value.as_str());
        let is_known = model.is_some_and(|name| model::find(name).is_some() || name.ends_with("config.json"));
        if !is_known {
            missing.push("model");
        }
        if !is_set("gpu") && !is_set("tables") {
            missing.push("gpu");
        }
        missing.extend(["engine", "tp"].into_iter().filter(|key| !is_set(key)));
        let no_load = ["rate", "users", "trace"].iter().all(|key| !is_set(key));
        if no_load && self.runs.iter().all(|run| run.load.asked_per_s.is_none() && run.load.users.is_none()) {
            missing.push("users");
        }
        let knows = |of: fn(&crate::Load) -> bool| self.runs.iter().any(|run| of(&run.load));
        if !is_set("prompt") && !knows(|load| load.prompt_tokens.mean.is_some()) {
            missing.push("prompt");
        }
        if !is_set("output") && !knows(|load| load.output_tokens.mean.is_some()) {
            missing.push("output");
        }
        self.missing = missing.into_iter().map(str::to_owned).collect();
        if let Some(model) = model.filter(|_| !is_known) {
            let note = format!("the model {model} is not built in: give the path of its config.json");
            self.notes.push(note);
        }
    }
}

/// Whether two values of a key are equal, or names of one model.
fn is_same(one: &Value, other: &Value) -> bool {
    let name = |value: &Value| value.as_str().and_then(model::find).map(|model| model.name);
    one == other || name(one).is_some_and(|found| Some(found) == name(other))
}

/// Returns the keys of the model, the GPUs, the load and the servers that a scenario has.
fn keys(scenario: &Scenario) -> Result<Vec<(String, Value)>, Error> {
    let sections = scenario.sections()?;
    let tables = ["target", "workload", "server"].into_iter().filter_map(|table| sections.get(table)?.as_object());
    let keys = tables.flatten().filter(|(_, value)| !value.is_null());
    Ok(keys.map(|(key, value)| (key.clone(), value.clone())).collect())
}
