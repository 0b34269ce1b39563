//! A model on GPUs, served by an engine.

use super::{DeploymentBuilder, DeploymentError};
use crate::engine::EngineStack;
use crate::hardware::Dtype;
use crate::model::{MemoryError, MemoryLimits, MemoryPlan, ModelSpec, Sampler, Span, kv_bytes_per_token};
use crate::step::{ModelError, Network, Parallelism, RooflineModel, StepOptions};
use crate::table::TableSet;

/// A model on GPUs, served by an engine: one description that yields step model, memory plan and server limits.
///
/// ```
/// use rooflut::hardware::Dtype;
/// use rooflut::table::sets;
/// use rooflut::{Deployment, model};
///
/// let llama = model::find("llama-3.1-70b").expect("in the catalogue");
/// let deployment = Deployment::builder(llama.spec, &sets::H100)
///     .tp(4)
///     .kv_dtype(Dtype::Fp8)
///     .build()?;
/// let memory = deployment.memory_plan()?;
/// assert!(memory.kv_blocks > 40_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The settings, defaults filled in.
    pub(super) given: DeploymentBuilder,
    step_model: RooflineModel,
    draft_step_model: Option<RooflineModel>,
    max_model_len: u32,
}

impl Deployment {
    /// Returns a builder for `spec` on the GPUs of `tables`.
    pub fn builder(spec: ModelSpec, tables: &TableSet) -> DeploymentBuilder {
        DeploymentBuilder::new(spec, tables)
    }

    pub(super) fn try_new(given: DeploymentBuilder) -> Result<Deployment, DeploymentError> {
        given.engine.check().map_err(DeploymentError::Engine)?;
        let max_model_len = given.longest_request()?;
        let given = given.with_defaults(max_model_len);
        given.check_memory_limits()?;
        let step_model = given.step_model(&given.spec, given.parallelism).map_err(DeploymentError::Model)?;
        let stages = given.parallelism.pp;
        if stages > 1 && (given.mtp || given.draft.is_some()) {
            return Err(DeploymentError::PipelinedDraft { stages });
        }
        let draft_step_model = given.draft_step_model()?;
        let deployment = Deployment { step_model, draft_step_model, max_model_len, given };
        #[cfg(feature = "sim")]
        deployment.check_server()?;
        Ok(deployment)
    }

    /// Returns a builder with the settings of this deployment.
    pub fn to_builder(&self) -> DeploymentBuilder {
        self.given.clone()
    }

    /// Returns the served model, with the weight format it is served in.
    pub fn spec(&self) -> &ModelSpec {
        &self.given.spec
    }

    /// Returns the draft model of speculative decoding, if any.
    pub fn draft(&self) -> Option<&ModelSpec> {
        self.given.draft.as_ref()
    }

    /// Returns whether an MTP layer of the served model drafts the tokens of speculative decoding.
    pub fn has_mtp(&self) -> bool {
        self.given.mtp
    }

    /// Returns the tables of the GPU.
    pub fn tables(&self) -> &TableSet {
        &self.given.tables
    }

    /// Returns the division of the model over GPUs.
    pub fn parallelism(&self) -> Parallelism {
        self.given.parallelism
    }

    /// Returns the network between nodes.
    pub fn network(&self) -> &Network {
        &self.given.network
    }

    /// Returns the format of the KV entries.
    pub fn kv_dtype(&self) -> Dtype {
        self.given.memory.kv_dtype
    }

    /// Returns the engine stack.
    pub fn engine(&self) -> &EngineStack {
        &self.given.engine
    }

    /// Returns the limits from which the memory plan follows.
    pub fn memory_limits(&self) -> &MemoryLimits {
        &self.given.memory
    }

    /// Returns the maximum number of tokens of a step that runs as a CUDA graph.
    pub fn cuda_graph_max_tokens(&self) -> u32 {
        self.given.largest_graph
    }

    /// Returns the maximum length of a request, prompt plus output, whether or not the KV cache holds it.
    pub fn max_model_len(&self) -> u32 {
        self.max_model_len
    }

    /// Returns the step model of the target, without the draft model.
    pub fn step_model(&self) -> &RooflineModel {
        &self.step_model
    }

    /// Returns the step model of the draft model, or of a run over an MTP layer, if any.
    pub fn draft_step_model(&self) -> Option<&RooflineModel> {
        self.draft_step_model.as_ref()
    }

