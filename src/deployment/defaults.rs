//! Settings of a deployment that are not given.

use super::DeploymentBuilder;

impl DeploymentBuilder {
    /// Fills in what the engine takes on this GPU for settings that are not given
    /// (`EngineArgs._set_default_max_num_seqs_and_batched_tokens_args`, `vllm/engine/arg_utils.py`).
    pub(super) fn with_defaults(mut self, max_model_len: u32) -> Self {
        let (defaults, gpu, given) = (self.engine.defaults, self.tables.gpu(), self.options);
        self.memory.block_size = given.block_size.unwrap_or(self.memory.block_size);
        let limits = defaults.on(gpu);
        let sequences = given.max_num_seqs.unwrap_or(limits.max_num_seqs);
        let tokens = given.max_num_batched_tokens.unwrap_or_else(|| {
            let of_requests = sequences.saturating_mul(max_model_len).max(1);
            if defaults.tokens_within_requests {
                limits.max_num_batched_tokens.min(of_requests)
            } else {
                limits.max_num_batched_tokens
            }
        });
        let (draft_tokens, tokens_per_request) = self.tokens_per_request(max_model_len);
        let fitting = (tokens / tokens_per_request).max(1);
        let sequences = given.max_num_seqs.unwrap_or(sequences.min(fitting));
        let graph = defaults.largest_graph(gpu, sequences, tokens, draft_tokens);
        let has_graphs = self.engine.constants.cuda_graph_max_tokens > 0;
        self.largest_graph = given.cuda_graph_max_tokens.unwrap_or(if has_graphs { graph } else { 0 });
        let share = given.gpu_memory_utilization;
        self.memory.gpu_memory_utilization = share.unwrap_or(defaults.gpu_memory_utilization);
        self.memory.max_num_batched_tokens = tokens;
        self.memory.max_num_seqs = sequences;
        self.memory = self.engine.memory_limits(self.memory);
        self.memory.cuda_graph_max_tokens = self.largest_graph;
        self
    }

    /// Returns the drafted tokens of a request in a step, and the tokens of the budget that a request takes.
    #[cfg(feature = "sim")]
    fn tokens_per_request(&self, max_model_len: u32) -> (u32, u32) {
        let config = self.server_config(max_model_len, 1);
        (config.draft_tokens(), config.tokens_per_request())
    }

    #[cfg(not(feature = "sim"))]
    fn tokens_per_request(&self, _max_model_len: u32) -> (u32, u32) {
        (0, 1)
    }
}
