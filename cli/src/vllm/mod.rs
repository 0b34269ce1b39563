//! `--vllm`: the server of a `vllm serve` command, of a shell script or of a Kubernetes manifest.

mod found;
mod shell;
mod yaml;

use std::path::Path;

use clap::Args;
use rooflut::engine;
use rooflut_error::Whole;
use rooflut_scenario::{Scenario, Target, VllmServe, shell_quoted};

use crate::error::Error;
use crate::input;

use self::found::Found;
use self::shell::{Variables, Word};

/// The server in vLLM's own words.
#[derive(Args, Default, Clone)]
pub(crate) struct VllmArgs {
    /// Server as vLLM is started: 'vllm serve MODEL ...', or @FILE, a shell script or a Kubernetes manifest
    /// (@FILE#NAME: one of several containers). Other flags replace its settings.
    #[arg(long, value_name = "COMMAND")]
    vllm: Option<String>,
}

/// A scenario with the settings of a vLLM command under those that are given.
pub(crate) struct Merged {
    pub(crate) scenario: Scenario,
    /// Remarks on flags that were replaced and on flags without an effect.
    pub(crate) notes: Vec<String>,
    serve: VllmServe,
}

impl VllmArgs {
    /// Puts the settings of the command, if there is one, under `given`. `below` is what both replace.
    pub(crate) fn under(&self, given: &Scenario, below: Option<&Target>) -> Result<Option<Merged>, Error> {
        let Some(source) = &self.vllm else {
            return Ok(None);
        };
        let (path, found) = find(source)?;
        let placed = |error: Error| match path {
            Some(path) => Error::in_file(path, None, error),
            None => Error::new(format!("--vllm: {error}")),
        };
        let targets = [&given.target].into_iter().chain(below);
        let engine = targets.clone().find_map(|target| target.engine.as_deref());
        let merged = merged(found, given, engine).map_err(placed)?;
        // vLLM's own default is a small model for trials.
        if [&merged.scenario.target].into_iter().chain(below).all(|target| target.model.is_none()) {
            return Err(placed(Error::new("expected a model, as in `vllm serve MODEL`, found none; add it")));
        }
        Ok(Some(merged))
    }
}

impl VllmArgs {
    /// Returns the command, or else `words`.
    pub(crate) fn or(&self, words: &[String]) -> VllmArgs {
        let quoted = || words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ");
        VllmArgs { vllm: self.vllm.clone().or_else(|| (!words.is_empty()).then(quoted)) }
    }

    /// Puts the settings of the command under those of `scenario`, and checks them; returns remarks.
    pub(crate) fn put_under(&self, scenario: &mut Scenario) -> Result<Vec<String>, Error> {
        let Some(merged) = self.under(scenario, None)? else {
            return Ok(Vec::new());
        };
        *scenario = merged.scenario.clone();
        scenario.target.check().map_err(|error| merged.place(error.into()))?;
        Ok(merged.notes)
    }
}

impl Merged {
    /// Adds the vLLM flag to an error on a key that it set.
    pub(crate) fn place(&self, error: Error) -> Error {
        let keys = error.keys();
        match keys.iter().find_map(|key| self.serve.flag(key)) {
            Some(flag) => Error::new(format!("--vllm: {flag}: {error}")),
            None => error,
        }
    }
}

/// Returns the scenario of a command, or of the file behind the `@`, with remarks.
pub fn scenario_of(source: &str) -> Result<(Scenario, Vec<String>), Error> {
    let mut scenario = Scenario::default();
    let notes = VllmArgs { vllm: Some(source.to_owned()) }.put_under(&mut scenario)?;
    Ok((scenario, notes))
}

/// Reads the command, or the file behind the `@`; returns its path, too.
fn find(source: &str) -> Result<(Option<&Path>, Found), Error> {
    let variables = Variables::new();
    let Some(file) = source.strip_prefix('@') else {
        let found = found::only(found::in_script(source, &variables));
        return found.map(|found| (None, found)).map_err(|error| Error::new(format!("--vllm: {error}")));
    };
    let (file, name) = match file.rsplit_once('#') {
        Some((file, name)) => (file, Some(name)),
        None => (file, None),
    };
    let path = Path::new(file);
    let text = read(path)?;
    let is_manifest =
        path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|it| extension == *it));
    let found = if is_manifest { yaml::servers(&text) } else { Ok(found::in_script(&text, &variables)) };
    let found = found.and_then(|found| found::chosen(found, name));
    found.map(|found| (Some(path), found)).map_err(|error| Error::in_file(path, None, error))
}

