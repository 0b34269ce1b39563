//! The builder of a deployment.

use super::{Deployment, DeploymentError};
#[cfg(feature = "sim")]
use crate::engine::Scheduling;
use crate::engine::{EngineStack, stacks};
use crate::hardware::Dtype;
use crate::model::{MemoryLimits, ModelSpec};
#[cfg(feature = "sim")]
use crate::sim::{PrefixCaching, SchedulingPolicy, SimConfig, Speculation};
use crate::step::{Network, Parallelism};
use crate::table::{Strictness, TableSet};

/// A builder for [`Deployment`]. Anything not set has vLLM's default.
///
/// Methods that take `impl Into<Option<…>>` take a value, or `None` for the default.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct DeploymentBuilder {
    pub(super) spec: ModelSpec,
    pub(super) tables: TableSet,
    pub(super) parallelism: Parallelism,
    pub(super) network: Network,
    pub(super) engine: EngineStack,
    pub(super) strictness: Strictness,
    /// Settings that are not given are filled in by [`with_defaults`](Self::with_defaults).
    pub(super) memory: MemoryLimits,
    pub(super) max_num_seqs: Option<u32>,
    pub(super) max_num_batched_tokens: Option<u32>,
    pub(super) gpu_memory_utilization: Option<f64>,
    pub(super) cuda_graph_max_tokens: Option<u32>,
    /// Filled in by [`with_defaults`](Self::with_defaults).
    pub(super) largest_graph: u32,
    pub(super) draft: Option<ModelSpec>,
    /// Whether the model's own MTP layers draft; there is no draft model then.
    pub(super) mtp: bool,
    pub(super) max_model_len: Option<u32>,
    /// Settings of the server only; its memory limits and `max_model_len` are the fields above.
    #[cfg(feature = "sim")]
    pub(super) config: SimConfig,
    #[cfg(feature = "sim")]
    pub(super) kv_blocks: Option<u32>,
    #[cfg(feature = "sim")]
    pub(super) scheduling: Option<Scheduling>,
    #[cfg(feature = "sim")]
    pub(super) scheduler_reserve_full_isl: Option<bool>,
}

impl DeploymentBuilder {
    /// Creates a builder for `spec` on one GPU of `tables`, served by vLLM 0.15.1.
    pub(super) fn new(spec: ModelSpec, tables: &TableSet) -> DeploymentBuilder {
        DeploymentBuilder {
            spec,
            tables: tables.clone(),
            parallelism: Parallelism::SINGLE,
            network: Network::CX7,
            engine: stacks::VLLM_0_15_1,
            strictness: Strictness::ANY,
            memory: MemoryLimits::default(),
            max_num_seqs: None,
            max_num_batched_tokens: None,
            gpu_memory_utilization: None,
            cuda_graph_max_tokens: None,
            largest_graph: 0,
            draft: None,
            mtp: false,
            max_model_len: None,
            #[cfg(feature = "sim")]
            config: SimConfig::new(spec.max_model_len, 0).with_prefix_caching(match spec.keeps_states() {
                true => PrefixCaching::Disabled,
                false => PrefixCaching::Enabled,
            }),
            #[cfg(feature = "sim")]
            kv_blocks: None,
            #[cfg(feature = "sim")]
            scheduling: None,
            #[cfg(feature = "sim")]
            scheduler_reserve_full_isl: None,
        }
    }

    /// Checks the settings and looks up every kernel.
    ///
    /// # Errors
    /// [`DeploymentError`]: dimensions that are invalid or not divisible, a kernel that the tables lack or that is
    /// worse than [`strictness`](Self::strictness) accepts, limits that are out of range or contradict each other. A
    /// model that does not fit into memory is not an error here, because it still has step times;
    /// [`Deployment::memory_plan`] rejects it.
    pub fn build(self) -> Result<Deployment, DeploymentError> {
        Deployment::try_new(self)
    }

