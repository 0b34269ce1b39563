//! Bytes of KV entries.

use super::MemoryLimits;
use super::stage::Stage;
use crate::hardware::Dtype;
use crate::model::{Attention, KvGroups, LayerGroup, Layers, ModelSpec};

/// Tokens of the blocks that attention kernels read.
const KERNEL_BLOCK: u32 = 16;

/// Returns the bytes of K and V of one token over all layers, on one rank.
pub(crate) fn kv_bytes_per_token(model: &ModelSpec, tp: u32, kv_dtype: Dtype) -> f64 {
    bytes_per_token(&model.layers, tp, kv_dtype)
}

fn bytes_per_token(layers: &Layers, tp: u32, kv_dtype: Dtype) -> f64 {
    let groups = layers.iter().map(|group| f64::from(group.layers) * layer_bytes(group, tp, kv_dtype));
    groups.sum()
}

/// Returns the bytes of K and V of one token over the layers of a KV cache group, on one rank of a stage. Layers with
/// fewer bytes than others are padded if there are several groups, of which each stage has its share of layers.
pub(super) fn token_bytes_of_group(model: &ModelSpec, tp: u32, kv_dtype: Dtype, stage: &Stage) -> f64 {
    let groups = KvGroups::of(model, tp);
    let is_compressed = matches!(model.layers.first().attention, Attention::Compressed(_));
    if is_compressed || groups.count() == 1 && groups.states == 0 {
        return bytes_per_token(&stage.layers, tp, kv_dtype);
    }
    let total = model.layers.total().max(1);
    let of_stage = groups.layers.saturating_mul(stage.layers.total());
    let layers = model.layers.iter();
    let widest = layers.map(|group| layer_bytes(group, tp, kv_dtype));
    f64::from(of_stage.div_ceil(total)) * widest.fold(0.0, f64::max)
}

/// Returns the tokens of a block: those given, or as many times more as one needs to hold the state of a request in a
/// layer, if there are such layers, or a multiple of the blocks that sparse attention selects.
/// `_align_hybrid_block_size` in `vllm/platforms/interface.py`, with attention kernels for blocks of 16 tokens, and the
/// block sizes of `vllm/models/minimax_m3/common/sparse_attention.py`.
///
/// ```text
/// Qwen3.5-397B, tp 8: 8 heads x 128 x 128 x 4 B + 12 heads x 128 x 3 x 2 B = 533,504 B of state; at 1,024 B a token
/// and layer that is 521 tokens, so that blocks have 528.
/// ```
pub(crate) fn grown_block_size(model: &ModelSpec, tp: u32, limits: &MemoryLimits) -> u32 {
    let states = model.layers.iter().map(|group| match group.attention {
        Attention::DeltaNet(net) => net.state_bytes(tp),
        _ => 0,
    });
    let sparse = model.layers.iter().map(|group| match group.attention {
        Attention::Msa(msa) => limits.block_size.div_ceil(msa.block.max(1)).saturating_mul(msa.block),
        _ => limits.block_size,
    });
    let block_size = sparse.max().unwrap_or(limits.block_size);
    let page = states.max().unwrap_or(0);
    let tokens = model.layers.iter().map(|group| layer_bytes(group, tp, limits.kv_dtype));
    let token_bytes = tokens.fold(0.0, f64::max);
    if page == 0 || token_bytes <= 0.0 {
        return block_size;
    }
    let aligned = limits.block_size.max(KERNEL_BLOCK);
    let times = (page as f64 / (f64::from(aligned) * token_bytes)) as u32;
    let fits = f64::from(times) * f64::from(aligned) * token_bytes >= page as f64;
    let times = if fits { times } else { times.saturating_add(1) };
    aligned.saturating_mul(times.max(1))
}

/// Returns the bytes of K and V of one token in one layer, on one rank.
fn layer_bytes(group: &LayerGroup, tp: u32, kv_dtype: Dtype) -> f64 {
    group.attention.kv_bytes(tp, kv_dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::gpus;
    use crate::model::{MemoryPlan, find};

    #[test]
    fn blocks_grow_until_one_holds_the_state_of_a_layer() {
        let spec = |name| find(name).unwrap().spec;
        // Source: vLLM's log for Qwen3.5-397B at tp 8, 528 tokens; the others follow from the same formula.
        for (name, tp, block_size, tokens) in [
            ("qwen3.5-397b-a17b", 8, 16, 528),
            ("qwen3.5-35b-a3b", 1, 16, 1056),
            ("qwen3.5-35b-a3b", 2, 16, 1056),
            ("qwen3.5-35b-a3b", 1, 128, 1152),
            ("qwen3.5-27b", 4, 16, 784),
            ("llama-3.1-8b", 1, 16, 16),
            // Blocks of 128 tokens are selected.
            ("minimax-m3", 8, 16, 128),
            ("minimax-m3", 8, 200, 256),
            ("minimax-m3", 8, u32::MAX, u32::MAX),
        ] {
            let limits = MemoryLimits::default().with_block_size(block_size);
            let found = grown_block_size(&spec(name), tp, &limits);
            assert_eq!(found, tokens, "{name} {tp} {block_size}");
        }
        let limits = MemoryLimits::default();
        let plan = MemoryPlan::try_new(&spec("qwen3.5-397b-a17b"), &gpus::B200, 8, limits).unwrap();
        assert_eq!(plan.limits.block_size, 528);
        let KvGroups { layers, full, states, .. } = plan.groups;
        assert_eq!((layers, full, states), (15, 1, 3));
        // 15 layers of a group: K and V of 528 tokens each, or a state.
        assert_eq!(plan.bytes_per_block as u64, 15 * 528 * 1024);
        assert_eq!(plan.groups.blocks(5280, 528, 2048), 10 + 3);
        assert_eq!(plan.groups.longest(13, 528, 2048), 5280);
    }

    #[test]
    fn sparse_latent_attention_caches_the_keys_of_its_indexer() {
        // vLLM gives both caches of a layer as many blocks: 656 (fp8) or 1,152 bytes a token, and 132.
        for (name, layers) in [("deepseek-v3.2", 61.0), ("glm-5", 78.0)] {
            let model = find(name).unwrap().spec;
            for (kv_dtype, bytes) in [(Dtype::Fp8, 788.0), (Dtype::Bf16, 1284.0)] {
                for tp in [1, 8] {
                    let found = kv_bytes_per_token(&model, tp, kv_dtype);
                    assert!((found / (layers * bytes) - 1.0).abs() < 1e-12, "{name} {kv_dtype}");
                }
            }
            assert_eq!(KvGroups::of(&model, 8).count(), 1);
        }
    }

    /// Source: pages of `unify_kv_cache_spec_page_size` in vLLM 0.33.
    #[test]
    fn blocks_of_layers_with_fewer_bytes_hold_more_tokens() {
        let model = find("gemma-4-26b-a4b").unwrap().spec;
        let plan = MemoryPlan::try_new(&model, &gpus::H200, 1, MemoryLimits::default()).unwrap();
        let block = plan.bytes_per_block;
        assert!((block - 16.0 * 5.0 * 2.0 * 8.0 * 256.0 * 2.0).abs() < 1e-6);
        // The 32 tokens of a unit: as many bytes as they have in all layers.
        let blocks = plan.groups.blocks(32, 32, 2_048);
        let bytes = 32.0 * kv_bytes_per_token(&model, 1, Dtype::Bf16);
        assert!((f64::from(blocks) * block - bytes).abs() < 1e-6, "{blocks}");
    }
}
