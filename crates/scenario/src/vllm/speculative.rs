//! `--speculative-config` as keys of a scenario.

use rooflut_error::{Error, Kind};
use serde_json::{Map, Value};

use super::read::Settings;

const KEY: &str = "speculation";

/// Keys that cost no time: the draft model's are read from its own name, those of a lookup change what is accepted.
const NO_EFFECT: [&str; 5] = ["prompt_lookup_max", "prompt_lookup_min", "revision", "code_revision", "quantization"];

/// Methods whose draft is an MTP layer of the model, under their names of each version.
fn is_mtp(method: &str) -> bool {
    method == "mtp" || method.ends_with("_mtp")
}

/// Sets `draft_model` and `draft_tokens` in place of the configuration.
pub(super) fn settings(settings: &mut Settings) -> Result<(), Error> {
    let mut config: Map<String, Value> = Map::new();
    let mut flags = Vec::new();
    if let Some((text, flag)) = settings.take(KEY) {
        config = serde_json::from_str(&text).map_err(|error| {
            let text = format!("{flag}: expected JSON, as in {{\"method\": \"mtp\"}}: {error}; correct it");
            Error::new(Kind::Value, text)
        })?;
        flags.push(flag);
    }
    for key in ["method", "model", "num_speculative_tokens"] {
        if let Some((value, flag)) = settings.take(&format!("{KEY}.{key}")) {
            config.insert(key.to_owned(), Value::String(value));
            flags.push(flag);
        }
    }
    if config.is_empty() {
        return Ok(());
    }
    let flag = flags.join(" ");
    let mut take = |key: &str| match config.remove(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    };
    let (method, model, tokens) = (take("method"), take("model"), take("num_speculative_tokens"));
    if let Some((key, value)) = config.iter().find(|(key, _)| !NO_EFFECT.contains(&key.as_str())) {
        let text = format!("{flag}: {key} = {value} is not modelled; remove it for drafts without it");
        return Err(Error::new(Kind::Conflict, text));
    }
    let draft = match (method.as_deref(), model) {
        (Some(method), _) if is_mtp(method) => "mtp".to_owned(),
        (Some("ngram"), _) => "ngram".to_owned(),
        (None | Some("draft_model"), Some(model)) if model == "ngram" || model == "[ngram]" => "ngram".to_owned(),
        (None | Some("draft_model"), Some(model)) => model,
        (Some(method), _) => method.to_owned(),
        (None, None) => {
            let text = format!("{flag}: expected a method or a model, found neither; add one");
            return Err(Error::new(Kind::Value, text));
        }
    };
    settings.set("draft_model", draft, flag.clone());
    let tokens = tokens.and_then(|tokens| tokens.parse::<u32>().ok()).ok_or_else(|| {
        let text = format!("{flag}: expected num_speculative_tokens as a whole number; add it");
        Error::new(Kind::Value, text)
    })?;
    settings.set("draft_tokens", tokens, flag);
    Ok(())
}