    /// Returns the memory use of one GPU: weights, activations, and the KV blocks that fit into the rest.
    ///
    /// # Errors
    /// [`MemoryError::DoesNotFit`]: weights and overheads leave no room for a block.
    pub fn memory_plan(&self) -> Result<MemoryPlan, MemoryError> {
        self.memory_plan_at(self.given.parallelism.tp)
    }

    /// Returns the [`memory_plan`](Self::memory_plan) at another tensor parallelism, to see whether more GPUs
    /// suffice.
    ///
    /// # Errors
    /// As [`memory_plan`](Self::memory_plan); [`MemoryError::Spec`] if `tp` ranks cannot share the models.
    pub fn memory_plan_at(&self, tp: u32) -> Result<MemoryPlan, MemoryError> {
        let parallelism = Parallelism { tp, ..self.given.parallelism };
        self.given.memory_plan(parallelism)
    }

    /// Returns the bytes of the KV entries of one token, over all layers and GPUs: the transfer size between
    /// disaggregated servers.
    pub fn kv_bytes_per_token(&self) -> f64 {
        kv_bytes_per_token(&self.given.spec, 1, self.given.memory.kv_dtype)
    }
}

impl DeploymentBuilder {
    /// Returns the step model of the target or the draft model.
    fn step_model(&self, spec: &ModelSpec, parallelism: Parallelism) -> Result<RooflineModel, ModelError> {
        RooflineModel::try_new(spec, &self.tables, parallelism, self.step_options())
    }

    /// Returns the step model of the draft model, or of a run over an MTP layer.
    fn draft_step_model(&self) -> Result<Option<RooflineModel>, DeploymentError> {
        if self.mtp {
            let (options, parallelism) = (self.step_options(), self.parallelism);
            let run = RooflineModel::try_new_mtp(&self.spec, &self.tables, parallelism, options);
            return run.map(Some).map_err(DeploymentError::Model);
        }
        // vLLM drafts greedily, however the requests are sampled.
        let draft = self.draft.map(|draft| draft.with_sampler(Sampler::Plain));
        let sliced = Parallelism::tensor(self.parallelism.tp);
        let draft = draft.map(|draft| self.step_model(&draft, sliced));
        draft.transpose().map_err(DeploymentError::Draft)
    }

    fn step_options(&self) -> StepOptions {
        StepOptions::for_engine(&self.engine)
            .with_kv_dtype(self.memory.kv_dtype)
            .with_strictness(self.strictness)
            .with_network(self.network)
            .with_cuda_graph_max_tokens(Some(self.largest_graph))
    }

    /// Returns the memory use of one GPU.
    pub(super) fn memory_plan(&self, parallelism: Parallelism) -> Result<MemoryPlan, MemoryError> {
        let (spec, gpu, limits) = (self.kv_spec(), self.tables.gpu(), self.memory);
        if self.mtp {
            return MemoryPlan::try_new_with_mtp(&spec, gpu, parallelism, limits);
        }
        let plan = MemoryPlan::try_new(&spec, gpu, parallelism, limits)?;
        match &self.draft {
            Some(draft) => plan.with_draft(draft),
            None => Ok(plan),
        }
    }

    /// Returns the model as the KV cache holds it: without chunks if the engine has no groups for them.
    pub(super) fn kv_spec(&self) -> ModelSpec {
        let mut spec = self.spec;
        if !self.engine.rules.chunked_groups {
            for group in spec.layers.iter_mut() {
                if let Span::Chunk(_) = group.attention.span() {
                    group.attention = group.attention.with_span(Span::Full);
                }
            }
        }
        spec
    }

    fn check_memory_limits(&self) -> Result<(), DeploymentError> {
        self.memory.check().map_err(DeploymentError::Memory)
    }

    /// Returns the maximum length of a request: the given one, or else the longest that target and draft model
    /// support.
    pub(super) fn longest_request(&self) -> Result<u32, DeploymentError> {
        let Some(draft) = &self.draft else {
            return Ok(self.options.max_model_len.unwrap_or(self.spec.max_model_len));
        };
        if draft.vocab != self.spec.vocab {
            return Err(DeploymentError::DraftVocabulary { found: draft.vocab, expected: self.spec.vocab });
        }
        let longest = draft.max_model_len;
        match self.options.max_model_len {
            Some(found) if found > longest => Err(DeploymentError::DraftContext { longest, found }),
            Some(given) => Ok(given),
            None => Ok(self.spec.max_model_len.min(longest)),
        }
    }
}
