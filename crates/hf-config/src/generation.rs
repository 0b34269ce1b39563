//! The sampling of a model's tokens.

use rooflut::model::Sampler;
use serde_json::Value;

use crate::error::ConfigError;
use crate::json::parse;
use crate::object::Object;
use crate::options::Options;

/// Reads the sampler of a `generation_config.json`, which vLLM takes as the default of requests; plain without one.
pub(crate) fn sampler(options: &Options<'_>) -> Result<Sampler, ConfigError> {
    const FILE: &str = "generation_config.json";
    let Some(text) = options.generation_config else {
        return Ok(Sampler::Plain);
    };
    let file = parse(text).map_err(|error| ConfigError::Beside { file: FILE, error })?;
    let file = Object::outermost(format!("{FILE}: "), &file);
    let number = |key| file.value(key, "a number", Value::as_f64);
    let [top_p, top_k, penalty] = [
        number("top_p")?,
        number("top_k")?,
        number("repetition_penalty")?,
    ];
    // 0 and -1 are no limit.
    let sorts = top_p.is_some_and(|top_p| top_p < 1.0) || top_k.is_some_and(|top_k| top_k >= 1.0);
    Ok(match penalty {
        Some(penalty) if (penalty - 1.0).abs() > 0.0 => Sampler::RepetitionPenalty,
        _ if sorts => Sampler::TopP,
        _ => Sampler::Plain,
    })
}