    crate::setters! {
        /// Sets the division of the model over GPUs; default: one GPU.
        parallelism(parallelism: Parallelism) => parallelism;
        /// Sets the number of pipeline stages, of [`tp`](Self::tp) GPUs each; default: 1.
        pp(stages: u32) => parallelism.pp;
        /// Sets the network between nodes, over which groups of GPUs that a node does not hold exchange messages; default:
        /// [`Network::CX7`].
        network(network: Network) => network;
        /// Sets the number of data-parallel ranks, which step together and share the experts; default: 1.
        dp(ranks: u32) => parallelism.dp;
        /// Sets whether the GPUs hold whole experts instead of a slice of each; default: slices.
        expert_parallel(expert_parallel: bool) => parallelism.expert_parallel;
        /// Sets the format of the KV entries; default: bf16.
        kv_dtype(dtype: Dtype) => memory.kv_dtype;
        /// Sets the worst class that a kernel may have; default: any.
        ///
        /// [`build`](Self::build) checks the best class of each kernel except the experts. Only a step shows whether an
        /// answer lies inside the measured axes and how much of the experts' time comes from a table: see
        /// [`StepTime::check`](crate::step::StepTime::check).
        strictness(strictness: Strictness) => strictness;
        /// Sets the number of tokens in a KV block; default: 16.
        block_size(tokens: u32) => memory.block_size;
    }

    /// Sets the share of each GPU's memory that the engine uses, above 0, at most 1; default: that of the engine
    /// ([`ServeDefaults`](crate::engine::ServeDefaults)).
    pub fn gpu_memory_utilization(mut self, share: impl Into<Option<f64>>) -> Self {
        self.gpu_memory_utilization = share.into();
        self
    }

    /// Sets the maximum number of tokens in a step; default: that of the engine on this GPU
    /// ([`ServeLimits`](crate::engine::ServeLimits)).
    pub fn max_num_batched_tokens(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.max_num_batched_tokens = tokens.into();
        self
    }

    /// Sets the maximum number of running requests; default: that of the engine on this GPU
    /// ([`ServeLimits`](crate::engine::ServeLimits)), or the token budget if it is smaller. With speculative decoding the
    /// tokens of as many requests, drafts included, fit into the budget, which vLLM does not ask for.
    ///
    /// ```
    /// use rooflut::table::sets;
    /// use rooflut::{Deployment, model};
    ///
    /// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
    /// let on_h100 = Deployment::builder(llama.spec, &sets::H100);
    /// let limits = |builder: rooflut::deployment::DeploymentBuilder| {
    ///     let config = builder.build()?.server_config().map_err(rooflut::deployment::DeploymentError::Memory)?;
    ///     Ok::<_, rooflut::deployment::DeploymentError>((config.max_num_seqs, config.max_num_batched_tokens))
    /// };
    /// assert_eq!(limits(on_h100.clone())?, (1_024, 8_192));
    /// assert_eq!(limits(on_h100.clone().max_num_batched_tokens(512))?, (512, 512));
    /// assert_eq!(limits(on_h100.max_num_seqs(128))?, (128, 8_192));
    /// # Ok::<(), rooflut::deployment::DeploymentError>(())
    /// ```
    pub fn max_num_seqs(mut self, requests: impl Into<Option<u32>>) -> Self {
        self.max_num_seqs = requests.into();
        self
    }

    /// Sets the largest CUDA graph, in tokens; default: what the engine captures with these limits
    /// ([`ServeLimits`](crate::engine::ServeLimits)), and none if its constants have none
    /// ([`StepConstants::cuda_graph_max_tokens`](crate::engine::StepConstants::cuda_graph_max_tokens)).
    pub fn cuda_graph_max_tokens(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.cuda_graph_max_tokens = tokens.into();
        self
    }

    /// Sets the tables of the GPU.
    pub fn tables(mut self, tables: &TableSet) -> Self {
        self.tables = tables.clone();
        self
    }

    /// Sets the tensor parallelism: `tp` GPUs that share each layer.
    pub fn tp(mut self, tp: u32) -> Self {
        self.parallelism.tp = tp;
        self
    }

    /// Sets the format of the weights ([`ModelSpec::with_weight_dtype`]); default: that of the model.
    pub fn weight_dtype(mut self, dtype: Dtype) -> Self {
        self.spec = self.spec.with_weight_dtype(dtype);
        self
    }

    /// Sets the engine stack: its scheduling, its API server and the time it adds to the measured kernels; default:
    /// vLLM 0.15.1.
    pub fn engine(mut self, engine: &EngineStack) -> Self {
        self.engine = *engine;
        self
    }

