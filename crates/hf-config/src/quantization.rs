//! Number formats of the weights.

use rooflut::hardware::Dtype;
use serde_json::Value;

use crate::error::ConfigError;
use crate::object::Object;

/// The key of the object that describes quantized weights.
pub(crate) const QUANTIZATION: &str = "quantization_config";

/// Number formats of a model's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Formats {
    /// Format of attention projections and dense FFNs.
    pub(crate) attention: Dtype,
    /// Format of experts.
    pub(crate) experts: Dtype,
}

impl Formats {
    /// Returns `dtype` for all weights.
    pub(crate) const fn all(dtype: Dtype) -> Formats {
        Formats {
            attention: dtype,
            experts: dtype,
        }
    }

    /// Reads the formats from a `quantization_config`.
    pub(crate) fn read(
        quantization: &Object<'_>,
        has_experts: bool,
    ) -> Result<Formats, ConfigError> {
        let refuse = |feature| {
            Err(ConfigError::Unsupported {
                key: QUANTIZATION,
                feature,
            })
        };
        let dtype = match quantization.text("quant_method")?.unwrap_or("unnamed") {
            "fp8" if quantization.has("weight_block_size") => Dtype::Fp8Block,
            "fp8" | "fbgemm_fp8" => Dtype::Fp8,
            "compressed-tensors" if groups_are_fp8(quantization)? => Dtype::Fp8,
            method => return refuse(format!("{method} quantization")),
        };
        // Modules that stay 16-bit.
        let ignored = quantization.texts("ignore")?;
        let keeps_attention = ignored.iter().any(|module| module.contains("self_attn"));
        match (keeps_attention, has_experts) {
            (false, _) => Ok(Formats::all(dtype)),
            (true, true) => Ok(Formats {
                attention: Dtype::Bf16,
                experts: dtype,
            }),
            (true, false) => refuse("16-bit attention beside an 8-bit dense FFN".to_owned()),
        }
    }
}

/// Whether there are groups of weights, all of them 8-bit floats.
fn groups_are_fp8(quantization: &Object<'_>) -> Result<bool, ConfigError> {
    let groups = quantization.object("config_groups")?;
    let groups: Vec<&Value> = groups.iter().flat_map(Object::values).collect();
    let is_fp8 = |group: &&Value| {
        let weights = |key| group.get("weights")?.get(key);
        weights("num_bits").and_then(Value::as_u64) == Some(8)
            && weights("type").and_then(Value::as_str) == Some("float")
    };
    Ok(!groups.is_empty() && groups.iter().all(is_fp8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str =
        r#""config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}"#;

    fn formats(text: &str, has_experts: bool) -> Result<Formats, String> {
        let file = serde_json::from_str(text).unwrap();
        Formats::read(&Object::outermost(&file), has_experts).map_err(|error| error.to_string())
    }

    #[test]
    fn eight_bit_formats_are_told_apart() {
        let fp8 = Ok(Formats::all(Dtype::Fp8));
        assert_eq!(formats(r#"{"quant_method": "fp8"}"#, false), fp8);
        let block = r#"{"quant_method": "fp8", "weight_block_size": [128, 128]}"#;
        assert_eq!(formats(block, true), Ok(Formats::all(Dtype::Fp8Block)));
        let dynamic = format!(r#"{{"quant_method": "compressed-tensors", {GROUPS}}}"#);
        assert_eq!(formats(&dynamic, false), fp8);
        let int8 = dynamic.replace("float", "int");
        assert!(formats(&int8, false).is_err());
    }

    #[test]
    fn ignored_attention_stays_16_bit() {
        let scout = format!(
            r#"{{"quant_method": "compressed-tensors", {GROUPS}, "ignore": ["re:.*self_attn"]}}"#
        );
        let expected = Formats {
            attention: Dtype::Bf16,
            experts: Dtype::Fp8,
        };
        assert_eq!(formats(&scout, true), Ok(expected));
        assert!(formats(&scout, false).is_err());
    }

    #[test]
    fn other_methods_are_named() {
        let int4 = r#"{"quant_method": "gptq", "bits": 4}"#;
        let message = formats(int4, false).unwrap_err();
        let expected = "quantization_config: gptq quantization cannot be modelled";
        assert!(message.starts_with(expected), "{message}");
    }
}
