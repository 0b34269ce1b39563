//! The builder of a deployment.

use super::{Deployment, ServerOptions};
use crate::engine::{self, EngineStack};
use crate::error::Error;
use crate::hardware::Dtype;
use crate::model::{MemoryLimits, ModelSpec};
#[cfg(feature = "sim")]
use crate::sim::Speculation;
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
    pub(super) options: ServerOptions,
    /// Format of the KV entries, and limits that [`with_defaults`](Self::with_defaults) fills in.
    pub(super) memory: MemoryLimits,
    /// Filled in by [`with_defaults`](Self::with_defaults).
    pub(super) largest_graph: u32,
    pub(super) draft: Option<ModelSpec>,
    /// Whether the model's own MTP layers draft; there is no draft model then.
    pub(super) mtp: bool,
    #[cfg(feature = "sim")]
    pub(super) speculation: Option<Speculation>,
}

impl DeploymentBuilder {
    /// Creates a builder for `spec` on one GPU of `tables`, served by [`engine::DEFAULT`].
    pub(super) fn new(spec: ModelSpec, tables: &TableSet) -> DeploymentBuilder {
        DeploymentBuilder {
            spec,
            tables: tables.clone(),
            parallelism: Parallelism::SINGLE,
            network: Network::CX7,
            engine: engine::DEFAULT,
            strictness: Strictness::ANY,
            options: ServerOptions::default(),
            memory: MemoryLimits::default(),
            largest_graph: 0,
            draft: None,
            mtp: false,
            #[cfg(feature = "sim")]
            speculation: None,
        }
    }

    /// Checks the settings and looks up every kernel.
    ///
    /// # Errors
    /// [`Error`]: dimensions that are invalid or not divisible, a kernel that the tables lack or that is
    /// worse than [`strictness`](Self::strictness) accepts, limits that are out of range or contradict each other. A
    /// model that does not fit into memory is not an error here, because it still has step times;
    /// [`Deployment::memory_plan`] rejects it.
    pub fn build(self) -> Result<Deployment, Error> {
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
    /// [`engine::DEFAULT`].
    pub fn engine(mut self, engine: &EngineStack) -> Self {
        self.engine = *engine;
        self
    }

    /// Sets the draft model of speculative decoding. It runs on the same GPUs with its own weights, and its KV
    /// entries have the format of the target's. An EAGLE-3 head ([`ModelSpec::eagle3`]) runs and is scheduled as an MTP
    /// layer is. Server and simulator also need `speculation` (feature `sim`). The model's own MTP layers do not draft
    /// then.
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

    /// Sets speculative decoding: the number of drafted tokens and how many are accepted. Without a
    /// [`draft_model`](Self::draft_model), drafts cost no time, as with an n-gram lookup in the prompt.
    #[cfg(feature = "sim")]
    pub fn speculation(mut self, speculation: impl Into<Option<Speculation>>) -> Self {
        self.speculation = speculation.into();
        self
    }
}
