//! YAML: manifests of Kubernetes, and the `--config` files of vLLM.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::found::{self, Found};
use super::shell::{Variables, Word};
use crate::error::Error;

/// The resource that a container's GPUs are.
const GPUS: &str = "nvidia.com/gpu";

/// Returns the vLLM servers of a manifest, which may have several documents.
pub(super) fn servers(text: &str) -> Result<Vec<Found>, Error> {
    let mut servers = Vec::new();
    for document in documents(text)? {
        let around = Around { name: None, replicas: None };
        around.collect(&document, &mut servers);
    }
    Ok(servers)
}

/// Returns a `--config` file as flags, which vLLM puts before those of the command line.
pub(super) fn flags(text: &str) -> Result<Vec<Word>, Error> {
    let documents = documents(text)?;
    let [Value::Object(keys)] = documents.as_slice() else {
        return Err(Error::new("expected one table of flags, as in tensor-parallel-size: 4"));
    };
    let mut words = Vec::new();
    for (key, value) in keys {
        let flag = format!("--{key}");
        match value {
            Value::Bool(true) => words.push(flag),
            Value::Bool(false) => words.push(format!("--no-{key}")),
            Value::Array(values) if values.is_empty() => (),
            Value::Array(values) => {
                words.push(flag);
                words.extend(values.iter().map(text_of));
            }
            // An attached value may begin with a dash.
            value => words.push(format!("{flag}={}", text_of(value))),
        }
    }
    Ok(words.into_iter().map(|text| Word { text, unknown: None }).collect())
}

/// Maximum number of bytes of a file, which is about that of an object of Kubernetes, and of brackets inside one
/// another: the time to read them grows with the square.
const MAX_BYTES: usize = 1 << 20;
const MAX_BRACKETS: usize = 100;

fn documents(text: &str) -> Result<Vec<Value>, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::new("expected YAML of at most 1 MiB; shorten it"));
    }
    let depths = text.chars().scan(0_usize, |depth, c| {
        match c {
            '[' | '{' => *depth += 1,
            ']' | '}' => *depth = depth.saturating_sub(1),
            _ => (),
        }
        Some(*depth)
    });
    if depths.max() > Some(MAX_BRACKETS) {
        let text = format!("expected YAML with at most {MAX_BRACKETS} brackets inside one another; shorten it");
        return Err(Error::new(text));
    }
    let documents = serde_norway::Deserializer::from_str(text).map(Value::deserialize);
    documents.collect::<Result<_, _>>().map_err(|error| Error::new(format!("expected YAML: {error}")))
}

/// Values that hold for all containers of a part of a manifest.
#[derive(Clone, Copy)]
struct Around<'m> {
    /// The name of the workload.
    name: Option<&'m str>,
    replicas: Option<u64>,
}

impl<'m> Around<'m> {
    /// Adds the vLLM servers of a part and of the parts in it.
    fn collect(mut self, part: &'m Value, servers: &mut Vec<Found>) {
        match part {
            Value::Object(keys) => {
                self.replicas = keys.get("replicas").and_then(Value::as_u64).or(self.replicas);
                self.name = part.pointer("/metadata/name").and_then(Value::as_str).or(self.name);
                for (key, value) in keys {
                    match value {
                        Value::Array(containers) if key == "containers" => {
                            let containers = containers.iter().filter_map(Value::as_object);
                            servers.extend(containers.flat_map(|container| self.servers(container)));
                        }
                        value => self.collect(value, servers),
                    }
                }
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.collect(part, servers)),
            _ => (),
        }
    }

    /// Returns the vLLM server of a container.
    fn servers(self, container: &Map<String, Value>) -> Vec<Found> {
        let variables = variables(container);
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        let mut words = list(container, "command");
        if words.is_empty() && found::is_image(image) {
            words.push(Word { text: image.to_owned(), unknown: None });
        }
        words.extend(list(container, "args"));
        for word in &mut words {
            expand(word, &variables);
        }
        let limits = container.get("resources").and_then(|resources| {
            let of = |kind: &str| resources.get(kind).and_then(|limits| limits.get(GPUS));
            of("limits").or(of("requests"))
        });
        let gpus = limits.and_then(|limit| text_of(limit).parse().ok());
        let name = container.get("name").and_then(Value::as_str).or(self.name).unwrap_or_default();
        let servers = found::in_words(&words, &variables).into_iter();
        let found = servers.map(|(arguments, engine)| Found {
            name: name.to_owned(),
            arguments,
            engine: engine.or_else(|| found::engine_of(image)),
            replicas: self.replicas,
            gpus,
        });
        found.collect()
    }
}

/// Returns the environment of a container; values that are kept elsewhere are not known.
fn variables(container: &Map<String, Value>) -> Variables {
    let entries = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.get("name")?.as_str()?;
        Some((name.to_owned(), entry.get("value").map(text_of)))
    });
    named.collect()
}

/// Returns the words of a list of a container.
fn list(container: &Map<String, Value>, key: &str) -> Vec<Word> {
    let values = container.get(key).and_then(Value::as_array).into_iter().flatten();
    values.map(|value| Word { text: text_of(value), unknown: None }).collect()
}

/// Puts the values of variables in place of `$(NAME)`, as Kubernetes does.
fn expand(word: &mut Word, variables: &Variables) {
    let mut expanded = String::new();
    let mut rest = word.text.as_str();
    while let Some((before, (name, after))) =
        rest.split_once("$(").and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    {
        expanded.push_str(before);
        match variables.get(name) {
            Some(Some(value)) => expanded.push_str(value),
            Some(None) => word.unknown = Some(format!("$({name})")),
            // A name without a variable stays as it is, as for the shell.
            None => expanded.extend(["$(", name, ")"]),
        }
        rest = after;
    }
    expanded.push_str(rest);
    word.text = expanded;
}

/// Returns a value as a word.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
