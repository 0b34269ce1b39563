//! A model on GPUs, served by an engine.

use super::DeploymentBuilder;
use crate::engine::EngineStack;
use crate::error::{Error, Invalid};
use crate::hardware::Dtype;
use crate::model::{MemoryLimits, MemoryPlan, ModelSpec, Sampler, Span, kv_bytes_per_token};
use crate::step::{Network, Parallelism, RooflineModel, StepOptions};
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
    first_draft_step_model: Option<RooflineModel>,
    max_model_len: u32,
}

impl Deployment {
    /// Returns a builder for `spec` on the GPUs of `tables`.
    pub fn builder(spec: ModelSpec, tables: &TableSet) -> DeploymentBuilder {
        DeploymentBuilder::new(spec, tables)
    }

    pub(super) fn try_new(given: DeploymentBuilder) -> Result<Deployment, Error> {
        given.engine.check()?;
        let max_model_len = given.longest_request()?;
        let given = given.with_defaults(max_model_len);
        given.memory.check()?;
        let step_model = given.step_model(&given.spec, given.parallelism)?;
        let stages = given.parallelism.pp;
        if stages > 1 && (given.mtp || given.draft.is_some()) {
            let text =
                "expected none with {} pipeline stages, found one, which is not modelled; use one pipeline stage";
            return Err(Invalid::new("draft model or MTP layer", text, &[stages.into()]).into());
        }
        let [draft_step_model, first_draft_step_model] = given.draft_step_models()?;
        let deployment = Deployment { step_model, draft_step_model, first_draft_step_model, max_model_len, given };
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

    /// Returns the step model of the first run over an EAGLE-3 head after a step of the target, if the draft model is
    /// one; [`draft_step_model`](Self::draft_step_model) is that of the further runs.
    pub fn first_draft_step_model(&self) -> Option<&RooflineModel> {
        self.first_draft_step_model.as_ref()
    }

    /// Returns the memory use of one GPU: weights, activations, and the KV blocks that fit into the rest.
    ///
    /// # Errors
    /// [`ErrorKind::DoesNotFit`](crate::ErrorKind::DoesNotFit): weights and overheads leave no room for a block.
    pub fn memory_plan(&self) -> Result<MemoryPlan, Error> {
        self.memory_plan_at(self.given.parallelism.tp)
    }

    /// Returns the [`memory_plan`](Self::memory_plan) at another tensor parallelism, to see whether more GPUs
    /// suffice.
    ///
    /// # Errors
    /// As [`memory_plan`](Self::memory_plan), and `tp` ranks that cannot share the models.
    pub fn memory_plan_at(&self, tp: u32) -> Result<MemoryPlan, Error> {
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
    /// Returns the tables with the rows of the engine stack.
    fn kernels(&self) -> TableSet {
        self.tables.version(self.engine.table_version)
    }

    /// Returns the step model of the target or the draft model.
    fn step_model(&self, spec: &ModelSpec, parallelism: Parallelism) -> Result<RooflineModel, Error> {
        RooflineModel::try_new(spec, &self.kernels(), parallelism, self.step_options())
    }

    /// Returns the step model of the draft model, or of a run over an MTP layer; and that of the first run over an
    /// EAGLE-3 head.
    fn draft_step_models(&self) -> Result<[Option<RooflineModel>; 2], Error> {
        let (options, parallelism) = (self.step_options(), self.parallelism);
        if self.mtp {
            let run = RooflineModel::try_new_mtp(&self.spec, &self.kernels(), parallelism, options)?;
            return Ok([Some(run), None]);
        }
        let Some(draft) = self.draft else { return Ok([None, None]) };
        // vLLM drafts greedily, however the requests are sampled.
        let draft = draft.with_sampler(Sampler::Plain);
        let sliced = Parallelism::tensor(parallelism.tp);
        let run = self.step_model(&draft, sliced).map_err(Error::of_draft)?;
        let first = draft.eagle3.map(|_| RooflineModel::try_new_first_run(&draft, &self.kernels(), sliced, options));
        Ok([Some(run), first.transpose().map_err(Error::of_draft)?])
    }

    /// Returns whether an MTP layer or an EAGLE-3 head drafts.
    #[cfg(feature = "sim")]
    pub(super) fn has_head(&self) -> bool {
        self.mtp || self.draft.is_some_and(|draft| draft.eagle3.is_some())
    }

    fn step_options(&self) -> StepOptions {
        StepOptions::for_engine(&self.engine)
            .with_kv_dtype(self.memory.kv_dtype)
            .with_strictness(self.strictness)
            .with_network(self.network)
            .with_cuda_graph_max_tokens(Some(self.largest_graph))
    }

    /// Returns the memory use of one GPU.
    pub(super) fn memory_plan(&self, parallelism: Parallelism) -> Result<MemoryPlan, Error> {
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

    /// Returns the maximum length of a request: the given one, or else the longest that target and draft model
    /// support. An EAGLE-3 head has the positions of its target.
    pub(super) fn longest_request(&self) -> Result<u32, Invalid> {
        if self.spec.eagle3.is_some() {
            let text = "expected a model, found an EAGLE-3 head, which drafts tokens for another model; use it as draft \
                model";
            return Err(Invalid::new("model", text, &[]));
        }
        let given = self.options.max_model_len;
        let Some(draft) = &self.draft else { return Ok(given.unwrap_or(self.spec.max_model_len)) };
        if draft.vocab != self.spec.vocab {
            let text = "expected the vocabulary of the target ({}), found {}; use a draft model of the same family";
            return Err(Invalid::new("draft_model", text, &[self.spec.vocab.into(), draft.vocab.into()]));
        }
        if let Some(head) = draft.eagle3 {
            let (expected, found) = (self.spec.hidden, head.target_hidden);
            return if expected == found {
                Ok(given.unwrap_or(self.spec.max_model_len))
            } else {
                let text = "expected a head for hidden states of the target ({}), found {}; use a head of this model";
                Err(Invalid::new("draft_model", text, &[expected.into(), found.into()]))
            };
        }
        let longest = draft.max_model_len;
        match given {
            Some(found) if found > longest => {
                let text = "expected at most {}, the longest request of the draft model, found {}; lower it";
                Err(Invalid::new("max_model_len", text, &[longest.into(), found.into()]))
            }
            Some(given) => Ok(given),
            None => Ok(self.spec.max_model_len.min(longest)),
        }
    }
}
