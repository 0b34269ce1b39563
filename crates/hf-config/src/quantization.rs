//! Number formats of weights and KV entries.

use rooflut::hardware::Dtype;

use crate::error::ConfigError;
use crate::format::{block, compressed, kv, refuse};
use crate::json::parse;
use crate::modules::{Kept, Modules};
use crate::object::{Object, shown};
use crate::options::Options;
use crate::stand_in::{self, StandIn};

/// Number formats of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Formats {
    /// Formats of each layer.
    pub(crate) layers: Vec<LayerFormats>,
    /// Format of the KV entries, if there is a choice of one.
    pub(crate) kv: Option<Dtype>,
    /// The format of the weights, if it is not modelled and others of its size take its place.
    pub(crate) stand_in: Option<StandIn>,
}

/// Number formats of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerFormats {
    /// Format of attention projections.
    pub(crate) attention: Dtype,
    /// Format of the FFN or the routed experts.
    pub(crate) ffn: Dtype,
    /// Format of the shared expert.
    pub(crate) shared: Dtype,
}

impl Formats {
    /// Reads the number formats, which a multimodal model has beside its `text_config` or in it, and NVIDIA's models in
    /// a file of their own.
    pub(crate) fn of(
        config: &Object<'_>,
        outer: &Object<'_>,
        options: &Options<'_>,
        modules: Modules<'_>,
    ) -> Result<Formats, ConfigError> {
        const KEY: &str = "quantization_config";
        const FILE: &str = "hf_quant_config.json: ";
        const FORMATS: &str = "quantization";
        if let Some(quantization) = config.object(KEY)?.or(outer.object(KEY)?) {
            return Formats::read(&quantization, options, modules);
        }
        let Some(text) = options.hf_quant_config else {
            return Ok(Formats::plain(options.kv_dtype, modules));
        };
        let file = parse(text, Some("hf_quant_config.json"))?;
        let file = Object::outermost(FILE, &file);
        let missing = || file.lacks(FORMATS, "an object");
        let quantization = file.object(FORMATS)?.ok_or_else(missing)?;
        Formats::read_modelopt(&quantization, options, modules)
    }

    /// Returns 16-bit weights.
    fn plain(kv: Option<Dtype>, modules: Modules<'_>) -> Formats {
        let layers =
            (0..modules.layers).map(|_| LayerFormats { attention: Dtype::Bf16, ffn: Dtype::Bf16, shared: Dtype::Bf16 });
        Formats { layers: layers.collect(), kv, stand_in: None }
    }

    /// Reads a `quantization_config`.
    fn read(quantization: &Object<'_>, options: &Options<'_>, modules: Modules<'_>) -> Result<Formats, ConfigError> {
        const METHOD: &str = "quant_method";
        let method = quantization.text(METHOD)?.unwrap_or("unnamed");
        if method == "modelopt" || method == "modelopt_fp4" {
            return Formats::read_modelopt(quantization, options, modules);
        }
        const BLOCK: &str = "weight_block_size";
        let weights = || match method {
            "fp8" => match quantization.numbers(BLOCK)?.as_slice() {
                [] => Ok(Dtype::Fp8),
                size => block(quantization, BLOCK, size),
            },
            "fbgemm_fp8" => Ok(Dtype::Fp8),
            "compressed-tensors" => compressed(quantization),
            "mxfp4" if modules.experts.is_some() => Ok(Dtype::Mxfp4),
            _ => refuse(quantization, METHOD, format!("{} weights", shown(method))),
        };
        Formats::choose(quantization, options, modules, weights)
    }

