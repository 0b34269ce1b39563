//! Values of keys, or their defaults.

use rooflut::deployment::ServerOptions;
use rooflut::engine;
use rooflut::model::Parallelism;
use rooflut::sim::SchedulingPolicy;
use rooflut::sim::cluster::Router;
use rooflut::step::Network;
use rooflut::table::Strictness;
use rooflut::units::Seconds;

use crate::lengths::LengthDistribution;
use crate::output::Output;
use crate::scenario::{Arrival, Server, Target, Workload};
use crate::value::ThinkTime;

impl Target {
    /// The model; by default `llama-3.1-8b`.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or("llama-3.1-8b")
    }

    /// The table set or data sheet; by default `h100`. `tables` replaces it.
    pub fn gpu(&self) -> &str {
        self.gpu.as_deref().unwrap_or("h100")
    }

    /// Tensor parallelism; by default 1.
    pub fn tp(&self) -> u32 {
        self.tp.unwrap_or(1)
    }

    /// Data-parallel ranks; by default 1.
    pub fn dp(&self) -> u32 {
        self.dp.unwrap_or(1)
    }

    /// Pipeline stages; by default 1.
    pub fn pp(&self) -> u32 {
        self.pp.unwrap_or(1)
    }

    /// The network between nodes; by default [`Network::CX7`].
    pub fn network(&self) -> Network {
        let mut network = Network::CX7;
        if let Some(gpus) = self.gpus_per_node {
            network = network.with_gpus_per_node(gpus);
        }
        if let Some(gb_per_s) = self.network_bandwidth {
            network = network.with_bytes_per_s(gb_per_s * 1e9);
        }
        if let Some(us) = self.network_latency {
            network = network.with_latency(Seconds::from_us(us));
        }
        network
    }

    /// The division of the model over GPUs; by default one GPU.
    pub fn parallelism(&self) -> Parallelism {
        let whole_experts = self.expert_parallel.unwrap_or(false);
        let stages = Parallelism::tensor(self.tp()).with_pp(self.pp());
        let ranks = stages.with_dp(self.dp());
        ranks.with_expert_parallel(whole_experts)
    }

    /// The engine stack; by default [`engine::DEFAULT`].
    pub fn engine(&self) -> &str {
        self.engine.as_deref().unwrap_or(engine::DEFAULT.name)
    }
}

impl Workload {
    /// Requests, or sessions, per second; by default 18.
    pub fn rate(&self) -> f64 {
        self.rate.unwrap_or(18.0)
    }

    /// Distribution of the arrivals; by default Poisson.
    pub fn arrival(&self) -> Arrival {
        self.arrival.unwrap_or_default()
    }

    /// Prompt tokens; by default 512.
    pub fn prompt(&self) -> LengthDistribution {
        let prompt = self.prompt.clone();
        prompt.unwrap_or(LengthDistribution::fixed(512))
    }

    /// Output tokens; by default 256.
    pub fn output(&self) -> LengthDistribution {
        let output = self.output.clone();
        output.unwrap_or(LengthDistribution::fixed(256))
    }

    /// Leading prompt tokens in the prefix cache; by default 0.
    pub fn cached_prompt(&self) -> u32 {
        self.cached_prompt.unwrap_or(0)
    }

    /// Pause of users; by default none.
    pub fn think_time(&self) -> ThinkTime {
        self.think_time.unwrap_or(ThinkTime::NONE)
    }

    /// Retries of a client that gave up; by default none.
    pub fn retries(&self) -> u32 {
        self.retries.unwrap_or(0)
    }

    /// Seed of all random draws; by default 0.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// Number of seeds, each with a run of its own; by default 1.
    pub fn seeds(&self) -> u32 {
        self.seeds.unwrap_or(1)
    }
}

impl Server {
    /// Order of admission; by default first come, first served.
    pub fn policy(&self) -> SchedulingPolicy {
        self.policy.unwrap_or_default()
    }

    /// Equal servers; by default 1.
    pub fn replicas(&self) -> u32 {
        self.replicas.unwrap_or(1)
    }

    /// Routing to replicas; by default round robin.
    pub fn router(&self) -> Router {
        self.router.unwrap_or_default()
    }

    /// The draft model, if one is given that is neither a lookup in the prompt nor a layer of the model.
    pub fn draft_model(&self) -> Option<&str> {
        // vLLM writes it in brackets.
        let is_ngram = |name: &str| name.trim_matches(['[', ']']).eq_ignore_ascii_case("ngram");
        let draft = self.draft_model.as_deref();
        draft.filter(|name| !is_ngram(name) && !self.has_mtp() && self.unknown_draft().is_none())
    }

    /// Whether the model's own layer for multi-token prediction drafts.
    pub fn has_mtp(&self) -> bool {
        let draft = self.draft_model.as_deref();
        draft.is_some_and(|name| name.eq_ignore_ascii_case("mtp"))
    }

    /// The limits and policies of each server.
    pub fn options(&self) -> ServerOptions {
        let mut options = ServerOptions::default();
        options.kv_blocks = self.kv_blocks;
        options.block_size = self.block_size;
        options.max_num_seqs = self.max_num_seqs;
        options.max_num_batched_tokens = self.max_num_batched_tokens;
        options.gpu_memory_utilization = self.gpu_memory_utilization;
        options.long_prefill_token_threshold = self.long_prefill_token_threshold;
        options.max_model_len = self.max_model_len;
        options.scheduling = self.scheduling;
        options.scheduler_reserve_full_isl = self.scheduler_reserve_full_isl;
        options.policy = self.policy;
        options.max_waiting = self.max_waiting;
        options.prefix_caching = self.prefix_caching;
        options.watermark = self.watermark;
        options
    }
}

impl Output {
    /// The answers of the tables that are accepted; by default any.
    pub fn strict(&self) -> Strictness {
        self.strict.unwrap_or(Strictness::ANY)
    }
}
