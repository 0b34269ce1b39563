//! The number formats that a `config.json` gives.

use rooflut::hardware::Dtype;
use serde::Deserialize;

/// `quantization_config`.
#[derive(Deserialize)]
pub(crate) struct QuantizationConfig {
    quant_method: Option<String>,
    weight_block_size: Option<Vec<u32>>,
    /// Modules that stay 16-bit.
    ignore: Option<Vec<String>>,
    config_groups: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The formats of a model's weights.
pub(crate) struct Formats {
    /// Of attention projections and dense FFNs.
    pub(crate) attention: Dtype,
    /// Of experts.
    pub(crate) experts: Dtype,
}

impl Formats {
    /// One format for all.
    pub(crate) fn all(dtype: Dtype) -> Formats {
        Formats {
            attention: dtype,
            experts: dtype,
        }
    }
}

impl QuantizationConfig {
    /// The formats, or what cannot be modelled.
    pub(crate) fn formats(&self, has_experts: bool) -> Result<Formats, String> {
        let method = self.quant_method.as_deref().unwrap_or("unnamed");
        let formats = match method {
            "fp8" if self.weight_block_size.is_some() => Formats::all(Dtype::Fp8Block),
            "fp8" | "fbgemm_fp8" => Formats::all(Dtype::Fp8),
            "compressed-tensors" if self.groups_are_fp8() => Formats::all(Dtype::Fp8),
            _ => return Err(format!("{method} quantization")),
        };
        let keeps_attention = || {
            let mut ignored = self.ignore.iter().flatten();
            ignored.any(|module| module.contains("self_attn"))
        };
        match (keeps_attention(), has_experts) {
            (false, _) => Ok(formats),
            (true, true) => Ok(Formats {
                attention: Dtype::Bf16,
                ..formats
            }),
            (true, false) => Err("16-bit attention beside an 8-bit dense FFN".to_owned()),
        }
    }

    fn groups_are_fp8(&self) -> bool {
        let groups = || self.config_groups.iter().flatten();
        let is_fp8 = |group: &serde_json::Value| {
            group
                .pointer("/weights/num_bits")
                .and_then(serde_json::Value::as_u64)
                == Some(8)
                && group
                    .pointer("/weights/type")
                    .and_then(serde_json::Value::as_str)
                    == Some("float")
        };
        groups().count() > 0 && groups().all(|(_, group)| is_fp8(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(json: &str, has_experts: bool) -> Result<(Dtype, Dtype), String> {
        let config: QuantizationConfig = serde_json::from_str(json).unwrap();
        let formats = config.formats(has_experts)?;
        Ok((formats.attention, formats.experts))
    }

    #[test]
    fn eight_bit_formats_are_told_apart() {
        let fp8 = Ok((Dtype::Fp8, Dtype::Fp8));
        assert_eq!(formats(r#"{"quant_method": "fp8"}"#, false), fp8);
        let block = r#"{"quant_method": "fp8", "weight_block_size": [128, 128]}"#;
        assert_eq!(formats(block, true), Ok((Dtype::Fp8Block, Dtype::Fp8Block)));
        let groups =
            r#""config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}"#;
        let dynamic = format!(r#"{{"quant_method": "compressed-tensors", {groups}}}"#);
        assert_eq!(formats(&dynamic, false), fp8);
    }

    #[test]
    fn ignored_attention_stays_16_bit() {
        let groups =
            r#""config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}"#;
        let scout = format!(
            r#"{{"quant_method": "compressed-tensors", {groups}, "ignore": ["re:.*self_attn"]}}"#
        );
        assert_eq!(formats(&scout, true), Ok((Dtype::Bf16, Dtype::Fp8)));
        assert!(formats(&scout, false).is_err());
    }

    #[test]
    fn other_methods_are_named() {
        let int4 = r#"{"quant_method": "gptq", "bits": 4}"#;
        assert_eq!(formats(int4, false), Err("gptq quantization".to_owned()));
    }
}
