//! Kinds of files, which differ in their columns.

/// Kind of a file: the type of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Load stages of servers.
    LoadStages,
    /// Requests of replayed runs.
    Requests,
    /// Requests that ran alone.
    SoloRequests,
    /// Engine steps in which every request decoded.
    DecodeSteps,
    /// KV cache sizes.
    KvBlocks,
    /// Parts of the memory of servers.
    Memory,
    /// Servers under closed loops.
    ClosedLoops,
    /// Engine steps of prompts or of decoding requests, as sums over their requests.
    EngineSteps,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 8] = [
        Kind::LoadStages,
        Kind::Requests,
        Kind::SoloRequests,
        Kind::DecodeSteps,
        Kind::KvBlocks,
        Kind::Memory,
        Kind::ClosedLoops,
        Kind::EngineSteps,
    ];

    /// The embedded file of this kind.
    pub const fn file(self) -> &'static str {
        match self {
            Kind::LoadStages => "experiments.csv",
            Kind::Requests => "requests.csv",
            Kind::SoloRequests => "solo_requests.csv",
            Kind::DecodeSteps => "decode_steps.csv",
            Kind::KvBlocks => "kv_blocks.csv",
            Kind::Memory => "memory_vllm_0.19.csv",
            Kind::ClosedLoops => "servers_steady_state.csv",
            Kind::EngineSteps => "steps_b300_vllm_0.20.1.csv",
        }
    }

    /// The text of the embedded file of this kind.
    pub(crate) const fn shipped(self) -> &'static str {
        match self {
            Kind::LoadStages => include_str!("../experiments.csv"),
            Kind::Requests => include_str!("../requests.csv"),
            Kind::SoloRequests => include_str!("../solo_requests.csv"),
            Kind::DecodeSteps => include_str!("../decode_steps.csv"),
            Kind::KvBlocks => include_str!("../kv_blocks.csv"),
            Kind::Memory => include_str!("../memory_vllm_0.19.csv"),
            Kind::ClosedLoops => include_str!("../servers_steady_state.csv"),
            Kind::EngineSteps => include_str!("../steps_b300_vllm_0.20.1.csv"),
        }
    }

    /// The required columns that `header` lacks.
    pub(crate) fn missing(self, header: &[&str]) -> Vec<&'static str> {
        let required = self.required().split(',');
        required.filter(|name| !header.contains(name)).collect()
    }

    /// The required columns, as the header of a file.
    const fn required(self) -> &'static str {
        match self {
            Kind::LoadStages => "id,gpu,model,tp,arrival,rate_rps,duration_s,prompt_tokens,output_tokens",
            Kind::Requests => "experiment,gpu,model,tp,arrival_ms,prompt_tokens,output_tokens",
            Kind::SoloRequests => "experiment,gpu,model,tp,prompt_tokens,prefill_ms,mean_context_tokens",
            Kind::DecodeSteps => "experiment,gpu,model,tp,decode_requests,mean_context_tokens,step_ms",
            Kind::KvBlocks => "gpu,model,tp,kv_blocks_16_tokens",
            Kind::Memory => {
                "gpu,model,tp,weights_memory_gib,activation_memory_gib,non_torch_forward_gib,kv_cache_blocks"
            }
            Kind::ClosedLoops => "gpu,model,tp,isl,osl,concurrency,ttft_ms,tpot_ms",
            Kind::EngineSteps => "model,tp,decode_requests,decode_kv_tokens,prefill_requests,prefill_tokens,latency_ms",
        }
    }
}

/// Lists the files of all kinds.
pub(crate) fn files() -> String {
    let [first @ .., last] = Kind::ALL.map(Kind::file);
    format!("{} or {last}", first.join(", "))
}
