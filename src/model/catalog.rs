//! Catalogue of known models.

use super::{Ffn, ModelSpec};
use crate::hardware::Dtype;

/// A known model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogEntry {
    /// Short name, such as `llama-3.1-8b`.
    pub name: &'static str,
    /// Hugging Face ids with these dimensions, and shorter names.
    pub aliases: &'static [&'static str],
    /// The dimensions.
    pub spec: ModelSpec,
}

/// Returns the model with the given short name or Hugging Face id, ignoring case.
///
/// ```
/// use rooflut::model;
/// let by_name = model::find("llama-3.1-8b").unwrap();
/// let by_id = model::find("meta-llama/Llama-3.1-8B-Instruct").unwrap();
/// assert_eq!(by_name, by_id);
/// assert!(model::find("llama-9").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static CatalogEntry> {
    CATALOG.iter().find(|entry| {
        entry.name.eq_ignore_ascii_case(name)
            || entry.aliases.iter().any(|id| id.eq_ignore_ascii_case(name))
    })
}

const fn dense(
    [hidden, layers, q_heads, kv_heads, head_dim]: [u32; 5],
    intermediate: u32,
    vocab: u32,
    max_model_len: u32,
) -> ModelSpec {
    ModelSpec {
        hidden,
        layers,
        q_heads,
        kv_heads,
        head_dim,
        vocab,
        ffn: Ffn::Dense { intermediate },
        weight_dtype: Dtype::Bf16,
        tied_embeddings: false,
        max_model_len,
    }
}

const fn tied(base: ModelSpec) -> ModelSpec {
    ModelSpec {
        tied_embeddings: true,
        ..base
    }
}

const fn moe(base: ModelSpec, experts: u32, top_k: u32, intermediate: u32) -> ModelSpec {
    let ffn = Ffn::Moe {
        experts,
        top_k,
        intermediate,
        shared_intermediate: 0,
        expert_dtype: Dtype::Bf16,
    };
    ModelSpec { ffn, ..base }
}

