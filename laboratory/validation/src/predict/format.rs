//! Number formats by their names in vLLM and on model cards, and samplers.

use rooflut::hardware::Dtype;
use rooflut::model::Sampler;

use crate::reason::Reason;

/// Parses a format of weights; `None` if the text leaves it to the model.
pub(super) fn weights(text: &str) -> Result<Option<Dtype>, Reason> {
    let known = "expected bf16, fp16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4 or auto";
    parse(text).ok_or_else(|| Reason::unknown("dtype", text, known))
}

/// Parses a format of KV entries; 16-bit if the text leaves it to the engine.
pub(super) fn kv_entries(text: &str) -> Result<Dtype, Reason> {
    let dtype = match text.to_ascii_lowercase().as_str() {
        // Not a format of weights, so `parse` does not know it.
        "fp8_e5m2" => Some(Dtype::Fp8),
        _ => parse(text).map(|dtype| dtype.unwrap_or(Dtype::Bf16)),
    };
    let known = "expected bf16, fp8, fp8_e4m3, fp8_e5m2 or auto";
    dtype
        .filter(|dtype| matches!(dtype, Dtype::Bf16 | Dtype::Fp8))
        .ok_or_else(|| Reason::unknown("KV dtype", text, known))
}

/// Parses a sampler; `None` if the text leaves it to the model.
pub(super) fn sampler(text: &str) -> Result<Option<Sampler>, Reason> {
    let known = "expected plain, top-p or repetition-penalty";
    match text {
        "" => Ok(None),
        name => match name.to_ascii_lowercase().parse() {
            Ok(sampler) => Ok(Some(sampler)),
            Err(_) => Err(Reason::unknown("sampler", text, known)),
        },
    }
}

/// Parses a format in any case; the inner `None` is `auto` or an empty text.
fn parse(text: &str) -> Option<Option<Dtype>> {
    let name = text.to_ascii_lowercase();
    let dtype = match name.strip_prefix("torch.").unwrap_or(&name) {
        "" | "auto" => return Some(None),
        "bfloat16" | "float16" | "fp16" | "half" => Dtype::Bf16,
        "fp8_e4m3" | "fp8_per_tensor" => Dtype::Fp8,
        name => name.parse().ok()?,
    };
    Some(Some(dtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_the_names_of_the_tables_and_of_vllm() {
        for (text, dtype) in [
            ("", None),
            ("auto", None),
            ("bf16", Some(Dtype::Bf16)),
            ("BFloat16", Some(Dtype::Bf16)),
            ("torch.bfloat16", Some(Dtype::Bf16)),
            ("float16", Some(Dtype::Bf16)),
            ("torch.float16", Some(Dtype::Bf16)),
            ("fp16", Some(Dtype::Bf16)),
            ("half", Some(Dtype::Bf16)),
            ("FP8", Some(Dtype::Fp8)),
            ("fp8_e4m3", Some(Dtype::Fp8)),
            ("fp8_per_tensor", Some(Dtype::Fp8)),
            ("fp8_block", Some(Dtype::Fp8Block)),
            ("nvfp4", Some(Dtype::Nvfp4)),
            ("MXFP4", Some(Dtype::Mxfp4)),
            ("int4", Some(Dtype::Int4)),
        ] {
            assert_eq!(weights(text).unwrap(), dtype, "{text}");
        }
        for text in ["int8", "fp8_e5m2", "float32"] {
            let reason = weights(text).map(|_| ()).unwrap_err().to_string();
            assert!(reason.starts_with(&format!("unknown dtype \"{text}\"")));
        }
    }

    #[test]
    fn kv_entries_have_16_or_8_bits() {
        for text in ["", "auto", "bf16", "bfloat16", "float16"] {
            assert_eq!(kv_entries(text).unwrap(), Dtype::Bf16, "{text}");
        }
        for text in ["fp8", "FP8_E4M3", "fp8_e5m2"] {
            assert_eq!(kv_entries(text).unwrap(), Dtype::Fp8, "{text}");
        }
        for text in ["int8", "fp8_block", "nvfp4", "mxfp4", "int4", "fp8_inc"] {
            let reason = kv_entries(text).unwrap_err().to_string();
            assert!(reason.starts_with(&format!("unknown KV dtype \"{text}\"")));
        }
    }

    #[test]
    fn samplers_have_the_names_of_the_flag() {
        assert_eq!(sampler("").unwrap(), None);
        assert_eq!(sampler("Plain").unwrap(), Some(Sampler::Plain));
        assert_eq!(sampler("top-p").unwrap(), Some(Sampler::TopP));
        let penalty = sampler("repetition-penalty").unwrap();
        assert_eq!(penalty, Some(Sampler::RepetitionPenalty));
        let reason = sampler("beam").map(|_| ()).unwrap_err().to_string();
        assert!(reason.starts_with("unknown sampler \"beam\""), "{reason}");
    }
}