    /// Reads the formats of NVIDIA's ModelOpt, from a `quantization_config` or a file of its own.
    fn read_modelopt(
        quantization: &Object<'_>,
        options: &Options<'_>,
        modules: Modules<'_>,
    ) -> Result<Formats, ConfigError> {
        const ALGORITHM: &str = "quant_algo";
        let weights = || match quantization.text(ALGORITHM)? {
            Some("FP8" | "FP8_PER_CHANNEL_PER_TOKEN") => Ok(Dtype::Fp8),
            Some("NVFP4") => Ok(Dtype::Nvfp4),
            Some(other) => refuse(quantization, ALGORITHM, format!("{} weights", shown(other))),
            // The KV cache alone is in another format.
            None if kv(quantization)?.is_some() => Ok(Dtype::Bf16),
            None => Err(quantization.lacks(ALGORITHM, "a text")),
        };
        Formats::choose(quantization, options, modules, weights)
    }

    /// Returns the formats of the file. Where the options replace them, ones that are not modelled are 16-bit.
    fn choose(
        quantization: &Object<'_>,
        options: &Options<'_>,
        modules: Modules<'_>,
        weights: impl FnOnce() -> Result<Dtype, ConfigError>,
    ) -> Result<Formats, ConfigError> {
        let kv = match options.kv_dtype {
            None => kv(quantization)?,
            given => given,
        };
        let by_size = options.memory_only && options.weight_dtype.is_none();
        let mut stand_in = None;
        let weights = weights().or_else(|error| {
            stand_in = stand_in::find(quantization, &error).filter(|_| by_size);
            stand_in.as_ref().map(|found| found.dtype).ok_or(error)
        });
        let read = weights.and_then(|dtype| Ok((dtype, Kept::read(quantization, modules)?)));
        let (dtype, kept) = match read {
            Err(_) if options.weight_dtype.is_some() => return Ok(Formats::plain(kv, modules)),
            read => read?,
        };
        let layers = (0..).zip(kept).map(|(layer, kept)| {
            // The linear layers of such a model are 16-bit, whether or not it lists them.
            let experts_only = dtype == Dtype::Mxfp4;
            let is_routed = modules.has_experts_in(layer);
            let format =
                |is_kept, is_routed: bool| if is_kept || experts_only && !is_routed { Dtype::Bf16 } else { dtype };
            let ffn = format(kept.ffn, is_routed);
            LayerFormats {
                attention: format(kept.attention, false),
                ffn,
                shared: if is_routed { format(kept.shared, false) } else { ffn },
            }
        });
        Ok(Formats { layers: layers.collect(), kv, stand_in })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::modules;

    const DENSE: Modules<'static> =
        Modules { layers: 2, attention: modules::ATTENTION, experts: None, shared: None, dense: &[] };
    const EXPERTS: Modules<'static> = Modules { experts: Some(modules::EXPERTS), ..DENSE };

    fn read(value: &Value, modules: Modules<'_>) -> Result<Formats, String> {
        let object = Object::outermost("quantization_config.", value.as_object().unwrap());
        let read = Formats::read(&object, &Options::default(), modules);
        read.map_err(|error| error.to_string())
    }

    fn layers(value: &Value, modules: Modules<'_>) -> Vec<LayerFormats> {
        read(value, modules).unwrap().layers
    }

    fn all(dtype: Dtype) -> [LayerFormats; 2] {
        [LayerFormats { attention: dtype, ffn: dtype, shared: dtype }; 2]
    }

    fn experts(dtype: Dtype) -> [LayerFormats; 2] {
        all(Dtype::Bf16).map(|layer| LayerFormats { ffn: dtype, ..layer })
    }

    fn groups(weights: &Value) -> Value {
        let group = json!({"targets": ["Linear"], "weights": weights, "input_activations": {}});
        json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": group}})
    }

    #[test]
    fn formats_are_told_apart() {
        let float = |strategy| json!({"num_bits": 8, "type": "float", "strategy": strategy});
        let mut block = float("block");
        block["block_structure"] = json!([128, 128]);
        let fp4 = json!({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16});
        for (value, expected) in [
            (json!({"quant_method": "fp8"}), Dtype::Fp8),
            (json!({"quant_method": "fp8", "weight_block_size": [128, 128]}), Dtype::Fp8Block),
            (json!({"quant_method": "fbgemm_fp8"}), Dtype::Fp8),
            (json!({"quant_method": "modelopt", "quant_algo": "FP8"}), Dtype::Fp8),
            (json!({"quant_method": "modelopt", "quant_algo": "NVFP4"}), Dtype::Nvfp4),
            (groups(&float("tensor")), Dtype::Fp8),
            (groups(&float("channel")), Dtype::Fp8),
            (groups(&block), Dtype::Fp8Block),
            (groups(&fp4), Dtype::Nvfp4),
        ] {
            assert_eq!(layers(&value, EXPERTS), all(expected), "{value}");
        }
        let mut int4 = groups(&json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}));
        int4["config_groups"]["group_0"]["input_activations"] = Value::Null;
        int4["ignore"] = json!(["re:.*self_attn.*", "re:.*shared_experts.*"]);
        let shared = Modules { shared: Some(modules::SHARED), ..EXPERTS };
        assert_eq!(layers(&int4, shared), experts(Dtype::Int4));
        // An MLP beside the experts.
        let beside = Modules { experts: Some(modules::BESIDE), shared: Some(modules::DENSE), ..DENSE };
        let mut fp4 = groups(&fp4);
        fp4["ignore"] = json!(["re:.*self_attn.*", "model.layers.0.mlp", "model.layers.1.mlp"]);
        assert_eq!(layers(&fp4, beside), experts(Dtype::Nvfp4));
        // Whatever the list says, linear layers stay 16-bit.
        let mxfp4 = json!({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]});
        assert_eq!(layers(&mxfp4, shared), experts(Dtype::Mxfp4));
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        let float = json!({"num_bits": 8, "type": "float", "strategy": "channel"});
        let mut weights_only = groups(&float);
        weights_only["config_groups"]["group_0"]["input_activations"] = Value::Null;
        let mut partly = groups(&float);
        partly["config_groups"]["group_0"]["targets"] = json!(["re:.*experts.*"]);
        for (value, expected) in [
            (json!({"quant_method": "gptq", "bits": 4}), "quant_method: gptq weights"),
            (json!({"quant_method": "mxfp4"}), "quant_method: mxfp4 weights"),
            (json!({"bits": 4}), "quant_method: unnamed weights"),
            (
                json!({"quant_method": "fp8", "weight_block_size": [1, 32]}),
                "weight_block_size: fp8 in blocks of [1, 32]",
            ),
            (
                groups(&json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128})),
                "config_groups.group_0.weights: 4-bit int weights with a scale per group of 128",
            ),
            (weights_only, "config_groups.group_0.input_activations: quantised weights with 16-bit"),
            (partly, "config_groups.group_0.targets: a format of some modules only"),
            (json!({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}), "quant_algo: W4A8_AWQ weights"),
            (
                json!({"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8, "type": "int"}}),
                "kv_cache_scheme: a KV format other than fp8",
            ),
        ] {
            let message = read(&value, DENSE).unwrap_err();
            let expected = format!("quantization_config.{expected}");
            assert!(message.starts_with(&expected), "{message}");
            assert!(message.ends_with("choose a format to model in its place"));
        }
    }

    #[test]
    fn kv_entries_have_their_own_format() {
        let float = json!({"num_bits": 8, "type": "float"});
        let value = json!({"quant_method": "fp8", "kv_cache_scheme": float});
        assert_eq!(read(&value, DENSE).unwrap().kv, Some(Dtype::Fp8));
        let value = json!({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"});
        assert_eq!(read(&value, DENSE).unwrap().kv, Some(Dtype::Fp8));
        let object = Object::outermost("", value.as_object().unwrap());
        let options = Options::default().with_kv_dtype(Some(Dtype::Bf16));
        let given = Formats::read(&object, &options, DENSE).unwrap();
        assert_eq!(given.kv, Some(Dtype::Bf16));
        let value = json!({"quant_method": "modelopt", "quant_algo": null, "kv_cache_quant_algo": "FP8"});
        let formats = read(&value, DENSE).unwrap();
        assert_eq!((formats.layers[0].ffn, formats.kv), (Dtype::Bf16, Some(Dtype::Fp8)));
    }

    #[test]
    fn modules_that_stay_16_bit_are_counted_layer_by_layer() {
        let names = |layer: u32| {
            let names = ["q_proj", "k_proj", "v_proj", "o_proj"];
            names.map(|name| format!("language_model.model.layers.{layer}.self_attn.{name}"))
        };
        let both = [names(0), names(1)].concat();
        let fp8 = all(Dtype::Fp8);
        let attention = fp8.map(|layer| LayerFormats { attention: Dtype::Bf16, ..layer });
        let first = [attention[0], fp8[1]];
        let neither = fp8.map(|layer| LayerFormats { attention: Dtype::Bf16, ffn: Dtype::Bf16, ..layer });
        for (key, entries, expected) in [
            ("ignore", json!(["re:.*self_attn", "re:.*lm_head"]), &attention),
            ("ignore", json!(both), &attention),
            ("exclude_modules", json!(["*self_attn*"]), &attention),
            ("modules_to_not_convert", json!(["model.layers.*.self_attn"]), &attention),
            ("modules_to_not_convert", json!(["self_attn"]), &attention),
            ("ignore", json!(["self_attn.qkv_proj", "self_attn.o_proj"]), &attention),
            ("ignored_layers", json!(["lm_head", "gate", "model.embed_tokens"]), &fp8),
            (
                "ignore",
                json!([
                    "model.layers.0.mlp.gate",
                    "model.layers.0.mlp.shared_expert_gate",
                    "model.layers.0.input_layernorm"
                ]),
                &fp8,
            ),
            ("ignore", json!(["vision_model.model.layers.0.self_attn.q_proj"]), &fp8),
            ("ignore", json!(["model.layers.2.self_attn.q_proj"]), &fp8),
            ("ignored_layers", json!(["self_attn", "mlp.experts"]), &neither),
            ("ignore", json!(names(0)), &first),
            ("ignored_layers", json!(["model.layers.0.self_attn"]), &first),
        ] {
            let mut value = json!({"quant_method": "fp8"});
            value[key] = entries;
            assert_eq!(layers(&value, EXPERTS), *expected, "{value}");
        }
        let latent = Modules { attention: modules::LATENT, ..EXPERTS };
        let names = ["q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "kv_b_proj", "o_proj"];
        let each = [0, 1].map(|layer| names.map(|name| format!("layers.{layer}.self_attn.{name}")));
        for entries in [json!(["model.layers.*.self_attn*"]), json!(each.concat())] {
            let value = json!({"quant_method": "fp8", "ignore": entries});
            assert_eq!(layers(&value, latent), attention, "{value}");
        }
        let shared = json!({"quant_method": "fp8", "ignore": ["re:.*shared_expert\\."]});
        let with_shared = Modules { shared: Some(modules::SHARED), ..EXPERTS };
        let kept = layers(&shared, with_shared)[1];
        assert_eq!((kept.ffn, kept.shared), (Dtype::Fp8, Dtype::Bf16));
    }

    #[test]
    fn modules_of_a_part_in_several_formats_are_refused() {
        for (entries, modules, expected) in [
            (json!(["re:.*o_proj"]), EXPERTS, "attention with 16-bit weights in some modules only"),
            (json!(["model.layers.1.mlp.up_proj"]), DENSE, "an FFN with 16-bit weights in some modules only"),
            (
                json!(["model.layers.0.mlp.experts.5.gate_proj"]),
                EXPERTS,
                "the 16-bit module model.layers.0.mlp.experts.5.gate_proj",
            ),
            (json!(["re:(?!mlp)"]), EXPERTS, "the pattern \"re:(?!mlp)\""),
        ] {
            let value = json!({"quant_method": "fp8", "ignored_layers": entries});
            let message = read(&value, modules).unwrap_err();
            let expected = format!("quantization_config.ignored_layers: {expected} cannot");
            assert!(message.starts_with(&expected), "{message}");
        }
    }
}