/// The known models. Source of the dimensions: each model's `config.json`.
pub static CATALOG: [CatalogEntry; 16] = [
    CatalogEntry {
        name: "llama-2-7b",
        aliases: &["meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-chat-hf"],
        spec: dense([4096, 32, 32, 32, 128], 11_008, 32_000, 4096),
    },
    CatalogEntry {
        name: "llama-2-70b",
        aliases: &[
            "meta-llama/Llama-2-70b-hf",
            "meta-llama/Llama-2-70b-chat-hf",
        ],
        spec: dense([8192, 80, 64, 8, 128], 28_672, 32_000, 4096),
    },
    CatalogEntry {
        name: "llama-3.2-1b",
        aliases: &[
            "meta-llama/Llama-3.2-1B-Instruct",
            "meta-llama/Llama-3.2-1B",
        ],
        spec: tied(dense([2048, 16, 32, 8, 64], 8192, 128_256, 131_072)),
    },
    CatalogEntry {
        name: "llama-3.1-8b",
        aliases: &[
            "meta-llama/Llama-3.1-8B-Instruct",
            "meta-llama/Llama-3.1-8B",
        ],
        spec: dense([4096, 32, 32, 8, 128], 14_336, 128_256, 131_072),
    },
    CatalogEntry {
        name: "llama-3.1-70b",
        aliases: &[
            "meta-llama/Llama-3.1-70B-Instruct",
            "meta-llama/Llama-3.1-70B",
        ],
        spec: dense([8192, 80, 64, 8, 128], 28_672, 128_256, 131_072),
    },
    CatalogEntry {
        name: "codellama-34b",
        aliases: &[
            "codellama/CodeLlama-34b-Instruct-hf",
            "codellama/CodeLlama-34b-hf",
        ],
        spec: dense([8192, 48, 64, 8, 128], 22_016, 32_000, 16_384),
    },
    CatalogEntry {
        name: "yi-34b",
        aliases: &["01-ai/Yi-34B"],
        spec: dense([7168, 60, 56, 8, 128], 20_480, 64_000, 4096),
    },
    CatalogEntry {
        name: "qwen3-0.6b",
        aliases: &["Qwen/Qwen3-0.6B"],
        spec: tied(dense([1024, 28, 16, 8, 128], 3072, 151_936, 40_960)),
    },
    CatalogEntry {
        name: "qwen2.5-7b",
        aliases: &["Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B"],
        spec: dense([3584, 28, 28, 4, 128], 18_944, 152_064, 32_768),
    },
    CatalogEntry {
        name: "qwen3-14b",
        aliases: &["Qwen/Qwen3-14B"],
        spec: dense([5120, 40, 40, 8, 128], 17_408, 151_936, 40_960),
    },
    CatalogEntry {
        name: "mistral-nemo-2407",
        aliases: &["mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo"],
        spec: dense([5120, 40, 32, 8, 128], 14_336, 131_072, 131_072),
    },
    CatalogEntry {
        name: "mixtral-8x7b-v0.1",
        aliases: &[
            "mistralai/Mixtral-8x7B-v0.1",
            "mistralai/Mixtral-8x7B-Instruct-v0.1",
            "mixtral-8x7b",
        ],
        spec: moe(
            dense([4096, 32, 32, 8, 128], 14_336, 32_000, 32_768),
            8,
            2,
            14_336,
        ),
    },
    CatalogEntry {
        name: "mixtral-8x22b-v0.1",
        aliases: &["mistralai/Mixtral-8x22B-v0.1", "mixtral-8x22b"],
        spec: moe(
            dense([6144, 56, 48, 8, 128], 16_384, 32_000, 65_536),
            8,
            2,
            16_384,
        ),
    },
    CatalogEntry {
        name: "mixtral-8x22b-instruct-v0.1",
        aliases: &["mistralai/Mixtral-8x22B-Instruct-v0.1"],
        spec: moe(
            dense([6144, 56, 48, 8, 128], 16_384, 32_768, 65_536),
            8,
            2,
            16_384,
        ),
    },
    CatalogEntry {
        name: "qwen3-30b-a3b",
        aliases: &["Qwen/Qwen3-30B-A3B"],
        spec: moe(
            dense([2048, 48, 32, 4, 128], 6144, 151_936, 40_960),
            128,
            8,
            768,
        ),
    },
    CatalogEntry {
        name: "llama-4-scout-17b-16e-fp8-dynamic",
        aliases: &[
            "RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic",
            "llama-4-scout-17b-16e",
            "llama-4-scout",
        ],
        spec: ModelSpec {
            ffn: Ffn::Moe {
                experts: 16,
                top_k: 1,
                intermediate: 8192,
                shared_intermediate: 8192,
                expert_dtype: Dtype::Fp8,
            },
            ..dense([5120, 48, 40, 8, 128], 8192, 202_048, 262_144)
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_valid_dimensions() {
        for entry in &CATALOG {
            assert_eq!(entry.spec.check(), Ok(()), "{}", entry.name);
        }
    }

    #[test]
    fn every_name_finds_its_own_entry() {
        for entry in &CATALOG {
            for name in entry.aliases.iter().chain([&entry.name]) {
                assert_eq!(find(name).map(|found| found.name), Some(entry.name));
            }
        }
    }

    #[test]
    fn parameter_counts_match_published_ones() {
        let billions =
            |name: &str| find(name).map(|e| (e.spec.weight_params() as f64 * 1e-8).round() / 10.0);
        assert_eq!(billions("llama-2-7b"), Some(6.7));
        assert_eq!(billions("llama-3.1-70b"), Some(70.6));
        assert_eq!(billions("mixtral-8x7b"), Some(46.7));
        assert_eq!(billions("qwen3-30b-a3b"), Some(30.5));
        assert_eq!(billions("mistral-nemo"), Some(12.2));
        assert_eq!(billions("llama-3.2-1b"), Some(1.2));
        assert_eq!(billions("qwen3-0.6b"), Some(0.6));
    }
}
