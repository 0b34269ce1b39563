//! A model on GPUs as an engine serves it.

use super::{DeploymentBuilder, DeploymentError};
use crate::engine::EngineStack;
use crate::hardware::Dtype;
use crate::model::{MemoryError, MemoryLimits, MemoryPlan, ModelSpec, kv_bytes_per_token};
use crate::step::{ModelError, Parallelism, RooflineModel, StepOptions};
use crate::table::TableSet;

/// A model on GPUs as an engine serves it: one description from which step model, memory plan and server limits
/// follow.
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
/// assert!(memory.kv_blocks > 60_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Deployment {
    /// What was described, with every default filled in.
    pub(super) given: DeploymentBuilder,
    step_model: RooflineModel,
    draft_step_model: Option<RooflineModel>,
    max_model_len: u32,
}

impl Deployment {
    /// `spec` on the GPUs of `tables`, to be described further.
    pub fn builder(spec: ModelSpec, tables: &TableSet) -> DeploymentBuilder {
        DeploymentBuilder::new(spec, tables)
    }

    pub(super) fn try_new(given: DeploymentBuilder) -> Result<Deployment, DeploymentError> {
        given.check_memory_limits()?;
        given.engine.check().map_err(DeploymentError::Engine)?;
        let max_model_len = given.longest_request()?;
        let step_model = given
            .step_model(&given.spec)
            .map_err(DeploymentError::Model)?;
        let draft = given.draft.as_ref().map(|draft| given.step_model(draft));
        let deployment = Deployment {
            step_model,
            draft_step_model: draft.transpose().map_err(DeploymentError::Draft)?,
            max_model_len,
            given,
        };
        #[cfg(feature = "sim")]
        deployment.check_server()?;
        Ok(deployment)
    }

    /// The model that is served, with the weights that it is served with.
    pub fn spec(&self) -> &ModelSpec {
        &self.given.spec
    }

    /// The draft model of speculative decoding, if there is one.
    pub fn draft(&self) -> Option<&ModelSpec> {
        self.given.draft.as_ref()
    }

    /// The tables of its GPU.
    pub fn tables(&self) -> &TableSet {
        &self.given.tables
    }

    /// How the model is divided over GPUs.
    pub fn parallelism(&self) -> Parallelism {
        self.given.parallelism
    }

    /// Format of the KV entries.
    pub fn kv_dtype(&self) -> Dtype {
        self.given.memory.kv_dtype
    }

    /// The engine stack.
    pub fn engine(&self) -> &EngineStack {
        &self.given.engine
    }

    /// The limits that the memory plan follows from.
    pub fn memory_limits(&self) -> &MemoryLimits {
        &self.given.memory
    }

    /// Longest request, prompt and output together.
    pub fn max_model_len(&self) -> u32 {
        self.max_model_len
    }

    /// How long its steps take, without a draft model.
    pub fn step_model(&self) -> &RooflineModel {
        &self.step_model
    }

    /// How long the steps of the draft model take, if there is one.
    pub fn draft_step_model(&self) -> Option<&RooflineModel> {
        self.draft_step_model.as_ref()
    }

    /// Where the memory of one GPU goes: weights, activations, and the KV blocks that the rest leaves.
    ///
    /// # Errors
    /// [`MemoryError::DoesNotFit`]: weights and overheads leave no room for a block.
    pub fn memory_plan(&self) -> Result<MemoryPlan, MemoryError> {
        self.memory_plan_at(self.given.parallelism.tp)
    }

    /// The [`memory_plan`](Self::memory_plan) at another tensor parallelism: whether more GPUs would do.
    ///
    /// # Errors
    /// As [`memory_plan`](Self::memory_plan); [`MemoryError::Spec`] if `tp` ranks cannot share the models.
    pub fn memory_plan_at(&self, tp: u32) -> Result<MemoryPlan, MemoryError> {
        let DeploymentBuilder {
            spec,
            memory,
            tables,
            ..
        } = &self.given;
        let plan = MemoryPlan::try_new(spec, tables.gpu(), tp, *memory)?;
        match &self.given.draft {
            Some(draft) => plan.with_draft(draft),
            None => Ok(plan),
        }
    }

    /// Bytes of the KV entries of one token, over all layers and GPUs: what disaggregated servers send each other.
    pub fn kv_bytes_per_token(&self) -> f64 {
        kv_bytes_per_token(&self.given.spec, 1, self.given.memory.kv_dtype)
    }
}

impl DeploymentBuilder {
    /// The step model of the target or the draft model.
    fn step_model(&self, spec: &ModelSpec) -> Result<RooflineModel, ModelError> {
        let options = StepOptions::for_engine(&self.engine)
            .with_kv_dtype(self.memory.kv_dtype)
            .with_strictness(self.strictness);
        RooflineModel::try_new(spec, &self.tables, self.parallelism, options)
    }

    fn check_memory_limits(&self) -> Result<(), DeploymentError> {
        self.memory.check().map_err(DeploymentError::Memory)
    }

    /// Longest request: as given, else as long as target and draft model take.
    fn longest_request(&self) -> Result<u32, DeploymentError> {
        let Some(draft) = &self.draft else {
            return Ok(self.max_model_len.unwrap_or(self.spec.max_model_len));
        };
        if draft.vocab != self.spec.vocab {
            return Err(DeploymentError::DraftVocabulary {
                found: draft.vocab,
                expected: self.spec.vocab,
            });
        }
        let longest = draft.max_model_len;
        match self.max_model_len {
            Some(found) if found > longest => Err(DeploymentError::DraftContext { longest, found }),
            Some(given) => Ok(given),
            None => Ok(self.spec.max_model_len.min(longest)),
        }
    }
}
