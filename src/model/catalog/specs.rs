//! Dimensions of families of models.

use crate::hardware::{Dtype, Indexer};
use crate::model::{Attention, Compressed, DeltaNet, Ffn, Gqa, LayerGroup, Layers, Mla, ModelSpec, Msa, Sampler, Span};

pub(super) const fn dense(
    [hidden, layers, q_heads, kv_heads, head_dim]: [u32; 5],
    intermediate: u32,
    vocab: u32,
    max_model_len: u32,
) -> ModelSpec {
    ModelSpec {
        hidden,
        layers: Layers::alike(LayerGroup {
            layers,
            attention: Attention::Gqa(Gqa {
                q_heads,
                kv_heads,
                head_dim,
                output_gate: false,
                joint_qk_norm: false,
                span: Span::Full,
            }),
            attention_dtype: Dtype::Bf16,
            ffn: Ffn::Dense { intermediate, gated: true },
            ffn_dtype: Dtype::Bf16,
            shared_dtype: Dtype::Bf16,
        }),
        mtp_layers: 0,
        streams: 0,
        eagle3: None,
        vocab,
        tied_embeddings: false,
        positions: 0,
        max_model_len,
        sampler: Sampler::Plain,
    }
}

pub(super) const fn tied(base: ModelSpec) -> ModelSpec {
    ModelSpec { tied_embeddings: true, ..base }
}

/// Returns the model with a layer that drafts tokens.
const fn drafting(base: ModelSpec) -> ModelSpec {
    ModelSpec { mtp_layers: 1, ..base }
}

pub(super) const fn top_p(base: ModelSpec) -> ModelSpec {
    base.with_sampler(Sampler::TopP)
}

pub(super) const fn penalized(base: ModelSpec) -> ModelSpec {
    base.with_sampler(Sampler::RepetitionPenalty)
}

pub(super) const fn moe(base: ModelSpec, experts: u32, top_k: u32, intermediate: u32) -> ModelSpec {
    let ffn = Ffn::Moe { experts, top_k, intermediate, shared_intermediate: 0 };
    let layers = Layers::alike(LayerGroup { ffn, ..*base.layers.first() });
    ModelSpec { layers, ..base }
}

/// Returns the model with norms of queries and keys over all heads.
pub(super) const fn joint_qk_norm(base: ModelSpec) -> ModelSpec {
    let first = *base.layers.first();
    let attention = match first.attention {
        Attention::Gqa(heads) => Attention::Gqa(Gqa { joint_qk_norm: true, ..heads }),
        other => other,
    };
    ModelSpec { layers: Layers::alike(LayerGroup { attention, ..first }), ..base }
}

/// Returns the model with a span in that many layers; the others attend to all tokens.
pub(super) const fn limited(base: ModelSpec, layers: u32, span: Span) -> ModelSpec {
    let first = *base.layers.first();
    let full = LayerGroup { layers: first.layers - layers, ..first };
    let layers = Layers::alike(LayerGroup { layers, attention: first.attention.with_span(span), ..first });
    let layers = match full.layers {
        0 => layers,
        _ => layers.and(full),
    };
    ModelSpec { layers, ..base }
}

pub(super) const fn shared(base: ModelSpec, shared_intermediate: u32) -> ModelSpec {
    let first = *base.layers.first();
    let ffn = match first.ffn {
        Ffn::Moe { experts, top_k, intermediate, .. } => Ffn::Moe { experts, top_k, intermediate, shared_intermediate },
        dense => dense,
    };
    let layers = Layers::alike(LayerGroup { ffn, ..first });
    ModelSpec { layers, ..base }
}

/// Returns the model with these formats of attention projections, FFN or routed experts, and shared expert.
const fn in_formats(base: ModelSpec, formats: [Dtype; 3]) -> ModelSpec {
    let [attention_dtype, ffn_dtype, shared_dtype] = formats;
    let layers = Layers::alike(LayerGroup { attention_dtype, ffn_dtype, shared_dtype, ..*base.layers.first() });
    ModelSpec { layers, ..base }
}

pub(super) const fn in_blocks(base: ModelSpec) -> ModelSpec {
    in_formats(base, [Dtype::Fp8Block; 3])
}

/// The latent attention of DeepSeek-V3.
pub(super) const MLA: Mla =
    Mla { q_heads: 128, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None };

/// Returns an indexer that selects 2,048 keys.
pub(super) const fn indexer(heads: u32) -> Option<Indexer> {
    Some(Indexer { heads, head_dim: 128, top_k: 2048 })
}

