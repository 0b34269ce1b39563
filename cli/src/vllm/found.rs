//! Commands of vLLM servers among other commands.

use std::path::Path;

use rooflut_error::hint;

use super::shell::{self, Variables, Word};
use crate::error::Error;

/// A server that a text starts.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    /// The name of its container, or the line of its command.
    pub(super) name: String,
    /// The words after `vllm serve`.
    pub(super) arguments: Vec<Word>,
    /// The engine that its image names.
    pub(super) engine: Option<String>,
    /// The number of such servers, where a manifest says it.
    pub(super) replicas: Option<u64>,
    /// The limit on its GPUs.
    pub(super) gpus: Option<u64>,
}

/// Maximum number of shells inside one another.
const MAX_SHELLS: u32 = 8;

/// Returns the servers that a shell script starts.
pub(super) fn in_script(script: &str, variables: &Variables) -> Vec<Found> {
    within(script, variables, 0)
}

/// Returns the arguments of the servers that a command starts, with the engine of an image that it runs.
pub(super) fn in_words(words: &[Word], variables: &Variables) -> Vec<(Vec<Word>, Option<String>)> {
    of_command(words, variables, 0)
}

fn within(script: &str, variables: &Variables, level: u32) -> Vec<Found> {
    let mut found = Vec::new();
    for command in shell::commands(script, variables.clone()) {
        let name = command.line.to_string();
        for (arguments, engine) in of_command(&command.words, variables, level) {
            found.push(Found { name: name.clone(), arguments, engine, replicas: None, gpus: None });
        }
    }
    found
}

fn of_command(words: &[Word], variables: &Variables, level: u32) -> Vec<(Vec<Word>, Option<String>)> {
    let text = |index: usize| words.get(index).map_or("", |word| word.text.as_str());
    let image = words.iter().find(|word| is_image(&word.text));
    let engine = image.and_then(|image| engine_of(&image.text));
    let behind = |index: usize| words.get(index..).unwrap_or_default().to_vec();
    for index in 0..words.len() {
        let program = Path::new(text(index)).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_module = |name: &str| text(index) == "-m" && text(index + 1) == name;
        let arguments = match (program, text(index + 1)) {
            ("vllm", "serve") => behind(index + 2),
            _ if is_module("vllm.entrypoints.openai.api_server") => behind(index + 2),
            _ if is_module("vllm.entrypoints.cli.main") && text(index + 2) == "serve" => behind(index + 3),
            // sh -c, bash -lc
            ("sh" | "bash", flag) if flag.starts_with('-') && flag.ends_with('c') && level < MAX_SHELLS => {
                let nested = within(text(index + 2), variables, level + 1).into_iter();
                return nested.map(|found| (found.arguments, found.engine.or(engine.clone()))).collect();
            }
            _ => continue,
        };
        return vec![(arguments, engine)];
    }
    // The image starts a server with the arguments that follow it.
    let at = words.iter().position(|word| is_image(&word.text));
    at.map(|at| (behind(at + 1), engine)).into_iter().collect()
}

/// Whether an image starts a vLLM server.
pub(super) fn is_image(name: &str) -> bool {
    let image = name.rsplit('/').next().unwrap_or_default();
    image.split(':').next() == Some("vllm-openai")
}

/// Returns the engine of an image with a version as its tag: `vllm-0.25.0` of `vllm/vllm-openai:v0.25.0-cu129`.
pub(super) fn engine_of(image: &str) -> Option<String> {
    let (_, tag) = image.rsplit_once(':').filter(|_| is_image(image))?;
    let version = tag.strip_prefix('v')?.split('-').next()?;
    let is_version = version.split('.').count() == 3 && version.split('.').all(|part| part.parse::<u32>().is_ok());
    is_version.then(|| format!("vllm-{version}"))
}

/// Returns the only server.
pub(super) fn only(mut servers: Vec<Found>) -> Result<Found, Error> {
    let count = servers.len();
    let found = servers.pop().filter(|_| servers.is_empty());
    found.ok_or_else(|| {
        let text = format!(
            "expected one command `vllm serve MODEL`, found {count}; {}",
            if count == 0 { "add it" } else { "leave one" }
        );
        Error::new(text)
    })
}

/// Returns the server of this name, or the only one.
pub(super) fn chosen(mut servers: Vec<Found>, name: Option<&str>) -> Result<Found, Error> {
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    if let Some(name) = name {
        servers.retain(|server| server.name == name);
    }
    let found = servers.pop().filter(|_| servers.is_empty());
    found.ok_or_else(|| {
        let text = match (name, names.as_slice()) {
            (_, []) => "expected a command `vllm serve MODEL`, found none; add it".to_owned(),
            (Some(name), _) => {
                let near = hint(&names);
                format!("expected one server {name:?} of vLLM, found {}{near}; correct the name", names.len())
            }
            (None, [first, ..]) => {
                format!("expected one server of vLLM, found {}; name one, as in @FILE#{first}", names.join(", "))
            }
        };
        Error::new(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments of the servers, and their engines.
    fn read(script: &str) -> Vec<(String, Option<String>)> {
        let shown = |found: Found| {
            let words: Vec<String> = found.arguments.into_iter().map(|word| word.text).collect();
            (words.join(" "), found.engine)
        };
        in_script(script, &Variables::new()).into_iter().map(shown).collect()
    }

    #[test]
    fn servers_are_found_however_they_are_started() {
        for script in [
            "vllm serve m -tp 2",
            "VLLM_USE_V1=1 exec nohup /opt/bin/vllm serve m -tp 2 > log 2>&1 &",
            "python3 -m vllm.entrypoints.openai.api_server m -tp 2",
            "python -m vllm.entrypoints.cli.main serve m -tp 2",
            "bash -c 'cd /models && vllm serve m -tp 2'",
            "docker run --gpus all -p 8000:8000 vllm/vllm-openai:latest m -tp 2",
        ] {
            assert_eq!(read(script), [("m -tp 2".to_owned(), None)], "{script}");
        }
        assert_eq!(read("pip install vllm\nls"), []);
        assert_eq!(read("vllm serve a\nvllm serve b").len(), 2);
    }

    #[test]
    fn an_image_with_a_version_names_the_engine() {
        let engine = |image: &str| read(&format!("docker run {image} m")).pop().and_then(|(_, engine)| engine);
        assert_eq!(engine("vllm/vllm-openai:v0.25.0").as_deref(), Some("vllm-0.25.0"));
        assert_eq!(engine("reg:5000/vllm-openai:v0.24.1-cu129").as_deref(), Some("vllm-0.24.1"));
        assert_eq!(engine("vllm/vllm-openai:nightly"), None);
    }
}
