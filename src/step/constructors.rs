//! Constructors of the roofline model.

use super::kernels::Kernels;
#[cfg(feature = "alloc")]
use super::stages::pipeline;
use super::{Parallelism, RooflineModel, StepOptions};
use crate::error::{Error, Invalid};
#[cfg(not(feature = "alloc"))]
use crate::model::Span;
use crate::model::{ModelSpec, Sampler};
use crate::table::TableSet;

impl RooflineModel {
    /// Looks up every kernel of `model` in `set`, for one of the ranks of `parallelism`.
    ///
    /// # Errors
    /// Dimensions that are invalid or not divisible; an operation, dtype or number of ranks that the set lacks; a
    /// kernel whose answers are worse than `options.strictness` accepts; a constant of the engine that is out of
    /// range.
    pub fn try_new(
        model: &ModelSpec,
        set: &TableSet,
        parallelism: Parallelism,
        options: StepOptions,
    ) -> Result<RooflineModel, Error> {
        let options = checked(model, set, parallelism, options)?;
        #[cfg(feature = "alloc")]
        if parallelism.pp > 1 {
            return pipeline(model, set, parallelism, options);
        }
        let kernels = Kernels::resolve(model, set, parallelism, &options)?;
        RooflineModel::stage(model, set, parallelism, &options, kernels)
    }

    /// Looks up every kernel of a run over an MTP layer of `model`, which drafts one token for each request: the
    /// projection of hidden state and embedding (2 `hidden` to `hidden`, 16-bit, whole on each GPU; in
    /// [`Part::Qkv`](super::Part::Qkv)), a layer like the model's last layers, and lm_head with greedy sampling of one
    /// row for each request, for any number of its tokens in the batch (`vllm/model_executor/models/deepseek_mtp.py`,
    /// `propose` in `vllm/v1/spec_decode/eagle.py`).
    ///
    /// Does not model: the norms of hidden state and embedding.
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new); a model without MTP layers; several pipeline stages.
    pub fn try_new_mtp(
        model: &ModelSpec,
        set: &TableSet,
        parallelism: Parallelism,
        options: StepOptions,
    ) -> Result<RooflineModel, Error> {
        let layer = model.mtp_layer().map_err(Error::of_model)?;
        drafting(layer, 2 * layer.hidden, set, parallelism, options)
    }

    /// Looks up every kernel of the first run over an EAGLE-3 head after a step of its target: `fc` over all tokens
    /// (16-bit, whole on each GPU; in [`Part::Qkv`](super::Part::Qkv)), the layer, and lm_head with greedy sampling of
    /// one row for each request. [`try_new`](Self::try_new) has the further runs, which take hidden states of the head
    /// itself (`propose` in `vllm/v1/worker/gpu/spec_decode/target_dependent_ar/speculator.py`).
    ///
    /// Assumes: the part of latent projections that reads the embedding takes as long as a GEMM of its own.
    ///
    /// Does not model: the norms of hidden state and embedding, and the map from drafted to target tokens.
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new); a model that is no such head.
    pub fn try_new_first_run(
        head: &ModelSpec,
        set: &TableSet,
        parallelism: Parallelism,
        options: StepOptions,
    ) -> Result<RooflineModel, Error> {
        let text = "expected an EAGLE-3 head, found another model; use `try_new`";
        let dimensions = head.eagle3.ok_or(Error::of_model(Invalid::new("eagle3", text, &[])))?;
        drafting(*head, dimensions.fc_inputs(), set, parallelism, options)
    }
}

/// Looks up every kernel of a run over a layer that drafts, and of the projection of `inputs` to its hidden size.
fn drafting(
    layer: ModelSpec,
    inputs: u32,
    set: &TableSet,
    parallelism: Parallelism,
    options: StepOptions,
) -> Result<RooflineModel, Error> {
    let layer = layer.with_sampler(Sampler::Plain);
    let options = checked(&layer, set, parallelism, options)?;
    let kernels = Kernels::resolve_drafting(&layer, inputs, set, parallelism, &options)?;
    RooflineModel::stage(&layer, set, parallelism, &options, kernels)
}

/// Checks the dimensions of `model` and the settings, and returns these with the constants of the set's GPU.
fn checked(
    model: &ModelSpec,
    set: &TableSet,
    parallelism: Parallelism,
    mut options: StepOptions,
) -> Result<StepOptions, Error> {
    model.check().map_err(Error::of_model)?;
    model.check_parallelism(parallelism).map_err(Error::of_model)?;
    #[cfg(not(feature = "alloc"))]
    check_without_alloc(model, parallelism)?;
    options.constants.check()?;
    options.network.check()?;
    options.constants = options.constants.on(set.gpu());
    Ok(options)
}

/// Checks that neither the layers nor the ranks need kernels that are kept on the heap.
#[cfg(not(feature = "alloc"))]
fn check_without_alloc(model: &ModelSpec, parallelism: Parallelism) -> Result<(), Error> {
    let what = if parallelism.pp > 1 {
        "several pipeline stages"
    } else if parallelism.dp > 1 {
        "several data-parallel ranks"
    } else if let Span::Window(_) = model.limited_span() {
        "windows"
    } else if model.streams > 0 {
        "hyper-connections"
    } else {
        return Ok(());
    };
    Err(Error::needs_alloc(what))
}