/// Returns the model with latent attention, and experts in all layers but the first ones. Routed experts have a format of
/// their own.
pub(super) const fn latent(
    base: ModelSpec,
    mla: Mla,
    dense_layers: u32,
    [experts, top_k, intermediate, shared_intermediate]: [u32; 4],
    [linear, routed]: [Dtype; 2],
) -> ModelSpec {
    let first = *base.layers.first();
    let dense = LayerGroup {
        layers: dense_layers,
        attention: Attention::Mla(mla),
        attention_dtype: linear,
        ffn_dtype: linear,
        shared_dtype: linear,
        ..first
    };
    let others = LayerGroup {
        layers: first.layers - dense_layers,
        ffn: Ffn::Moe { experts, top_k, intermediate, shared_intermediate },
        ffn_dtype: routed,
        ..dense
    };
    let layers = Layers::alike(dense).and(others);
    ModelSpec { layers, ..base }
}

pub(super) const fn deepseek_v3(indexer: Option<Indexer>) -> ModelSpec {
    let base = dense([7168, 61, 128, 128, 128], 18_432, 129_280, 163_840);
    let mla = Mla { indexer, ..MLA };
    let experts = [256, 8, 2048, 2048];
    drafting(latent(base, mla, 3, experts, [Dtype::Fp8Block; 2]))
}

pub(super) const fn glm_5(formats: [Dtype; 2]) -> ModelSpec {
    let base = dense([6144, 78, 64, 64, 256], 12_288, 154_880, 202_752);
    let mla = Mla { q_heads: 64, q_rank: 2048, nope_dim: 192, v_dim: 256, indexer: indexer(32), ..MLA };
    let model = latent(base, mla, 3, [256, 8, 2048, 2048], formats);
    drafting(top_p(model))
}

/// Layers 0, 1, 2, 6, 10 and so on have an indexer, whose keys the layers after them attend to as well.
pub(super) const fn glm_5_2(formats: [Dtype; 2]) -> ModelSpec {
    let base = ModelSpec { max_model_len: 1_048_576, ..glm_5(formats) };
    let [dense, experts] = match base.layers.all() {
        [dense, experts] => [*dense, *experts],
        _ => [*base.layers.first(); 2],
    };
    let attention = match experts.attention {
        Attention::Mla(mla) => {
            let indexer = Some(Indexer { heads: 0, head_dim: 0, top_k: 2048 });
            Attention::Mla(Mla { indexer, ..mla })
        }
        other => other,
    };
    let reusing = LayerGroup { layers: 57, attention, ..experts };
    let layers = Layers::alike(dense).and(reusing).and(LayerGroup { layers: 18, ..experts });
    ModelSpec { layers, ..base }
}

pub(super) const fn kimi_k2(max_model_len: u32, formats: [Dtype; 2]) -> ModelSpec {
    let base = dense([7168, 61, 64, 64, 128], 18_432, 163_840, max_model_len);
    let mla = Mla { q_heads: 64, ..MLA };
    latent(base, mla, 1, [384, 8, 2048, 2048], formats)
}

/// An indexer in every second layer, from the third on; others compress more keys, the first two of Flash none. Layers
/// whose experts follow from the token (`num_hash_layers`) are like the others.
pub(super) const fn deepseek_v4(
    [hidden, q_heads, q_rank, top_k]: [u32; 4],
    [windows, selecting, compressing]: [u32; 3],
    [experts, intermediate]: [u32; 2],
) -> ModelSpec {
    let base = dense([hidden, 1, q_heads, 1, 512], intermediate, 129_280, 1_048_576);
    let window = Compressed {
        q_heads,
        q_rank,
        head_dim: 512,
        window: 128,
        ratio: 0,
        o_groups: q_heads / 8,
        o_rank: 1024,
        indexer: None,
    };
    let first = LayerGroup {
        layers: windows,
        attention: Attention::Compressed(window),
        attention_dtype: Dtype::Fp8Block,
        ffn: Ffn::Moe { experts, top_k: 6, intermediate, shared_intermediate: intermediate },
        ffn_dtype: Dtype::Mxfp4,
        shared_dtype: Dtype::Fp8Block,
    };
    let indexer = Some(Indexer { heads: 64, head_dim: 128, top_k });
    let attention = Attention::Compressed(Compressed { ratio: 4, indexer, ..window });
    let selecting = LayerGroup { layers: selecting, attention, ..first };
    let attention = Attention::Compressed(Compressed { ratio: 128, ..window });
    let compressing = LayerGroup { layers: compressing, attention, ..first };
    let layers = match windows {
        0 => Layers::alike(compressing).and(selecting),
        _ => Layers::alike(first).and(selecting).and(compressing),
    };
    ModelSpec { layers, streams: 4, ..base }
}

/// The first three layers are dense, with plain attention.
pub(super) const fn minimax_m3() -> ModelSpec {
    let base = top_p(dense([6144, 3, 64, 4, 128], 12_288, 200_064, 1_048_576));
    let [q_heads, kv_heads, head_dim] = [64, 4, 128];
    let sparse = LayerGroup {
        layers: 57,
        attention: Attention::Msa(Msa { q_heads, kv_heads, head_dim, index_dim: 128, block: 128, top_blocks: 16 }),
        ffn: Ffn::Moe { experts: 128, top_k: 4, intermediate: 3072, shared_intermediate: 3072 },
        ..*base.layers.first()
    };
    drafting(ModelSpec { layers: base.layers.and(sparse), ..base })
}

