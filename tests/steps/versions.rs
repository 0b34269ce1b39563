//! Rows of several engine versions in a set.
#![cfg(feature = "b300")]

use std::collections::BTreeSet;

use rooflut::engine::{self, stacks};
use rooflut::hardware::{Dtype, GemmShape};
use rooflut::op::Gemm;
use rooflut::step::{DecodeGroup, StepBatch, StepModel};
use rooflut::table::{TableSet, sets};
use rooflut::{Deployment, model};

const NEWER: Option<&str> = Some("vllm-0.31");

fn gemm_us(set: &TableSet, dtype: Dtype) -> f64 {
    let shape = GemmShape { dtype, k: 8192, n: 8192 };
    Gemm::resolve(set, shape).unwrap().at(256).time.us()
}

#[test]
fn a_version_replaces_the_formats_that_it_has() {
    let newer = sets::B300.version(NEWER);
    assert_eq!(newer.name(), sets::B300.name());
    assert_ne!(newer.origin().engine, sets::B300.origin().engine);
    for dtype in [Dtype::Nvfp4, Dtype::Fp8Block] {
        let ratio = gemm_us(&sets::B300, dtype) / gemm_us(&newer, dtype);
        assert!((ratio - 1.0).abs() > 0.02, "{dtype}: {ratio}");
    }
    for dtype in [Dtype::Bf16, Dtype::Fp8] {
        assert_eq!(gemm_us(&sets::B300, dtype), gemm_us(&newer, dtype));
    }
    for unknown in [None, Some("vllm-0.30")] {
        assert_eq!(&sets::B300.version(unknown), &sets::B300);
    }
    assert_eq!(&sets::H100.version(NEWER), &sets::H100);
}

#[test]
fn stacks_ask_for_versions_that_sets_have_and_sets_have_no_others() {
    let asked: BTreeSet<_> = stacks::ALL.iter().filter_map(|stack| stack.table_version).collect();
    let kept: BTreeSet<_> = sets::ALL.iter().flat_map(|set| set.versions()).collect();
    assert_eq!(asked, kept);
}

#[test]
fn a_deployment_takes_the_rows_of_its_engine_stack() {
    let llama = model::find("llama-3.3-70b").unwrap().spec;
    let decode = [DecodeGroup::uniform(64, 1024).unwrap()];
    let batch = StepBatch { prefill: &[], decode: &decode };
    let time = |engine: &str, tables: &TableSet| {
        let engine = engine::find(engine).unwrap();
        let builder = Deployment::builder(llama, tables).tp(4).weight_dtype(Dtype::Nvfp4).engine(engine);
        builder.build().unwrap().step_model().step_time(&batch).total()
    };
    let newer = sets::B300.version(NEWER);
    assert_eq!(time("vllm-0.33.0", &sets::B300), time("vllm-0.33.0", &newer));
    assert!(time("vllm-0.25.0", &sets::B300) > time("vllm-0.25.0", &newer));
}
