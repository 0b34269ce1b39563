//! Model types whose layers the step model has.

use crate::error::ConfigError;
use crate::keys::Dimension;
use crate::object::{Object, shown};
use crate::refused;

/// Model types whose files are read alike.
///
/// Keys have the same meaning in all of them; a family says what a file leaves out. Source of the defaults: the
/// configuration classes of transformers 4.57 (Gemma 4: 5.23), or those in the repository of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family {
    /// Values of `model_type`.
    types: &'static [&'static str],
    pub(crate) layers: Layers,
    /// Whether embedding and lm_head are the same weights where the file does not say so.
    pub(crate) tied: bool,
    /// Whether attention is over a latent vector of keys and values.
    pub(crate) latent: bool,
    /// Whether an indexer selects the latent vectors that a token attends to.
    pub(crate) has_indexer: bool,
    /// Whether an indexer selects the blocks of keys that a token attends to.
    pub(crate) block_sparse: bool,
    /// Whether attention is over a window and compressed keys.
    pub(crate) compressed: bool,
    /// Whether `sliding_window` counts without `use_sliding_window`.
    pub(crate) slides: bool,
    /// Whether layers without a window have heads of their own.
    pub(crate) has_global_heads: bool,
    /// Rows of learned position embeddings beyond those of the longest sequence; `None` without such embeddings.
    pub(crate) positions: Option<u32>,
    /// Whether some layers are gated delta nets.
    pub(crate) has_delta_nets: bool,
    /// Whether queries and keys have norms over all their heads.
    pub(crate) joint_qk_norm: bool,
    /// Whether the file is read as that of this family, although it says otherwise.
    pub(crate) assumed: bool,
    /// Numbers of keys that a file may leave out.
    defaults: &'static [(&'static str, u32)],
}

/// The feed-forward part of a family's layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layers {
    /// Gate, up and down projection.
    Gated,
    /// Up and down projection; four times as wide as the hidden state unless the file says so.
    Ungated,
    /// Router and experts.
    Experts,
    /// Router and experts, and a shared expert without a key, as wide as the other experts.
    ExpertsAndOne,
    /// A gated FFN, plus a router and experts if the file has them.
    GatedAndExperts,
    /// A gated FFN or experts, whichever the file has.
    Assumed,
}

const LLAMA: Family = Family {
    types: &[
        "Yi",
        "aquila",
        "baichuan",
        "chatglm",
        "granite",
        "hunyuan_v1_dense",
        "internlm",
        "internlm2",
        "internlm3",
        "llama",
        "mimo",
        "olmo",
        "olmo2",
        "orion",
        "phi3",
        "phi3_v",
        "xverse",
    ],
    layers: Layers::Gated,
    tied: false,
    latent: false,
    has_indexer: false,
    block_sparse: false,
    compressed: false,
    slides: true,
    has_global_heads: false,
    positions: None,
    has_delta_nets: false,
    joint_qk_norm: false,
    assumed: false,
    defaults: &[],
};

const TIED: Family = Family { types: &["cohere", "minicpm"], tied: true, ..LLAMA };

const MIXTRAL: Family =
    Family { types: &["mixtral", "phimoe"], layers: Layers::Experts, defaults: &[KV_HEADS_8], ..LLAMA };

const QWEN: Family = Family { types: &["qwen2"], slides: false, defaults: &[("num_key_value_heads", 32)], ..LLAMA };

const DELTA: Family = Family {
    types: &["qwen3_5_text"],
    has_delta_nets: true,
    defaults: &[
        ("linear_conv_kernel_dim", 4),
        ("full_attention_interval", 4),
        ("head_dim", 256),
        // `vllm/model_executor/models/qwen3_next_mtp.py`.
        ("mtp_num_hidden_layers", 1),
    ],
    ..QWEN
};

const GEMMA: Family = Family { types: &["gemma"], defaults: &[("num_key_value_heads", 16), ("head_dim", 256)], ..TIED };

const FALCON: Family = Family {
    types: &["bloom", "falcon"],
    layers: Layers::Ungated,
    defaults: &[("max_position_embeddings", 2048)],
    ..TIED
};

const KV_HEADS_8: (&str, u32) = ("num_key_value_heads", 8);
const KV_HEADS_4: (&str, u32) = ("num_key_value_heads", 4);
const WINDOW_4096: (&str, u32) = ("sliding_window", 4096);

/// Every so many layers, one is without a window.
const fn pattern(layers: u32) -> (&'static str, u32) {
    ("sliding_window_pattern", layers)
}

