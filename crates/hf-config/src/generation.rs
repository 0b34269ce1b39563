//! The sampling of a model's tokens.

use rooflut::model::Sampler;
use serde_json::Value;

use crate::error::ConfigError;
use crate::json::parse;
use crate::object::Object;
use crate::options::Options;

/// The `top_k` of a transformers `GenerationConfig` that sets none. vLLM takes only values that differ from such
/// defaults.
const DEFAULT_TOP_K: i64 = 50;
/// The temperature below which vLLM samples greedily.
const GREEDY: f64 = 1e-5;

/// Reads the sampler of a `generation_config.json`, which vLLM takes as the default of requests; plain without one.
///
/// Other keys of the file cost no time. The ranges are those that vLLM accepts.
pub(crate) fn sampler(options: &Options<'_>) -> Result<Sampler, ConfigError> {
    const FILE: &str = "generation_config.json";
    let Some(text) = options.generation_config else {
        return Ok(Sampler::Plain);
    };
    let file = parse(text, Some(FILE))?;
    let file = Object::outermost(format!("{FILE}: "), &file);
    let number = |key, expected, accepts: fn(f64) -> bool| {
        let read = |value: &Value| value.as_f64().filter(|&value| accepts(value));
        file.value(key, expected, read)
    };
    let top_p = number("top_p", "a number above 0 and at most 1", |top_p| top_p > 0.0 && top_p <= 1.0)?;
    let top_k =
        file.value("top_k", "a whole number of at least -1", |value| value.as_i64().filter(|&top_k| top_k >= -1))?;
    let temperature = number("temperature", "a number of at least 0", |value| value >= 0.0)?;
    let penalty = number("repetition_penalty", "a number above 0", |value| value > 0.0)?;
    // Greedy sampling ignores both limits; a top_k of 0 or -1 is none.
    let greedy = temperature.is_some_and(|temperature| temperature < GREEDY);
    let limited =
        top_p.is_some_and(|top_p| top_p < 1.0) || top_k.is_some_and(|top_k| top_k >= 1 && top_k != DEFAULT_TOP_K);
    Ok(match penalty {
        Some(penalty) if (penalty - 1.0).abs() > 0.0 => Sampler::RepetitionPenalty,
        _ if limited && !greedy => Sampler::TopP,
        _ => Sampler::Plain,
    })
}