fn read(path: &Path) -> Result<String, Error> {
    let bytes = input::read(path, Whole::Command).map_err(Error::reading(path))?;
    String::from_utf8(bytes).map_err(|_| Error::in_file(path, None, rooflut_error::not_text()))
}

fn merged(found: Found, given: &Scenario, engine: Option<&str>) -> Result<Merged, Error> {
    let words = known(with_config(found.arguments)?)?;
    let mut target = Target::default();
    target.engine = engine.map(str::to_owned).or_else(|| found.engine.clone());
    let stack = match target.find_engine(&input::open) {
        Ok(engine) => engine.stack,
        Err(error) if target.engine_file().is_some() => return Err(error.into()),
        // Its scenario is refused later, with a message on its key.
        Err(_) => &engine::DEFAULT,
    };
    let mut serve = VllmServe::read(&words, stack)?;
    check_gpus(&serve.scenario, found.gpus)?;
    serve.scenario.target.engine = found.engine;
    let replicas = found.replicas.filter(|replicas| *replicas != 1);
    serve.scenario.server.replicas = replicas.map(|replicas| replicas.try_into().unwrap_or(u32::MAX));
    let (scenario, replaced) = serve.scenario.clone().overlaid(given)?;
    let in_manifest = [
        ("engine", serve.scenario.target.engine.as_ref().map(|engine| format!("{engine} of the image"))),
        ("replicas", replicas.map(|replicas| format!("replicas: {replicas}"))),
    ];
    let in_manifest = |key: &str| in_manifest.iter().find(|(of, _)| *of == key).and_then(|(_, shown)| shown.clone());
    let shown = |key: &String| serve.flag(key).map(str::to_owned).or_else(|| in_manifest(key));
    let replaced: Vec<String> = replaced.iter().filter_map(shown).collect();
    let mut notes = Vec::new();
    if !replaced.is_empty() {
        notes.push(format!("other flags replace {} of the vLLM command", replaced.join(", ")));
    }
    if !serve.without_effect.is_empty() {
        notes.push(format!("no effect on the answer: {} of the vLLM command", serve.without_effect.join(", ")));
    }
    Ok(Merged { scenario, notes, serve })
}

/// Puts the flags of a `--config` file in place of it, behind the model.
fn with_config(mut words: Vec<Word>) -> Result<Vec<Word>, Error> {
    let Some(at) = words.iter().position(|word| word.text == "--config" || word.text.starts_with("--config=")) else {
        return Ok(words);
    };
    let mut removed = words.drain(at..(at + 2).min(words.len()));
    let first = removed.next().unwrap_or_default().text;
    let next = removed.next();
    drop(removed);
    let path = match (first.strip_prefix("--config="), next) {
        (Some(path), next) => {
            words.splice(at..at, next);
            path.to_owned()
        }
        (None, Some(word)) => known(vec![word])?.join(""),
        (None, None) => return Err(Error::new("--config: expected a file, found none; add it")),
    };
    let path = Path::new(&path);
    let flags = yaml::flags(&read(path)?).map_err(|error| Error::in_file(path, None, error))?;
    let model = words.first().is_some_and(|word| !word.text.starts_with('-'));
    words.splice(usize::from(model)..usize::from(model), flags);
    Ok(words)
}

/// Returns the texts of words.
fn known(words: Vec<Word>) -> Result<Vec<String>, Error> {
    let text = |word: Word| match word.unknown {
        None => Ok(word.text),
        Some(unknown) if unknown == shell::UNCLOSED => {
            Err(Error::new(format!("expected a closed quote, found {:?} up to the end; close it", word.text)))
        }
        Some(unknown) => Err(Error::new(format!(
            "the value of {unknown} is not known; write it in its place, or its variable before"
        ))),
    };
    words.into_iter().map(text).collect()
}

/// Rejects a limit on GPUs that is not the number of GPUs that the server uses.
fn check_gpus(scenario: &Scenario, limit: Option<u64>) -> Result<(), Error> {
    let gpus = u64::from(scenario.target.parallelism().gpus());
    // Pods of several nodes have the GPUs of their own.
    let on_node = gpus.min(scenario.target.gpus_per_node.map_or(gpus, u64::from));
    match limit.filter(|limit| *limit != on_node) {
        Some(limit) => Err(Error::new(format!(
            "expected nvidia.com/gpu: {on_node}, as many as the server uses, found {limit}; correct it or \
             --tensor-parallel-size"
        ))),
        None => Ok(()),
    }
}
