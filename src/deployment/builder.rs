//! What a deployment is made of.

use super::{Deployment, DeploymentError};
#[cfg(feature = "sim")]
use crate::engine::Scheduling;
use crate::engine::{EngineStack, stacks};
use crate::hardware::Dtype;
use crate::model::{MemoryLimits, ModelSpec};
#[cfg(feature = "sim")]
use crate::sim::{PrefixCaching, SchedulingPolicy, SimConfig, Speculation};
use crate::step::Parallelism;
use crate::table::{Strictness, TableSet};

/// Describes a [`Deployment`]; what is not set has vLLM's default.
///
/// Methods that take `impl Into<Option<…>>` take a value, or `None` for the default.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct DeploymentBuilder {
    pub(super) spec: ModelSpec,
    pub(super) tables: TableSet,
    pub(super) parallelism: Parallelism,
    pub(super) engine: EngineStack,
    pub(super) strictness: Strictness,
    pub(super) memory: MemoryLimits,
    pub(super) draft: Option<ModelSpec>,
    pub(super) max_model_len: Option<u32>,
    /// What only a server has; its memory limits and `max_model_len` are those above.
    #[cfg(feature = "sim")]
    pub(super) config: SimConfig,
    #[cfg(feature = "sim")]
    pub(super) kv_blocks: Option<u32>,
    #[cfg(feature = "sim")]
    pub(super) scheduling: Option<Scheduling>,
}

impl DeploymentBuilder {
    /// `spec` on one GPU of `tables`, served by vLLM 0.15.1.
    pub(super) fn new(spec: ModelSpec, tables: &TableSet) -> DeploymentBuilder {
        DeploymentBuilder {
            spec,
            tables: tables.clone(),
            parallelism: Parallelism::SINGLE,
            engine: stacks::VLLM_0_15_1,
            strictness: Strictness::ANY,
            memory: MemoryLimits::default(),
            draft: None,
            max_model_len: None,
            #[cfg(feature = "sim")]
            config: SimConfig::new(spec.max_model_len, 0),
            #[cfg(feature = "sim")]
            kv_blocks: None,
            #[cfg(feature = "sim")]
            scheduling: None,
        }
    }

    /// Checks everything and looks every kernel up.
    ///
    /// # Errors
    /// [`DeploymentError`]: dimensions that are wrong or do not divide, a kernel that the tables lack or know less
    /// well than [`strictness`](Self::strictness) asks for, limits that are out of range or contradict each other.
    /// Whether the weights fit the memory is no part of this: a model that does not fit has step times, but
    /// [`Deployment::memory_plan`] refuses it.
    pub fn build(self) -> Result<Deployment, DeploymentError> {
        Deployment::try_new(self)
    }

    /// How the model is divided over GPUs; default: one GPU.
    pub fn parallelism(mut self, parallelism: Parallelism) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// Tensor parallelism: `tp` GPUs that share each layer.
    pub fn tp(self, tp: u32) -> Self {
        self.parallelism(Parallelism::tensor(tp))
    }

    /// Runs the model with weights of another format ([`ModelSpec::with_weight_dtype`]); default: its own.
    pub fn weight_dtype(mut self, dtype: Dtype) -> Self {
        self.spec = self.spec.with_weight_dtype(dtype);
        self
    }

    /// Format of the KV entries; default: bf16.
    pub fn kv_dtype(mut self, dtype: Dtype) -> Self {
        self.memory.kv_dtype = dtype;
        self
    }

    /// The engine stack: its scheduling, its API server and what it adds to the measured kernels; default: vLLM
    /// 0.15.1.
    pub fn engine(mut self, engine: &EngineStack) -> Self {
        self.engine = *engine;
        self
    }

    /// The worst class that a kernel may have; default: any answer will do.
    ///
    /// [`build`](Self::build) judges the class that each kernel has at best, experts excepted. Whether an answer
    /// lies inside of the measured axes, and whether the experts' table has a share in it, is known of a step only:
    /// [`StepTime::check`](crate::step::StepTime::check).
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Share of each GPU's memory that the engine uses, above 0, at most 1; default: 0.9.
    pub fn gpu_memory_utilization(mut self, share: f64) -> Self {
        self.memory.gpu_memory_utilization = share;
        self
    }

    /// Tokens that one step computes at most; default: 2,048.
    pub fn max_num_batched_tokens(mut self, tokens: u32) -> Self {
        self.memory.max_num_batched_tokens = tokens;
        self
    }

    /// Tokens of a KV block; default: 16.
    pub fn block_size(mut self, tokens: u32) -> Self {
        self.memory.block_size = tokens;
        self
    }

    /// Longest request, prompt and output together; default: that of the model, and of the draft model if it is
    /// shorter. More than the model's own is taken at its word, as vLLM does with `VLLM_ALLOW_LONG_MAX_MODEL_LEN`.
    pub fn max_model_len(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.max_model_len = tokens.into();
        self
    }

    /// The draft model of speculative decoding, on the same GPUs, with its own weights and KV entries in the format
    /// of the target's. Needs `speculation` (feature `sim`) for server and simulator.
    pub fn draft_model(mut self, draft: impl Into<Option<ModelSpec>>) -> Self {
        self.draft = draft.into();
        self
    }
}

#[cfg(feature = "sim")]
impl DeploymentBuilder {
    /// Requests that run at the same time; default: 128.
    pub fn max_num_seqs(mut self, requests: u32) -> Self {
        self.config.max_num_seqs = requests;
        self
    }

    /// KV blocks that requests can take; default: what the memory leaves ([`Deployment::memory_plan`]). A number that
    /// is given is taken at its word, also where the memory leaves less.
    pub fn kv_blocks(mut self, blocks: impl Into<Option<u32>>) -> Self {
        self.kv_blocks = blocks.into();
        self
    }

    /// When the batch of a step is fixed; default: as the engine does, and synchronously with speculative decoding.
    pub fn scheduling(mut self, scheduling: impl Into<Option<Scheduling>>) -> Self {
        self.scheduling = scheduling.into();
        self
    }

    /// Whether freed KV blocks keep their contents until they are reused; default: they do.
    pub fn prefix_caching(mut self, caching: PrefixCaching) -> Self {
        self.config.prefix_caching = caching;
        self
    }

    /// The order in which waiting requests are admitted; default: first come, first served.
    pub fn policy(mut self, policy: SchedulingPolicy) -> Self {
        self.config.policy = policy;
        self
    }

    /// Maximum queue length. Requests that arrive when the queue is full are rejected; default: no limit.
    pub fn max_waiting(mut self, requests: impl Into<Option<u32>>) -> Self {
        self.config.max_waiting = requests.into();
        self
    }

    /// Speculative decoding: drafted tokens and how many are accepted. Without a
    /// [`draft_model`](Self::draft_model) the drafts cost no time, as those of an n-gram lookup in the prompt.
    pub fn speculation(mut self, speculation: impl Into<Option<Speculation>>) -> Self {
        self.config.speculation = speculation.into();
        self
    }
}