/// The families, those alike beside each other.
const FAMILIES: &[Family] = &[
    LLAMA,
    TIED,
    Family { types: &["mistral", "ministral"], defaults: &[KV_HEADS_8, WINDOW_4096], ..LLAMA },
    Family { types: &["ministral3"], defaults: &[KV_HEADS_8], ..LLAMA },
    Family { types: &["seed_oss"], defaults: &[KV_HEADS_8, ("head_dim", 128)], ..LLAMA },
    Family {
        types: &["glm", "glm4", "glm4v_text"],
        defaults: &[("num_key_value_heads", 2), ("head_dim", 128)],
        ..LLAMA
    },
    Family { types: &["stablelm", "stablelm_epoch"], defaults: &[("num_key_value_heads", 32)], ..LLAMA },
    Family { types: &["helium"], defaults: &[("num_key_value_heads", 20), ("head_dim", 128)], ..LLAMA },
    Family { types: &["smollm3"], defaults: &[("num_key_value_heads", 4)], ..TIED },
    Family { types: &["ernie4_5"], defaults: &[("num_key_value_heads", 2), ("head_dim", 128)], ..TIED },
    Family { types: &["exaone"], ..TIED },
    Family { types: &["exaone4"], defaults: &[("num_key_value_heads", 32), WINDOW_4096, pattern(4)], ..LLAMA },
    Family { types: &["olmo3"], defaults: &[WINDOW_4096, pattern(4)], ..LLAMA },
    Family { types: &["cohere2"], defaults: &[WINDOW_4096, pattern(4)], ..TIED },
    QWEN,
    Family { types: &["qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"], defaults: &[KV_HEADS_8], ..QWEN },
    Family { types: &["qwen3", "qwen3_vl_text"], defaults: &[("num_key_value_heads", 32), ("head_dim", 128)], ..QWEN },
    Family {
        types: &["qwen2_moe", "qwen3_vl_moe_text"],
        layers: Layers::Experts,
        defaults: &[("num_key_value_heads", 16)],
        ..QWEN
    },
    Family { types: &["qwen3_moe"], layers: Layers::Experts, defaults: &[("num_key_value_heads", 4)], ..QWEN },
    DELTA,
    Family { types: &["qwen3_next", "qwen3_5_moe_text"], layers: Layers::Experts, ..DELTA },
    GEMMA,
    Family {
        types: &["gemma2"],
        defaults: &[("num_key_value_heads", 4), ("head_dim", 256), WINDOW_4096, pattern(2)],
        ..GEMMA
    },
    Family {
        types: &["gemma3_text"],
        // The files of published models leave these out.
        defaults: &[
            ("num_attention_heads", 8),
            ("num_key_value_heads", 4),
            ("head_dim", 256),
            ("vocab_size", 262_208),
            ("max_position_embeddings", 131_072),
            WINDOW_4096,
            pattern(6),
        ],
        ..GEMMA
    },
    // Where the file leaves them out, it has per-layer embeddings.
    Family {
        types: &["gemma4_text"],
        layers: Layers::GatedAndExperts,
        has_global_heads: true,
        defaults: &[
            ("num_key_value_heads", 4),
            ("head_dim", 256),
            ("global_head_dim", 512),
            ("hidden_size_per_layer_input", 256),
            ("sliding_window", 512),
            pattern(6),
        ],
        ..GEMMA
    },
    FALCON,
    Family {
        types: &["apertus", "arcee", "codegen", "gpt_neox", "gptj", "nemotron", "persimmon", "phi"],
        layers: Layers::Ungated,
        ..LLAMA
    },
    Family { types: &["gpt2", "gpt_bigcode"], positions: Some(0), ..FALCON },
    Family { types: &["opt"], positions: Some(2), ..FALCON },
    Family { types: &["starcoder2"], defaults: &[("num_key_value_heads", 2)], ..FALCON },
    MIXTRAL,
    Family {
        types: &["minimax_m3", "minimax_m3_text", "minimax_m3_vl"],
        block_sparse: true,
        // vLLM's `minimax_m3_mtp` drafts with this many layers, and NVIDIA's files have another number beside.
        defaults: &[KV_HEADS_4, ("num_nextn_predict_layers", 1)],
        ..MIXTRAL
    },
    Family { types: &["minimax_m2"], joint_qk_norm: true, defaults: &[KV_HEADS_8], ..MIXTRAL },
    Family {
        types: &[
            "bailing_moe",
            "bailing_moe_v2",
            "dbrx",
            "deepseek",
            "flex_olmo",
            "granitemoe",
            "granitemoeshared",
            "hunyuan_v1_moe",
            "olmoe",
        ],
        defaults: &[],
        ..MIXTRAL
    },
    Family { types: &["grok-1"], defaults: &[], tied: true, ..MIXTRAL },
    Family { types: &["dots1"], defaults: &[("num_key_value_heads", 32)], ..MIXTRAL },
    Family { types: &["glm4_moe", "glm4v_moe_text"], defaults: &[KV_HEADS_8, ("first_k_dense_replace", 1)], ..MIXTRAL },
    Family {
        types: &["deepseek_v2", "deepseek_v3", "glm4_moe_lite", "kimi_k2"],
        latent: true,
        defaults: &[("q_lora_rank", 1536), ("qk_rope_head_dim", 64)],
        ..MIXTRAL
    },
    Family {
        types: &["deepseek_v32", "glm_moe_dsa"],
        latent: true,
        has_indexer: true,
        defaults: &[("qk_rope_head_dim", 64)],
        ..MIXTRAL
    },
    Family { types: &["deepseek_v4"], compressed: true, defaults: &[("qk_rope_head_dim", 64)], ..MIXTRAL },
    Family {
        types: &["ernie4_5_moe"],
        defaults: &[("num_key_value_heads", 4), ("moe_layer_start_index", 1)],
        tied: true,
        ..MIXTRAL
    },
    Family {
        types: &["gpt_oss"],
        defaults: &[KV_HEADS_8, ("head_dim", 64), ("sliding_window", 128), pattern(2)],
        ..MIXTRAL
    },
    Family {
        types: &["llama4_text"],
        layers: Layers::ExpertsAndOne,
        defaults: &[KV_HEADS_8, ("head_dim", 128), ("attention_chunk_size", 8192), ("no_rope_layer_interval", 4)],
        ..MIXTRAL
    },
];

