//! `config.json`, with the files beside it.

use rooflut::Deployment;
use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use rooflut::step::{LatencyModel, StepBatch};
use rooflut::table::sets;
use rooflut_hf_config::{HfModel, Options, read};

use super::{check_message, files};

/// Reads the first file as `config.json`, and others as `hf_quant_config.json` and `generation_config.json`.
pub(super) fn config(bytes: &[u8]) {
    let files = files(bytes);
    let file = |index: usize| files.get(index).copied();
    let options = Options::default().with_hf_quant_config(file(1)).with_generation_config(file(2));
    let changed = options.with_weight_dtype(Some(Dtype::Fp8)).with_kv_dtype(Some(Dtype::Fp8));
    for options in [options, options.assuming_llama(), options.for_memory_only(), changed] {
        match read(files[0], options) {
            Ok(model) => check(&model),
            Err(error) => {
                check_message(&error.to_string());
                assert!(error.remedy().is_none_or(|remedy| !format!("{remedy:?}").is_empty()));
            }
        }
    }
}

/// Asserts that a model can be written and read again, and that its steps take time where its kernels are known.
fn check(model: &HfModel) {
    let spec = &model.spec;
    spec.check().unwrap();
    assert!(spec.weight_params() > 0);
    let written = serde_json::to_value(spec).unwrap();
    assert_eq!(serde_json::from_value::<ModelSpec>(written).unwrap(), *spec);
    match Deployment::builder(*spec, &sets::H100).build() {
        Ok(deployment) => {
            let seconds = deployment.step_model().total_time(&StepBatch::default()).0;
            assert!(seconds.is_finite() && seconds >= 0.0, "{seconds}");
        }
        Err(error) => check_message(&error.to_string()),
    }
}
