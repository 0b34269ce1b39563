//! The log of a vLLM server, from its start on.

use rooflut_error::{Error, MAX_LINE};
use serde_json::{Value, json};

use crate::contents::Contents;
use crate::json::contents;

/// Numbers behind a text: the fact, the text, and what ends the number.
const NUMBERS: [(&str, &str, &str); 7] = [
    ("model_memory_gib", "Model loading took ", " GiB"),
    ("kv_memory_gib", "Available KV cache memory: ", " GiB"),
    ("kv_tokens", "KV cache size: ", " tokens"),
    ("max_model_len", "Using max model len ", ""),
    ("max_num_batched_tokens", "Chunked prefill is enabled with max_num_batched_tokens=", "."),
    ("graph_memory_gib", "secs, took ", " GiB"),
    ("kv_blocks", "num_gpu_blocks is: ", ""),
];

/// Texts before a version, and what ends it.
const VERSIONS: [(&str, &str); 2] = [("Initializing a V1 LLM engine (v", ")"), ("vLLM API server version ", " ")];

/// Settings of the engine that it logs as it starts, and the flags that they are.
const CONFIG: [(&str, &str); 5] = [
    ("tensor_parallel_size=", "--tensor-parallel-size"),
    ("pipeline_parallel_size=", "--pipeline-parallel-size"),
    ("data_parallel_size=", "--data-parallel-size"),
    ("max_seq_len=", "--max-model-len"),
    ("kv_cache_dtype=", "--kv-cache-dtype"),
];

/// The fact of the tokens of the largest CUDA graph.
pub(crate) const GRAPH_MAX_TOKENS: &str = "graph_max_tokens";

/// Maximum number of arguments and models that a log names.
const MAX_NAMED: usize = 10_000;

/// Reads a log. A last line without an end is left out: a number may be cut off.
pub(crate) fn read(text: &str) -> Result<Contents, Error> {
    let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or_default();
    let mut found = Contents::default();
    if whole.len() + 1 < text.len() {
        found.notes.push("the last line of the log has no end and is left out".to_owned());
    }
    for (line, number) in whole.lines().zip(1_u64..) {
        if line.len() as u64 > MAX_LINE {
            let text = "expected lines of at most 1 MiB, found a longer one; check which program wrote the log";
            return Err(contents(text).at_line(number));
        }
        read_line(&without_colours(line), &mut found)?;
        if found.arguments.len() + found.models.len() > MAX_NAMED {
            let text = "expected the start of one server, found those of too many; cut out one";
            return Err(contents(text).at_line(number));
        }
    }
    if found.version.is_none() && found.facts.is_empty() && found.arguments.is_empty() {
        return Err(contents(
            "expected the log of a vLLM server from its start on, found none of its lines; write it again",
        ));
    }
    Ok(found)
}

fn read_line(line: &str, found: &mut Contents) -> Result<(), Error> {
    let versions = VERSIONS.iter().filter_map(|(before, end)| between(line, before, end));
    let logo = between(line, "version ", " ").filter(|_| line.contains('\u{2588}'));
    let served = between(line, "vLLM server version ", ",");
    for version in versions.chain(logo).chain(served) {
        let known = found.version.get_or_insert_with(|| version.to_owned());
        if known != version {
            return Err(contents(format!(
                "vLLM {known} and vLLM {version} have both started here; cut out the log of one server"
            )));
        }
    }
    for (fact, before, end) in NUMBERS {
        let number = between(line, before, end).and_then(|text| text.replace(',', "").parse::<f64>().ok());
        if let Some(number) = number.filter(|number| *number >= 0.0) {
            set_least(found, fact, number);
        }
    }
    if let Some((_, arguments)) = line.split_once("non-default args: ") {
        let arguments = arguments_of(arguments, &mut found.models);
        found.arguments.extend(arguments);
    }
    if let Some((_, config)) = line.split_once(" with config: ").filter(|_| line.contains("LLM engine")) {
        found.models.extend(between(config, "model='", "'").map(str::to_owned));
        let flags = CONFIG.iter().filter_map(|(before, flag)| {
            let value = between(config, before, ",").filter(|value| *value != "auto")?;
            Some(vec![(*flag).to_owned(), value.to_owned()])
        });
        found.arguments.extend(flags);
        let caching = between(config, "enable_prefix_caching=", ",").and_then(|on| match on {
            "True" => Some("--enable-prefix-caching"),
            "False" => Some("--no-enable-prefix-caching"),
            _ => None,
        });
        found.arguments.extend(caching.map(|flag| vec![flag.to_owned()]));
        let sizes = between(config, "cudagraph_capture_sizes", "]").unwrap_or_default();
        let sizes = sizes.split(|c: char| !c.is_ascii_digit()).filter_map(|size| size.parse::<u32>().ok());
        if let Some(largest) = sizes.max() {
            set_least(found, GRAPH_MAX_TOKENS, largest.into());
        }
    }
    Ok(())
}