impl Family {
    /// A Llama or a Mixtral, for a file of another type.
    const ASSUMED: Family = Family { layers: Layers::Assumed, assumed: true, ..LLAMA };

    /// Returns the family for a file that says otherwise.
    fn assumed(self) -> Family {
        let layers = match self.layers {
            Layers::Gated => Layers::Assumed,
            layers => layers,
        };
        Family { layers, has_delta_nets: false, block_sparse: false, compressed: false, assumed: true, ..self }
    }

    /// Returns the family of the layers of an EAGLE-3 head of this architecture, which are dense, and its type.
    pub(crate) fn of_head<'j>(config: &Object<'j>, architecture: &'j str) -> Result<(Family, &'j str), ConfigError> {
        let like = match config.text("model_type")? {
            _ if architecture.contains("Deepseek") => "deepseek_v3",
            Some("qwen3") => "qwen3",
            _ => "llama",
        };
        let family = FAMILIES.iter().find(|family| family.types.contains(&like)).unwrap_or(&LLAMA);
        Ok((Family { layers: Layers::Gated, ..*family }, architecture))
    }

    /// Returns the family of the model that `config` describes, and its type.
    pub(crate) fn of<'j>(
        config: &Object<'j>,
        outer: &Object<'j>,
        assume_llama: bool,
    ) -> Result<(Family, &'j str), ConfigError> {
        const KEY: &str = "model_type";
        let Some(model_type) = config.text(KEY)?.or(outer.text(KEY)?) else {
            let found = None;
            return if assume_llama { Ok((Family::ASSUMED, "")) } else { Err(ConfigError::UnknownType { found }) };
        };
        let family = match FAMILIES.iter().find(|family| family.types.contains(&model_type)) {
            Some(family) if assume_llama => family.assumed(),
            Some(family) => *family,
            None if assume_llama => Family::ASSUMED,
            None => {
                return Err(match refused::feature(model_type) {
                    Some(feature) => ConfigError::Unsupported {
                        key: config.name(KEY),
                        feature: format!("{model_type} has {feature}, which"),
                    },
                    None => ConfigError::UnknownType { found: Some(shown(model_type)) },
                });
            }
        };
        Ok((family, model_type))
    }

    /// Reads a dimension that the model cannot be without, or takes that of the family.
    pub(crate) fn required(
        &self,
        config: &Object<'_>,
        keys: &'static [&'static str],
    ) -> Result<Dimension, ConfigError> {
        let read = self.dimension(config, keys)?;
        read.ok_or_else(|| config.missing(keys))
    }

    /// Reads a dimension, or takes that of the family.
    pub(crate) fn dimension(
        &self,
        config: &Object<'_>,
        keys: &'static [&'static str],
    ) -> Result<Option<Dimension>, ConfigError> {
        let default = |&key: &&'static str| {
            let value = self.default(key, config)?;
            Some(Dimension { key, value })
        };
        Ok(config.dimension(keys)?.or_else(|| keys.iter().find_map(default)))
    }

    /// Returns the number that a file of this family means where it leaves out `key`. A `null` is no omission.
    pub(crate) fn default(&self, key: &'static str, config: &Object<'_>) -> Option<u32> {
        let mut defaults = self.defaults.iter().filter(|(name, _)| *name == key);
        let (_, value) = defaults.next()?;
        (!config.is_null(key)).then_some(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_one_family() {
        let mut types: Vec<_> = FAMILIES.iter().flat_map(|family| family.types).collect();
        types.sort_unstable();
        let all = types.len();
        types.dedup();
        assert_eq!(types.len(), all);
        let is_refused = |name: &&&&str| refused::feature(name).is_some();
        assert_eq!(types.iter().find(is_refused), None);
    }
}
