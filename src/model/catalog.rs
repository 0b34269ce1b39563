//! Catalogue of known models.

mod specs;

use specs::{
    MLA, deepseek_v3, deepseek_v4, dense, gemma_4, glm_5, glm_5_2, gpt_oss, in_blocks, indexer, joint_qk_norm, kimi_k2,
    latent, limited, maverick, minimax_m3, moe, penalized, qwen3_5_27b, qwen3_5_35b_a3b, qwen3_5_397b_a17b,
    qwen3_30b_a3b, qwen3_235b_a22b, qwen3_next, scout, shared, tied, top_p,
};

use super::{Mla, ModelSpec, Span};
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
        entry.name.eq_ignore_ascii_case(name) || entry.aliases.iter().any(|id| id.eq_ignore_ascii_case(name))
    })
}

const fn entry(name: &'static str, aliases: &'static [&'static str], spec: ModelSpec) -> CatalogEntry {
    CatalogEntry { name, aliases, spec }
}

/// The known models. Source of the dimensions: each model's `config.json`.
///
/// Samplers come from the `generation_config.json` of the first alias, if there is one: `top_p` 0.9 in Llama-2, Llama-3
/// and Llama-4, 0.8 to 0.95 with `top_k` 20 in Qwen, 0.8 in Yi; `repetition_penalty` 1.05 to 1.1 in the instruct models
/// of Qwen2.5; `top_p` 0.95 with `top_k` 64 in Gemma 3 and 4, with 40 in MiniMax; `top_p` 0.95 in DeepSeek-V2-Lite, R1
/// and V3.1. The file of CodeLlama, DeepSeek-V3, gpt-oss, Kimi, Mistral, Mixtral and Phi names none of these samplers.
/// No copies of the files were at hand for a comparison; the step times of measured servers agree for Llama-2 and 3.1,
/// Qwen2.5, Qwen3, CodeLlama and Mixtral.
///
/// Keys and values of Gemma 4's full layers are the same weights. vLLM loads these weights into both projections, so
/// they count twice. The MLP beside the experts of 26B-A4B is a shared expert. 31B was written down without its file;
/// with these weights counted once, the model has the published 30.7 billion.
///
/// Kimi-Dev and Granite were written down without their files; the weights of measured servers agree.
///
/// Qwen3-Next, Qwen3.5 and Qwen3.6 are the text models, without the encoders of images; dimensions as their model cards
/// name them.
///
/// DeepSeek-V3, R1 and V3.1, Qwen3-Next, Qwen3.5 and Qwen3.6 have a layer that drafts tokens (`mtp_layers`).
/// MiniMax-M2's `config.json` names three (`num_mtp_modules`), but their weights are not published, and vLLM does not
/// run them.
///
/// DeepSeek-V4 drafts tokens with a layer that has only a window; it is not modelled (`mtp_layers` 0).
///
/// Weights have the formats of the first alias. `llama-4-scout` means Red Hat's 8-bit release, because servers of this
/// release were measured; Meta's 16-bit weights go by their id. The formats of Llama-4-Maverick-FP8, with 8-bit routed
/// experts only, were written down without its file.
#[rustfmt::skip] // One model a line or two.
pub static CATALOG: &[CatalogEntry] = &[
    entry("llama-2-7b", &["meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-chat-hf"],
        top_p(dense([4096, 32, 32, 32, 128], 11_008, 32_000, 4096))),
    entry("llama-2-13b", &["meta-llama/Llama-2-13b-hf", "meta-llama/Llama-2-13b-chat-hf"],
        top_p(dense([5120, 40, 40, 40, 128], 13_824, 32_000, 4096))),
    entry("llama-2-70b", &["meta-llama/Llama-2-70b-hf", "meta-llama/Llama-2-70b-chat-hf"],
        top_p(dense([8192, 80, 64, 8, 128], 28_672, 32_000, 4096))),
    entry("llama-3-8b", &["meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama/Meta-Llama-3-8B"],
        top_p(dense([4096, 32, 32, 8, 128], 14_336, 128_256, 8192))),
    entry("llama-3-70b", &["meta-llama/Meta-Llama-3-70B-Instruct", "meta-llama/Meta-Llama-3-70B"],
        top_p(dense([8192, 80, 64, 8, 128], 28_672, 128_256, 8192))),
    entry("llama-3.1-8b", &[
        "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3.1-8B"],
        top_p(dense([4096, 32, 32, 8, 128], 14_336, 128_256, 131_072))),
    entry("llama-3.1-70b", &[
        "meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-70B", "meta-llama/Meta-Llama-3.1-70B-Instruct",
        "meta-llama/Meta-Llama-3.1-70B"],
        top_p(dense([8192, 80, 64, 8, 128], 28_672, 128_256, 131_072))),
    entry("llama-3.1-405b", &[
        "meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-405B",
        "meta-llama/Meta-Llama-3.1-405B-Instruct", "meta-llama/Meta-Llama-3.1-405B"],
        top_p(dense([16_384, 126, 128, 8, 128], 53_248, 128_256, 131_072))),
    entry("llama-3.2-1b", &["meta-llama/Llama-3.2-1B-Instruct", "meta-llama/Llama-3.2-1B"],
        top_p(tied(dense([2048, 16, 32, 8, 64], 8192, 128_256, 131_072)))),
    entry("llama-3.2-3b", &["meta-llama/Llama-3.2-3B-Instruct", "meta-llama/Llama-3.2-3B"],
        top_p(tied(dense([3072, 28, 24, 8, 128], 8192, 128_256, 131_072)))),
    entry("llama-3.3-70b", &["meta-llama/Llama-3.3-70B-Instruct", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B"],
        top_p(dense([8192, 80, 64, 8, 128], 28_672, 128_256, 131_072))),
    entry("llama-4-scout-17b-16e-fp8-dynamic", &[
        "RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "llama-4-scout-17b-16e", "llama-4-scout"],
        scout(Dtype::Fp8)),
    entry("llama-4-scout-17b-16e-instruct", &["meta-llama/Llama-4-Scout-17B-16E-Instruct"], scout(Dtype::Bf16)),
    entry("llama-4-maverick-17b-128e-instruct", &["meta-llama/Llama-4-Maverick-17B-128E-Instruct", "llama-4-maverick"],
        maverick(Dtype::Bf16)),
    entry("llama-4-maverick-17b-128e-instruct-fp8", &["meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"],
        maverick(Dtype::Fp8)),
    entry("codellama-34b", &["codellama/CodeLlama-34b-Instruct-hf", "codellama/CodeLlama-34b-hf"],
        dense([8192, 48, 64, 8, 128], 22_016, 32_000, 16_384)),
    entry("yi-34b", &["01-ai/Yi-34B"], top_p(dense([7168, 60, 56, 8, 128], 20_480, 64_000, 4096))),
    entry("gemma-3-1b", &["google/gemma-3-1b-it", "google/gemma-3-1b-pt"],
        limited(top_p(tied(dense([1152, 26, 4, 1, 256], 6912, 262_144, 32_768))), 22, Span::Window(512))),
    entry("gemma-3-4b", &["google/gemma-3-4b-it", "google/gemma-3-4b-pt"],
        limited(top_p(tied(dense([2560, 34, 8, 4, 256], 10_240, 262_208, 131_072))), 29, Span::Window(1024))),
    entry("gemma-3-12b", &["google/gemma-3-12b-it", "google/gemma-3-12b-pt"],
        limited(top_p(tied(dense([3840, 48, 16, 8, 256], 15_360, 262_208, 131_072))), 40, Span::Window(1024))),
    entry("gemma-3-27b", &["google/gemma-3-27b-it", "google/gemma-3-27b-pt"],
        limited(top_p(tied(dense([5376, 62, 32, 16, 128], 21_504, 262_208, 131_072))), 52, Span::Window(1024))),
    entry("gemma-4-26b-a4b", &["google/gemma-4-26B-A4B-it", "google/gemma-4-26B-A4B"],
        gemma_4(shared(moe(dense([2816, 30, 16, 8, 256], 2112, 262_144, 262_144), 128, 8, 704), 2112), 25, 2)),
    entry("gemma-4-31b", &["google/gemma-4-31B-it", "google/gemma-4-31B"],
        gemma_4(dense([5376, 60, 32, 16, 256], 21_504, 262_144, 262_144), 50, 4)),
    entry("mistral-7b-v0.1", &["mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.1"],
        limited(dense([4096, 32, 32, 8, 128], 14_336, 32_000, 32_768), 32, Span::Window(4096))),
    entry("mistral-7b-v0.2", &["mistralai/Mistral-7B-Instruct-v0.2"],
        dense([4096, 32, 32, 8, 128], 14_336, 32_000, 32_768)),
    entry("mistral-7b-v0.3", &["mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3", "mistral-7b"],
        dense([4096, 32, 32, 8, 128], 14_336, 32_768, 32_768)),
    entry("mistral-nemo-2407", &["mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo"],
        dense([5120, 40, 32, 8, 128], 14_336, 131_072, 131_072)),
    entry("mistral-small-2409", &["mistralai/Mistral-Small-Instruct-2409"],
        dense([6144, 56, 48, 8, 128], 16_384, 32_768, 32_768)),
    entry("mistral-small-2501", &["mistralai/Mistral-Small-24B-Instruct-2501", "mistralai/Mistral-Small-24B-Base-2501"],
        dense([5120, 40, 32, 8, 128], 32_768, 131_072, 32_768)),
    entry("mistral-small-2506", &[
        "mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
        "mistral-small"],
        dense([5120, 40, 32, 8, 128], 32_768, 131_072, 131_072)),
    entry("mistral-large-2411", &[
        "mistralai/Mistral-Large-Instruct-2411", "mistralai/Mistral-Large-Instruct-2407", "mistral-large"],
        dense([12_288, 88, 96, 8, 128], 28_672, 32_768, 131_072)),
    entry("mixtral-8x7b-v0.1", &["mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"],
        moe(dense([4096, 32, 32, 8, 128], 14_336, 32_000, 32_768), 8, 2, 14_336)),
    entry("mixtral-8x22b-v0.1", &["mistralai/Mixtral-8x22B-v0.1", "mixtral-8x22b"],
        moe(dense([6144, 56, 48, 8, 128], 16_384, 32_000, 65_536), 8, 2, 16_384)),
    entry("mixtral-8x22b-instruct-v0.1", &["mistralai/Mixtral-8x22B-Instruct-v0.1"],
        moe(dense([6144, 56, 48, 8, 128], 16_384, 32_768, 65_536), 8, 2, 16_384)),
    entry("qwen2.5-0.5b", &["Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B"],
        penalized(tied(dense([896, 24, 14, 2, 64], 4864, 151_936, 32_768)))),
    entry("qwen2.5-1.5b", &["Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-1.5B"],
        penalized(tied(dense([1536, 28, 12, 2, 128], 8960, 151_936, 32_768)))),
    entry("qwen2.5-3b", &["Qwen/Qwen2.5-3B-Instruct", "Qwen/Qwen2.5-3B"],
        penalized(tied(dense([2048, 36, 16, 2, 128], 11_008, 151_936, 32_768)))),
    entry("qwen2.5-7b", &["Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B"],
        penalized(dense([3584, 28, 28, 4, 128], 18_944, 152_064, 32_768))),
    entry("qwen2.5-14b", &["Qwen/Qwen2.5-14B-Instruct", "Qwen/Qwen2.5-14B"],
        penalized(dense([5120, 48, 40, 8, 128], 13_824, 152_064, 32_768))),
    entry("qwen2.5-32b", &["Qwen/Qwen2.5-32B-Instruct", "Qwen/Qwen2.5-32B", "Qwen/Qwen2.5-Coder-32B-Instruct"],
        penalized(dense([5120, 64, 40, 8, 128], 27_648, 152_064, 32_768))),
    entry("qwen2.5-72b", &["Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-72B"],
        penalized(dense([8192, 80, 64, 8, 128], 29_568, 152_064, 32_768))),
    entry("qwen3-0.6b", &["Qwen/Qwen3-0.6B"], top_p(tied(dense([1024, 28, 16, 8, 128], 3072, 151_936, 40_960)))),
    entry("qwen3-1.7b", &["Qwen/Qwen3-1.7B"], top_p(tied(dense([2048, 28, 16, 8, 128], 6144, 151_936, 40_960)))),
    entry("qwen3-4b", &["Qwen/Qwen3-4B"], top_p(tied(dense([2560, 36, 32, 8, 128], 9728, 151_936, 40_960)))),
    entry("qwen3-8b", &["Qwen/Qwen3-8B"], top_p(dense([4096, 36, 32, 8, 128], 12_288, 151_936, 40_960))),
    entry("qwen3-14b", &["Qwen/Qwen3-14B"], top_p(dense([5120, 40, 40, 8, 128], 17_408, 151_936, 40_960))),
    entry("qwen3-32b", &["Qwen/Qwen3-32B"], top_p(dense([5120, 64, 64, 8, 128], 25_600, 151_936, 40_960))),
    entry("qwen3-30b-a3b", &["Qwen/Qwen3-30B-A3B"], qwen3_30b_a3b(40_960)),
    entry("qwen3-30b-a3b-fp8", &["Qwen/Qwen3-30B-A3B-FP8"], in_blocks(qwen3_30b_a3b(40_960))),
    entry("qwen3-30b-a3b-2507", &[
        "Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen/Qwen3-30B-A3B-Thinking-2507", "Qwen/Qwen3-Coder-30B-A3B-Instruct"],
        qwen3_30b_a3b(262_144)),
    entry("qwen3-30b-a3b-2507-fp8", &[
        "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen/Qwen3-30B-A3B-Thinking-2507-FP8",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8"],
        in_blocks(qwen3_30b_a3b(262_144))),
    entry("qwen3-235b-a22b", &["Qwen/Qwen3-235B-A22B"], qwen3_235b_a22b(40_960)),
    entry("qwen3-235b-a22b-fp8", &["Qwen/Qwen3-235B-A22B-FP8"], in_blocks(qwen3_235b_a22b(40_960))),
    entry("qwen3-235b-a22b-2507", &["Qwen/Qwen3-235B-A22B-Instruct-2507", "Qwen/Qwen3-235B-A22B-Thinking-2507"],
        qwen3_235b_a22b(262_144)),
    entry("qwen3-235b-a22b-2507-fp8", &[
        "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8"],
        in_blocks(qwen3_235b_a22b(262_144))),
    entry("qwen3-next-80b-a3b", &["Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen/Qwen3-Next-80B-A3B-Thinking"],
        qwen3_next()),
    entry("qwen3.5-27b", &["Qwen/Qwen3.5-27B"], qwen3_5_27b()),
    entry("qwen3.5-35b-a3b", &["Qwen/Qwen3.5-35B-A3B"], qwen3_5_35b_a3b()),
    entry("qwen3.5-397b-a17b", &["Qwen/Qwen3.5-397B-A17B"], qwen3_5_397b_a17b()),
    entry("qwen3.6-27b", &["Qwen/Qwen3.6-27B"], qwen3_5_27b()),
    entry("qwen3.6-35b-a3b", &["Qwen/Qwen3.6-35B-A3B"], qwen3_5_35b_a3b()),
    entry("gpt-oss-20b", &["openai/gpt-oss-20b"], gpt_oss(24, 32)),
    entry("gpt-oss-120b", &["openai/gpt-oss-120b"], gpt_oss(36, 128)),
    entry("minimax-m2.5", &["MiniMaxAI/MiniMax-M2.5", "MiniMaxAI/MiniMax-M2.1", "MiniMaxAI/MiniMax-M2"],
        in_blocks(top_p(joint_qk_norm(moe(dense([3072, 62, 48, 8, 128], 1536, 200_064, 196_608), 256, 8, 1536))))),
    entry("minimax-m2.7", &["MiniMaxAI/MiniMax-M2.7"],
        in_blocks(top_p(joint_qk_norm(moe(dense([3072, 62, 48, 8, 128], 1536, 200_064, 204_800), 256, 8, 1536))))),
    entry("minimax-m3", &["MiniMaxAI/MiniMax-M3"], minimax_m3()),
    entry("deepseek-v2-lite", &[
        "deepseek-ai/DeepSeek-V2-Lite", "deepseek-ai/DeepSeek-V2-Lite-Chat",
        "deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct"],
        latent(top_p(dense([2048, 27, 16, 16, 128], 10_944, 102_400, 163_840)), Mla { q_heads: 16, q_rank: 0, ..MLA }, 1,
            [64, 6, 1408, 2816], [Dtype::Bf16; 2])),
    entry("deepseek-v3", &["deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3-0324"], deepseek_v3(None)),
    entry("deepseek-r1", &["deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-R1-0528"], top_p(deepseek_v3(None))),
    entry("deepseek-v3.1", &["deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-V3.1-Terminus"], top_p(deepseek_v3(None))),
    entry("deepseek-v3.2", &["deepseek-ai/DeepSeek-V3.2", "deepseek-ai/DeepSeek-V3.2-Exp"],
        top_p(deepseek_v3(indexer(64)))),
    entry("deepseek-v4-flash", &["deepseek-ai/DeepSeek-V4-Flash"],
        deepseek_v4([4096, 64, 1024, 512], [2, 21, 20], [256, 2048])),
    entry("deepseek-v4-pro", &["deepseek-ai/DeepSeek-V4-Pro"],
        deepseek_v4([7168, 128, 1536, 1024], [0, 30, 31], [384, 3072])),
    entry("glm-5", &["zai-org/GLM-5", "zai-org/GLM-5.1"], glm_5([Dtype::Bf16; 2])),
    entry("glm-5-fp8", &["zai-org/GLM-5-FP8", "zai-org/GLM-5.1-FP8"], glm_5([Dtype::Fp8Block; 2])),
    entry("glm-5.2", &["zai-org/GLM-5.2", "zai-org/GLM-5.3"], glm_5_2([Dtype::Bf16; 2])),
    entry("glm-5.2-fp8", &["zai-org/GLM-5.2-FP8", "zai-org/GLM-5.3-FP8"], glm_5_2([Dtype::Fp8Block; 2])),
    entry("kimi-k2", &["moonshotai/Kimi-K2-Instruct", "moonshotai/Kimi-K2-Base"],
        kimi_k2(131_072, [Dtype::Fp8Block; 2])),
    entry("kimi-k2-0905", &["moonshotai/Kimi-K2-Instruct-0905"], kimi_k2(262_144, [Dtype::Fp8Block; 2])),
    entry("kimi-k2.5", &["moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2-Thinking"],
        kimi_k2(262_144, [Dtype::Bf16, Dtype::Int4])),
    entry("kimi-dev-72b", &["moonshotai/Kimi-Dev-72B"], dense([8192, 80, 64, 8, 128], 29_568, 152_064, 131_072)),
    entry("granite-3.1-2b", &["ibm-granite/granite-3.1-2b-instruct"],
        tied(dense([2048, 40, 32, 8, 64], 8192, 49_155, 131_072))),
    entry("granite-3.3-8b", &["ibm-granite/granite-3.3-8b-instruct"],
        tied(dense([4096, 40, 32, 8, 128], 12_800, 49_159, 131_072))),
    entry("phi-4", &["microsoft/phi-4"], dense([5120, 40, 40, 10, 128], 17_920, 100_352, 16_384)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Ffn;

    #[test]
    fn every_model_has_valid_dimensions() {
        for entry in CATALOG {
            assert_eq!(entry.spec.check(), Ok(()), "{}", entry.name);
        }
    }

    #[test]
    fn every_name_finds_its_own_entry() {
        for entry in CATALOG {
            for name in entry.aliases.iter().chain([&entry.name]) {
                assert_eq!(find(name).map(|found| found.name), Some(entry.name));
            }
        }
    }

    /// The sizes that the publishers name, billions of weights.
    #[test]
    fn parameter_counts_match_published_ones() {
        #[rustfmt::skip]
        let published = [
            ("llama-2-7b", 6.74), ("llama-2-13b", 13.02), ("llama-2-70b", 68.98), ("llama-3-8b", 8.03),
            ("llama-3-70b", 70.55), ("llama-3.1-8b", 8.03), ("llama-3.1-70b", 70.55), ("llama-3.1-405b", 405.85),
            ("llama-3.2-1b", 1.236), ("llama-3.2-3b", 3.213), ("llama-3.3-70b", 70.55), ("llama-4-scout", 107.8),
            ("llama-4-scout-17b-16e-instruct", 107.8), ("llama-4-maverick", 400.7),
            ("llama-4-maverick-17b-128e-instruct-fp8", 400.7), ("gemma-3-1b", 1.0), ("gemma-3-4b", 3.88),
            ("gemma-3-12b", 11.77), ("gemma-3-27b", 27.01), ("gemma-4-26b-a4b", 25.25), ("gemma-4-31b", 30.81),
            ("mistral-7b-v0.1", 7.242), ("codellama-34b", 33.74), ("yi-34b", 34.39), ("mistral-7b-v0.2", 7.242),
            ("mistral-7b-v0.3", 7.248), ("mistral-nemo", 12.25), ("mistral-small-2409", 22.25),
            ("mistral-small-2501", 23.57), ("mistral-small-2506", 23.57), ("mistral-large", 122.61),
            ("mixtral-8x7b", 46.70), ("mixtral-8x22b", 140.62), ("mixtral-8x22b-instruct-v0.1", 140.63),
            ("qwen2.5-0.5b", 0.494), ("qwen2.5-1.5b", 1.544), ("qwen2.5-3b", 3.086), ("qwen2.5-7b", 7.616),
            ("qwen2.5-14b", 14.77), ("qwen2.5-32b", 32.76), ("qwen2.5-72b", 72.71), ("qwen3-0.6b", 0.596),
            ("qwen3-1.7b", 1.72), ("qwen3-4b", 4.02), ("qwen3-8b", 8.19), ("qwen3-14b", 14.77), ("qwen3-32b", 32.76),
            ("qwen3-30b-a3b", 30.53), ("qwen3-30b-a3b-2507", 30.53), ("qwen3-235b-a22b", 235.09),
            ("qwen3-235b-a22b-2507", 235.09), ("qwen3-30b-a3b-fp8", 30.53), ("qwen3-235b-a22b-fp8", 235.09),
            ("gpt-oss-20b", 20.91), ("gpt-oss-120b", 116.83), ("minimax-m2.5", 228.7), ("deepseek-v2-lite", 15.706),
            ("deepseek-v3", 671.0), ("deepseek-r1", 671.0), ("deepseek-v3.1", 671.0), // without the MTP layer
            ("deepseek-v3.2", 671.9),
            ("kimi-k2", 1026.4), ("kimi-k2-0905", 1026.4), ("kimi-k2.5", 1026.4), ("phi-4", 14.66),
            ("kimi-dev-72b", 72.71), ("granite-3.1-2b", 2.534), ("granite-3.3-8b", 8.171),
        ];
        for (name, published) in published {
            let found = find(name).unwrap().spec.weight_params() as f64 / 1e9;
            let error = found / published - 1.0;
            assert!(error.abs() < 0.002, "{name}: {found} for {published}");
        }
        // Only their names say it.
        for (name, round) in [
            ("qwen3-next-80b-a3b", 80.0),
            ("qwen3.5-27b", 27.0),
            ("qwen3.5-35b-a3b", 35.0),
            ("qwen3.5-397b-a17b", 397.0),
            ("qwen3.6-27b", 27.0),
            ("qwen3.6-35b-a3b", 35.0),
            ("glm-5", 744.0),
            ("deepseek-v4-flash", 284.0),
        ] {
            let found = find(name).unwrap().spec.weight_params() as f64 / 1e9;
            let error = found / round - 1.0;
            assert!(error.abs() < 0.01, "{name}: {found} for {round}");
        }
    }

    /// Round numbers of the publishers, billions of weights on a token's way: all but the embedding and other experts.
    #[test]
    fn active_parameter_counts_match_published_ones() {
        for (name, published) in [
            ("deepseek-v2-lite", 2.4),
            ("deepseek-v3", 37.0),
            ("deepseek-v3.2", 37.0),
            ("glm-5", 40.0),
            ("deepseek-v4-flash", 13.0),
            ("deepseek-v4-pro", 49.0),
            ("kimi-k2", 32.0),
            ("gpt-oss-20b", 3.6),
            ("gpt-oss-120b", 5.1),
            ("qwen3-235b-a22b", 22.0),
        ] {
            let mut spec = find(name).unwrap().spec;
            for group in spec.layers.iter_mut() {
                if let Ffn::Moe { experts, top_k, .. } = &mut group.ffn {
                    *experts = *top_k;
                }
            }
            let embedding = u64::from(spec.vocab) * u64::from(spec.hidden);
            let found = (spec.weight_params() - embedding) as f64 / 1e9;
            let error = found / published - 1.0;
            assert!(error.abs() < 0.03, "{name}: {found} for {published}");
        }
    }
}