/// Sets a fact; of several ranks or engines, the least counts.
fn set_least(found: &mut Contents, fact: &'static str, number: f64) {
    let whole = number.fract() == 0.0 && !fact.ends_with("_gib");
    let value = if whole { json!(number as u64) } else { json!(number) };
    match found.facts.iter_mut().find(|(known, _)| *known == fact) {
        Some((_, known)) if known.as_f64().is_some_and(|known| known <= number) => (),
        Some((_, known)) => *known = value,
        None => found.facts.push((fact, value)),
    }
}

/// Returns the text between two others; up to the next blank or the end of the line where `end` is empty or missing.
fn between<'l>(line: &'l str, before: &str, end: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(before)?;
    let text = match end {
        "" => rest.split_whitespace().next(),
        end => rest.split(end).next(),
    };
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Removes the sequences that colour a terminal.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| line + part.split_once('m').map_or(part, |(_, rest)| rest))
}

/// Reads the arguments of the server, a dict of Python, as words of its command line.
fn arguments_of(dict: &str, models: &mut Vec<String>) -> Vec<Vec<String>> {
    let mut arguments = Vec::new();
    for item in items(dict) {
        let Some((key, value)) = item.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim().trim_matches(['\'', '"']), value.trim());
        let flag = format!("--{}", key.replace('_', "-"));
        let text = python_text(value);
        match (key, value) {
            ("model" | "model_tag", _) => {
                models.extend(text.clone());
                arguments.extend(text.map(|model| vec![model]));
            }
            ("served_model_name", _) => {
                let names = value.trim_matches(['[', ']']).split(',').filter_map(|name| python_text(name.trim()));
                models.extend(names);
            }
            (_, "None") => (),
            (_, "True") => arguments.push(vec![flag]),
            (_, "False") => arguments.push(vec![flag.replacen("--", "--no-", 1)]),
            _ => arguments.push(vec![flag, text.unwrap_or_else(|| as_json(value))]),
        }
    }
    arguments
}

/// Splits the inside of a dict or list at the commas of its own level.
fn items(dict: &str) -> Vec<&str> {
    let inside = dict.trim().strip_prefix('{').and_then(|dict| dict.strip_suffix('}')).unwrap_or_default();
    let (mut depth, mut quote, mut escaped) = (0_i32, None, false);
    let split = inside.split(|c: char| {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => (),
            (None, '\'' | '"') => quote = Some(c),
            (None, '{' | '[' | '(') => depth += 1,
            (None, '}' | ']' | ')') => depth -= 1,
            (None, ',') => return depth == 0,
            (None, _) => (),
        }
        false
    });
    split.map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Returns a text in quotes.
fn python_text(value: &str) -> Option<String> {
    let inside = ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    inside.map(str::to_owned)
}

/// Returns a value of Python as JSON, where the two differ by quotes and the names of constants only.
fn as_json(value: &str) -> String {
    let json = value.replace('\'', "\"").replace("True", "true").replace("False", "false").replace("None", "null");
    serde_json::from_str::<Value>(&json).map_or_else(|_| value.to_owned(), |value| value.to_string())
}