    /// Sets the maximum length of a request, prompt plus output; default: that of the model, or of the draft model if
    /// it is shorter, or what the KV cache holds ([`Deployment::server_config`]). A value above the model's own is
    /// accepted, as with vLLM's `VLLM_ALLOW_LONG_MAX_MODEL_LEN`.
    pub fn max_model_len(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.max_model_len = tokens.into();
        self
    }

    /// Sets the draft model of speculative decoding. It runs on the same GPUs with its own weights, and its KV
    /// entries have the format of the target's. Server and simulator also need `speculation` (feature `sim`). The
    /// model's own MTP layers do not draft then.
    pub fn draft_model(mut self, draft: impl Into<Option<ModelSpec>>) -> Self {
        self.draft = draft.into();
        self.mtp = false;
        self
    }

    /// Sets that an MTP layer of the model ([`ModelSpec::mtp_layers`]) drafts the tokens of speculative decoding, in
    /// place of a draft model (vLLM: `{"method": "mtp"}`). Server and simulator also need `speculation` (feature `sim`).
    ///
    /// ```
    /// # #[cfg(all(feature = "sim", feature = "h200"))] {
    /// use rooflut::sim::{Request, Speculation};
    /// use rooflut::table::sets;
    /// use rooflut::{Deployment, model};
    ///
    /// let v3 = model::find("deepseek-v3").expect("in the catalogue");
    /// let builder = Deployment::builder(v3.spec, &sets::H200).tp(8);
    /// let drafts = Speculation::try_new(1, 0.85, 0)?;
    /// let requests = [Request::new(512, 128); 8];
    /// let alone = builder.clone().build()?.simulator()?.run(&requests)?;
    /// let with_mtp = builder.mtp().speculation(drafts).build()?.simulator()?.run(&requests)?;
    /// assert!(with_mtp.summary.makespan < alone.summary.makespan);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mtp(mut self) -> Self {
        self.draft = None;
        self.mtp = true;
        self
    }
}

#[cfg(feature = "sim")]
impl DeploymentBuilder {
    crate::setters! {
        /// Sets whether freed KV blocks keep their contents until they are reused; default: they do, but for a model whose
        /// layers keep states (`is_prefix_caching_supported` in `vllm/config/model.py`).
        prefix_caching(caching: PrefixCaching) => config.prefix_caching;
        /// Sets the share of the KV blocks that admission leaves free while requests run; default: 0.
        watermark(share: f64) => config.watermark;
        /// Sets the order in which waiting requests are admitted; default: first come, first served.
        policy(policy: SchedulingPolicy) => config.policy;
    }

    /// Sets the number of KV blocks; default: as many as fit into memory ([`Deployment::memory_plan`]). A given
    /// number is not checked against the memory.
    pub fn kv_blocks(mut self, blocks: impl Into<Option<u32>>) -> Self {
        self.kv_blocks = blocks.into();
        self
    }

    /// Sets when the batch of a step is fixed; default: as in the engine, with speculative decoding
    /// synchronously unless the engine's [`DraftScheduling`](crate::engine::DraftScheduling) is `Ahead`, or `HeadsAhead`
    /// with an MTP layer.
    pub fn scheduling(mut self, scheduling: impl Into<Option<Scheduling>>) -> Self {
        self.scheduling = scheduling.into();
        self
    }

    /// Sets whether a request is admitted only if the blocks of its whole prompt are free; default: as in the engine.
    pub fn scheduler_reserve_full_isl(mut self, reserve: impl Into<Option<bool>>) -> Self {
        self.scheduler_reserve_full_isl = reserve.into();
        self
    }

    /// Sets the maximum tokens per step of one prompt; default: the budget of the step.
    pub fn long_prefill_token_threshold(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.config.long_prefill_token_threshold = tokens.into();
        self
    }

    /// Sets the maximum queue length; default: no limit. Requests that arrive when the queue is full are rejected.
    pub fn max_waiting(mut self, requests: impl Into<Option<u32>>) -> Self {
        self.config.max_waiting = requests.into();
        self
    }

    /// Sets speculative decoding: the number of drafted tokens and how many are accepted. Without a
    /// [`draft_model`](Self::draft_model), drafts cost no time, as with an n-gram lookup in the prompt.
    pub fn speculation(mut self, speculation: impl Into<Option<Speculation>>) -> Self {
        self.config.speculation = speculation.into();
        self
    }
}