/// Every second layer has a window.
pub(super) const fn gpt_oss(layers: u32, experts: u32) -> ModelSpec {
    let base = dense([2880, layers, 64, 8, 64], 2880, 201_088, 131_072);
    let formats = [Dtype::Bf16, Dtype::Mxfp4, Dtype::Bf16];
    let experts = in_formats(moe(base, experts, 4, 2880), formats);
    limited(experts, layers / 2, Span::Window(128))
}

pub(super) const fn qwen3_235b_a22b(max_model_len: u32) -> ModelSpec {
    let base = dense([4096, 94, 64, 4, 128], 12_288, 151_936, max_model_len);
    top_p(moe(base, 128, 8, 1536))
}

pub(super) const fn qwen3_30b_a3b(max_model_len: u32) -> ModelSpec {
    let base = dense([2048, 48, 32, 4, 128], 6144, 151_936, max_model_len);
    top_p(moe(base, 128, 8, 768))
}

/// Three of four layers are gated delta nets with 16 key heads, the fourth attends to all tokens with a gate on its
/// output. Another one of these drafts tokens.
const fn hybrid(base: ModelSpec, v_heads: u32) -> ModelSpec {
    let first = *base.layers.first();
    let quarter = first.layers / 4;
    let attention = match first.attention {
        Attention::Gqa(heads) => Attention::Gqa(Gqa { output_gate: true, ..heads }),
        other => other,
    };
    let delta = LayerGroup {
        layers: 3 * quarter,
        attention: Attention::DeltaNet(DeltaNet { k_heads: 16, v_heads, head_dim: 128 }),
        ..first
    };
    let full = LayerGroup { layers: quarter, attention, ..first };
    let layers = Layers::alike(delta).and(full);
    top_p(drafting(ModelSpec { layers, ..base }))
}

pub(super) const fn qwen3_next() -> ModelSpec {
    let base = dense([2048, 48, 16, 2, 256], 5120, 151_936, 262_144);
    hybrid(shared(moe(base, 512, 10, 512), 512), 32)
}

/// Qwen3.5 and 3.6.
pub(super) const fn qwen3_5_27b() -> ModelSpec {
    let base = dense([5120, 64, 24, 4, 256], 17_408, 248_320, 262_144);
    hybrid(base, 48)
}

pub(super) const fn qwen3_5_35b_a3b() -> ModelSpec {
    let base = dense([2048, 40, 16, 2, 256], 512, 248_320, 262_144);
    hybrid(shared(moe(base, 256, 8, 512), 512), 32)
}

pub(super) const fn qwen3_5_397b_a17b() -> ModelSpec {
    let base = dense([4096, 60, 32, 2, 256], 1024, 248_320, 262_144);
    hybrid(shared(moe(base, 512, 10, 1024), 1024), 64)
}

/// Every fourth layer attends to all tokens.
pub(super) const fn scout(expert_dtype: Dtype) -> ModelSpec {
    let base = top_p(dense([5120, 48, 40, 8, 128], 8192, 202_048, 10_485_760));
    let formats = [Dtype::Bf16, expert_dtype, expert_dtype];
    let experts = in_formats(shared(moe(base, 16, 1, 8192), 8192), formats);
    limited(experts, 36, Span::Chunk(8192))
}

/// Every fourth layer attends to all tokens, every second one has experts.
pub(super) const fn maverick(expert_dtype: Dtype) -> ModelSpec {
    let base = top_p(dense([5120, 24, 40, 8, 128], 16_384, 202_048, 1_048_576));
    let chunked = limited(base, 24, Span::Chunk(8192));
    let formats = [Dtype::Bf16, expert_dtype, Dtype::Bf16];
    let experts = in_formats(shared(moe(base, 128, 1, 8192), 8192), formats);
    let experts = limited(experts, 12, Span::Chunk(8192));
    let layers = match experts.layers.all() {
        [limited, full] => chunked.layers.and(*limited).and(*full),
        _ => chunked.layers,
    };
    ModelSpec { layers, ..chunked }
}

/// Layers without a window have heads of 512 dimensions, and so many for keys and values.
pub(super) const fn gemma_4(base: ModelSpec, limited_layers: u32, kv_heads: u32) -> ModelSpec {
    let base = limited(top_p(tied(base)), limited_layers, Span::Window(1024));
    let layers = match base.layers.all() {
        [limited, full] => {
            let attention = Attention::Gqa(Gqa {
                q_heads: full.attention.q_heads(),
                kv_heads,
                head_dim: 512,
                output_gate: false,
                joint_qk_norm: false,
                span: Span::Full,
            });
            Layers::alike(*limited).and(LayerGroup { attention, ..*full })
        }
        _ => base.layers,
    };
    ModelSpec { layers, ..base }
}
