//! The number format of a group of weights, or of the KV entries.

use rooflut::hardware::Dtype;

use crate::error::{ConfigError, Remedy};
use crate::object::{Object, shown};

/// Refuses a format of weights.
pub(crate) fn refuse<T>(object: &Object<'_>, key: &str, format: String) -> Result<T, ConfigError> {
    Err(ConfigError::Format { key: object.name(key), format, remedy: Remedy::WeightDtype })
}

fn refuse_kv<T>(object: &Object<'_>, key: &str, format: String) -> Result<T, ConfigError> {
    Err(ConfigError::Format { key: object.name(key), format, remedy: Remedy::KvDtype })
}

/// Returns the format of 8-bit floats with a scale for each block of this size.
pub(crate) fn block(object: &Object<'_>, key: &str, size: &[i64]) -> Result<Dtype, ConfigError> {
    match size {
        [128, 128] => Ok(Dtype::Fp8Block),
        other => refuse(object, key, format!("fp8 in blocks of {other:?}")),
    }
}

/// Returns the format of the weights of all groups.
pub(crate) fn compressed(quantization: &Object<'_>) -> Result<Dtype, ConfigError> {
    const GROUPS: &str = "config_groups";
    let missing = || quantization.lacks(GROUPS, "groups of weights");
    let groups = quantization.object(GROUPS)?.ok_or_else(missing)?;
    let mut formats =
        groups.objects().map(|group| group_format(&group)).collect::<Result<Vec<Dtype>, ConfigError>>()?;
    formats.dedup();
    match formats.as_slice() {
        [one] => Ok(*one),
        [] => Err(missing()),
        _ => refuse(quantization, GROUPS, "groups of several formats".to_owned()),
    }
}

/// Returns the format of a group of weights.
fn group_format(group: &Object<'_>) -> Result<Dtype, ConfigError> {
    const WEIGHTS: &str = "weights";
    if group.texts("targets")?.iter().any(|target| *target != "Linear") {
        return refuse(group, "targets", "a format of some modules only".to_owned());
    }
    let missing = || group.lacks(WEIGHTS, "an object");
    let weights = group.object(WEIGHTS)?.ok_or_else(missing)?;
    let number = |key| Ok(weights.dimension(&[key])?.map(|number| number.value));
    let (bits, kind) = (number("num_bits")?, weights.text("type")?.unwrap_or("int"));
    let size = number("group_size")?;
    let has_16_bit_activations = group.is_null("input_activations");
    let format = match (bits, kind, weights.text("strategy")?.unwrap_or("tensor")) {
        (Some(4), "int", "group") if has_16_bit_activations && size == Some(32) => {
            return Ok(Dtype::Int4);
        }
        (Some(8), "float", "tensor" | "channel") => Dtype::Fp8,
        (Some(8), "float", "block") => {
            let key = "block_structure";
            block(&weights, key, &weights.numbers(key)?)?
        }
        (Some(4), "float", _) if size == Some(16) => Dtype::Nvfp4,
        (bits, kind, strategy) => {
            let bits = bits.map_or_else(String::new, |bits| format!("{bits}-bit "));
            let (kind, strategy) = (shown(kind), shown(strategy));
            let size = size.map_or_else(String::new, |size| format!(" of {size}"));
            let format = format!("{bits}{kind} weights with a scale per {strategy}{size}");
            return refuse(group, WEIGHTS, format);
        }
    };
    if has_16_bit_activations {
        let format = "quantised weights with 16-bit activations".to_owned();
        return refuse(group, "input_activations", format);
    }
    Ok(format)
}

/// Reads the format of the KV entries.
pub(crate) fn kv(quantization: &Object<'_>) -> Result<Option<Dtype>, ConfigError> {
    const ALGORITHM: &str = "kv_cache_quant_algo";
    const SCHEME: &str = "kv_cache_scheme";
    match quantization.text(ALGORITHM)? {
        Some("FP8") => return Ok(Some(Dtype::Fp8)),
        Some(other) => {
            return refuse_kv(quantization, ALGORITHM, format!("{} KV entries", shown(other)));
        }
        None => {}
    }
    let Some(scheme) = quantization.object(SCHEME)? else {
        return Ok(None);
    };
    let bits = scheme.dimension(&["num_bits"])?.map(|bits| bits.value);
    match (bits, scheme.text("type")?) {
        (Some(8), Some("float")) => Ok(Some(Dtype::Fp8)),
        _ => refuse_kv(quantization, SCHEME, "a KV format other than fp8".to_owned()),
    }
}
