//! Flagged rows that steps depend on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code outside of test functions")]

use rooflut::hardware::{Dtype, GemmShape, MeasuredKernel, OperationKind};
use rooflut::step::{DecodeGroup, Part, StepBatch};
use rooflut::table::{TableSet, sets};
use rooflut::{Deployment, model};
use rooflut_inspect::Corrected;

/// The output projection of llama-3.1-8b with 512 tokens.
fn o_proj() -> MeasuredKernel {
    let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 };
    MeasuredKernel::new(OperationKind::Gemm, shape, [512, 1])
}

fn llama(tables: &TableSet) -> Deployment {
    let llama = model::find("llama-3.1-8b").unwrap();
    Deployment::builder(llama.spec, tables).build().unwrap()
}

#[test]
fn a_step_names_the_flagged_row_that_it_uses_and_no_other() {
    let slow = sets::H100.with_scaled(&[(o_proj(), 3.0)]);
    let deployment = llama(&slow);
    let [corrected] = &Corrected::all(&deployment)[..] else {
        panic!("other rows, too");
    };
    assert_eq!(corrected.flagged.rows[0].0.kernel, o_proj());
    let parts = |requests| {
        let decode = [DecodeGroup::uniform(requests, 100).unwrap()];
        let batch = StepBatch { prefill: &[], decode: &decode };
        corrected.changed_parts(&deployment, &batch)
    };
    // The QKV projection is blended from this one and its neighbours.
    let [(Part::Qkv, _), (Part::OProj, change)] = parts(512)[..] else {
        panic!("{:?}", parts(512));
    };
    assert!((-0.8..-0.5).contains(&change), "{change}");
    assert!(parts(64).is_empty());
}

#[test]
fn tables_without_a_flagged_row_of_a_deployment_correct_nothing() {
    assert!(Corrected::all(&llama(&sets::H100)).is_empty());
}
