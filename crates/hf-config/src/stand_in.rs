//! Formats that take as much memory as others that no kernel table has.

use rooflut::hardware::Dtype;

use crate::error::ConfigError;
use crate::object::Object;

/// A format of weights that replaces a format that is not modelled, if only memory counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StandIn {
    /// The key that names the format of the weights, and that format: `quantization_config.quant_method: gptq weights`.
    pub format: String,
    /// The format whose size they have.
    pub dtype: Dtype,
}

/// Returns the format with as many bits as that of a `quantization_config` which was refused with `error`; `None` where
/// the number of bits is neither 4 nor 8, or not named.
///
/// Scales and zero points count as those of `int4`, one per 32 weights, and as those of `fp8`.
pub(crate) fn find(quantization: &Object<'_>, error: &ConfigError) -> Option<StandIn> {
    let ConfigError::Format { key, format, .. } = error else {
        return None;
    };
    let dtype = match bits(quantization).ok()?? {
        4 => Dtype::Int4,
        8 => Dtype::Fp8,
        _ => return None,
    };
    Some(StandIn { format: format!("{key}: {format}"), dtype })
}

/// Returns the number of bits of the weights, where all of them have as many.
fn bits(quantization: &Object<'_>) -> Result<Option<u32>, ConfigError> {
    for key in ["bits", "w_bit"] {
        if let Some(bits) = quantization.dimension(&[key])? {
            return Ok(Some(bits.value));
        }
    }
    for (key, bits) in [("load_in_4bit", 4), ("load_in_8bit", 8)] {
        if quantization.switch(key)? == Some(true) {
            return Ok(Some(bits));
        }
    }
    if let Some(groups) = quantization.object("config_groups")? {
        let mut all = Vec::new();
        for group in groups.objects() {
            let weights = group.object("weights")?;
            let bits = weights.map(|weights| weights.dimension(&["num_bits"]));
            all.push(bits.transpose()?.flatten().map(|bits| bits.value));
        }
        all.dedup();
        return Ok(match all.as_slice() {
            [one] => *one,
            _ => None,
        });
    }
    let algorithm = quantization.text("quant_algo")?;
    let name = algorithm.or(quantization.text("quant_method")?);
    Ok(name.and_then(|name| {
        let has = |parts: [&str; 4]| parts.into_iter().any(|part| name.contains(part));
        match () {
            () if has(["W4", "FP4", "fp4", "int4"]) => Some(4),
            () if has(["W8", "FP8", "fp8", "int8"]) => Some(8),
            () => None,
        }
    }))
}
