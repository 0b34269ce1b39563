//! The step models under test.

use rooflut::engine::{StepConstants, stacks};
use rooflut::hardware::Dtype;
use rooflut::model::{self, Attention, Ffn, Gqa, ModelSpec};
use rooflut::step::{Parallelism, RooflineModel, StepOptions};
use rooflut::table::{TableSet, sets};
use rooflut::{Error, ErrorKind};

use super::random::Random;
use super::steps::{self, Batch, Sharded};

/// The constants that load stages were fitted to: all-reduces are not fused, and the padding of graphs is not routed.
pub(crate) const FITTED: StepConstants = stacks::VLLM_0_15_1.constants;

/// Builds `sharded` on the kernels of `set`.
pub(crate) fn try_on(
    set: &'static TableSet,
    sharded: &Sharded,
    constants: StepConstants,
) -> Result<RooflineModel, Error> {
    let options = StepOptions::default().with_kv_dtype(sharded.kv_dtype).with_constants(constants);
    RooflineModel::try_new(&sharded.spec, set, Parallelism::tensor(sharded.tp), options)
}

/// `sharded` on the kernels of `set`, which has all of them.
pub(crate) fn on(set: &'static TableSet, sharded: &Sharded, constants: StepConstants) -> RooflineModel {
    match try_on(set, sharded, constants) {
        Ok(model) => model,
        Err(error) => panic!("{sharded:?}: {error}"),
    }
}

/// Every model of the catalogue on every number of H100s.
pub(crate) fn all(constants: StepConstants) -> Vec<(Sharded, RooflineModel)> {
    let all = all_on(&sets::H100, constants);
    assert_eq!(all.len(), steps::all().len());
    all
}

/// Every model of the catalogue of which `set` has all kernels: not every set has every format and operation.
pub(crate) fn all_on(set: &'static TableSet, constants: StepConstants) -> Vec<(Sharded, RooflineModel)> {
    let on_set = |sharded| match try_on(set, &sharded, constants) {
        Ok(model) => Some((sharded, model)),
        Err(error) if matches!(error.kind(), ErrorKind::Kernel { .. }) => None,
        Err(error) => panic!("{sharded:?}: {error}"),
    };
    steps::all().into_iter().filter_map(on_set).collect()
}

/// Calls `check` with random batches on every model of [`all`] in turn.
pub(crate) fn random_steps(
    constants: StepConstants,
    seed: u64,
    turns: usize,
    mut check: impl FnMut(&mut Random, &Sharded, &RooflineModel, Batch),
) {
    let (all, mut random) = (all(constants), Random(seed));
    for (sharded, model) in all.iter().cycle().take(turns) {
        let batch = Batch::random(&mut random);
        check(&mut random, sharded, model, batch);
    }
}

/// 8 billion parameters on one H100.
pub(crate) fn llama(constants: StepConstants) -> RooflineModel {
    on(&sets::H100, &steps::named("llama-3.1-8b", 1), constants)
}

/// The specification of a model of the catalogue.
pub(crate) fn spec(name: &str) -> ModelSpec {
    model::find(name).unwrap().spec
}

/// A model of `spec` on `tp` GPUs.
pub(crate) fn try_new(
    spec: &ModelSpec,
    set: &'static TableSet,
    tp: u32,
    options: StepOptions,
) -> Result<RooflineModel, Error> {
    RooflineModel::try_new(spec, set, Parallelism::tensor(tp), options)
}

/// Returns the error of a rejected model and its message.
pub(crate) fn refused(spec: &ModelSpec, set: &'static TableSet, tp: u32, options: StepOptions) -> (Error, String) {
    match try_new(spec, set, tp, options) {
        Ok(_) => panic!("expected a refusal of {spec:?} at tp {tp}"),
        Err(error) => {
            let text = error.to_string();
            (error, text)
        }
    }
}

/// An FFN of 16-bit experts.
pub(crate) fn moe(experts: u32, top_k: u32, intermediate: u32, shared_intermediate: u32) -> Ffn {
    let mut ffn = spec("mixtral-8x7b").layers[0].ffn;
    let Ffn::Moe {
        experts: to_experts,
        top_k: to_top_k,
        intermediate: to_intermediate,
        shared_intermediate: to_shared,
        ..
    } = &mut ffn
    else {
        panic!("{ffn:?}")
    };
    (*to_experts, *to_top_k) = (experts, top_k);
    (*to_intermediate, *to_shared) = (intermediate, shared_intermediate);
    ffn
}

/// A dense FFN.
pub(crate) fn dense(intermediate: u32) -> Ffn {
    let mut ffn = spec("llama-3.1-8b").layers[0].ffn;
    let Ffn::Dense { intermediate: to_intermediate, .. } = &mut ffn else { panic!("{ffn:?}") };
    *to_intermediate = intermediate;
    ffn
}

/// The attention heads of the first layers.
pub(crate) fn heads(spec: &mut ModelSpec) -> &mut Gqa {
    match &mut spec.layers[0].attention {
        Attention::Gqa(heads) => heads,
        other => panic!("{other:?}"),
    }
}

/// Applies `change` to `spec`.
pub(crate) fn with(mut spec: ModelSpec, change: impl FnOnce(&mut ModelSpec)) -> ModelSpec {
    change(&mut spec);
    spec
}
