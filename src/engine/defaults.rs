//! Settings that an engine takes where none are given, by version and GPU.

use crate::hardware::Gpu;

/// Default settings of `vllm serve` (`EngineArgs._set_default_args` and `get_batch_defaults`,
/// `vllm/engine/arg_utils.py`; `CacheConfig`, `vllm/config/cache.py`; `_set_cudagraph_sizes`, `vllm/config/vllm.py`).
///
/// Chunked prefill is on in all versions. The scheduling of a step is a rule
/// ([`SchedulingRules`](super::SchedulingRules)).
///
/// Does not model: the graphs of up to 1,024 tokens of gpt-oss (992 in 0.11), sizes of graphs between the multiples of
/// 8 (from 256 on, of 16), the prefix caching of layers with states in 0.33, the larger budget of models whose prompts hold images that must
/// not be cut, and the 256 tokens of experts behind `deepep_low_latency`.
///
/// ```
/// use rooflut::engine::stacks::{VLLM_0_15_1, VLLM_0_33_0};
/// use rooflut::hardware::gpus;
/// let (a100, h100, b200) = (gpus::A100, gpus::H100, gpus::B200);
/// assert_eq!(VLLM_0_15_1.defaults.on(&h100).max_num_seqs, 1_024);
/// assert_eq!(VLLM_0_15_1.defaults.on(&a100).max_num_batched_tokens, 2_048);
/// assert_eq!(VLLM_0_33_0.defaults.on(&b200).max_num_batched_tokens, 16_384);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ServeDefaults {
    /// The release whose source the values were read from.
    pub version: &'static str,
    /// The files of the source, each with its SHA-256.
    pub sources: &'static [(&'static str, &'static str)],
    /// Share of each GPU's memory that the engine uses.
    pub gpu_memory_utilization: f64,
    /// Whether the token budget is at most the tokens of `max_num_seqs` requests of `max_model_len`: from 0.12 on.
    pub tokens_within_requests: bool,
    /// Whether the largest CUDA graph holds the drafts of its requests, too: from 0.15 on.
    pub graphs_hold_drafts: bool,
    /// GPUs with limits of their own; the first class that a GPU belongs to applies.
    pub gpus: &'static [GpuClass],
    /// The limits of all other GPUs.
    pub others: ServeLimits,
}

/// GPUs with their own limits in `vllm serve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuClass {
    /// Minimum memory in GiB.
    pub memory_gib: u32,
    /// Excludes GPUs with one of these words in their names.
    pub except: &'static [&'static str],
    /// The limits on all other GPUs.
    pub limits: ServeLimits,
}

/// Default limits of a server in `vllm serve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeLimits {
    /// Maximum number of running requests; at most the token budget.
    pub max_num_seqs: u32,
    /// Maximum number of tokens in a step.
    pub max_num_batched_tokens: u32,
    /// Maximum number of tokens of a CUDA graph. The largest graph of a server holds twice the tokens of a decode step
    /// of `max_num_seqs` requests, but no more than this.
    pub cuda_graph_max_tokens: u32,
}

impl ServeDefaults {
    /// Returns the limits on `gpu`.
    pub fn on(&self, gpu: &Gpu) -> ServeLimits {
        let mut classes = self.gpus.iter();
        let class = classes.find(|class| class.has(gpu));
        class.map_or(self.others, |class| class.limits)
    }

    /// Returns the largest CUDA graph of a server, in tokens: one of the captured sizes.
    pub(crate) fn largest_graph(
        &self,
        gpu: &Gpu,
        max_num_seqs: u32,
        max_num_batched_tokens: u32,
        draft_tokens: u32,
    ) -> u32 {
        let drafts = if self.graphs_hold_drafts { draft_tokens } else { 0 };
        let wanted = max_num_seqs
            .saturating_mul(drafts.saturating_add(1))
            .saturating_mul(2)
            .min(self.on(gpu).cuda_graph_max_tokens)
            .min(max_num_batched_tokens);
        match wanted {
            0..=2 => wanted,
            3 => 2,
            4..=7 => 4,
            8..=255 => wanted / 8 * 8,
            _ => wanted / 16 * 16,
        }
    }
}

impl GpuClass {
    fn has(&self, gpu: &Gpu) -> bool {
        let bytes = u64::from(self.memory_gib) << 30;
        let name = gpu.name.as_str();
        gpu.mem_bytes >= bytes && !self.except.iter().any(|word| name.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::stacks::{VLLM_0_12_0, VLLM_0_15_1, VLLM_0_33_0};
    use crate::hardware::gpus;

    #[test]
    fn memory_is_compared_in_gib_and_names_by_word() {
        let on = |mem_bytes, name: &'static str| {
            let mut gpu = gpus::H100;
            gpu.mem_bytes = mem_bytes;
            gpu.name = name.into();
            VLLM_0_15_1.defaults.on(&gpu).max_num_seqs
        };
        assert_eq!(on(70 << 30, "h100"), 1_024);
        assert_eq!(on((70 << 30) - 1, "h100"), 256);
        // 70 GB are 65 GiB.
        assert_eq!(on(70_000_000_000, "h100"), 256);
        assert_eq!(on(80 << 30, "my-a100-80"), 256);
    }

    #[test]
    fn the_largest_graph_is_a_captured_size() {
        let largest = |seqs, tokens, drafts| {
            let defaults = VLLM_0_15_1.defaults;
            defaults.largest_graph(&gpus::H100, seqs, tokens, drafts)
        };
        for (seqs, graph) in [(1, 2), (2, 4), (3, 4), (4, 8), (9, 16), (100, 200), (256, 512)] {
            assert_eq!(largest(seqs, 8_192, 0), graph);
        }
        assert_eq!([largest(1_024, 8_192, 0), largest(1_024, 300, 0)], [512, 288]);
        assert_eq!(largest(64, 8_192, 3), 512);
        let older = VLLM_0_12_0.defaults;
        assert_eq!(older.largest_graph(&gpus::H100, 64, 8_192, 3), 128);
        let newer = VLLM_0_33_0.defaults;
        assert_eq!(newer.largest_graph(&gpus::B200, 1_024, 16_384, 0), 1_024);
        assert_eq!(newer.largest_graph(&gpus::H200, 1_024, 16_384, 0), 512);
    }
}
