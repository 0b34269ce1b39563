//! The time of lookups and steps in Rust, with which that from Python is compared.

use std::hint::black_box;
use std::time::Instant;

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use rooflut::hardware::{Dtype, GemmShape};
use rooflut::op::Gemm;
use rooflut::step::{DecodeGroup, LatencyModel, StepBatch};
use rooflut::table::sets;
use rooflut::{Deployment, model};

use crate::border::compute;
use crate::error::error;

/// Returns the shortest time in nanoseconds of a GEMM lookup and of a decode step in Rust; for the tests.
#[pyfunction]
pub(crate) fn _baseline(
    py: Python<'_>,
    m: PyReadonlyArray1<'_, u32>,
    kv_tokens: PyReadonlyArray1<'_, u64>,
    rounds: u32,
) -> PyResult<(f64, f64)> {
    let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 };
    let gemm = Gemm::resolve(&sets::H100, shape).map_err(error)?;
    let llama = model::find("llama-3.1-8b").ok_or_else(|| error("llama-3.1-8b is missing"))?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).build().map_err(error)?;
    let model = deployment.step_model();
    let m = m.to_vec().map_err(error)?;
    let groups = kv_tokens.to_vec().map_err(error)?.into_iter();
    let groups: Result<Vec<DecodeGroup>, _> = groups.map(|kv_tokens| DecodeGroup::from_sum(64, kv_tokens)).collect();
    let groups = groups.map_err(error)?;
    let time_ns = |group: &DecodeGroup| {
        let decode = std::slice::from_ref(group);
        let batch = StepBatch { prefill: &[], decode };
        model.total_time(&batch).to_nanos()
    };
    compute(py, || {
        (
            best_ns(rounds, m.len(), || m.iter().map(|m| gemm.at(*m).time.0).collect::<Vec<f64>>()),
            best_ns(rounds, groups.len(), || groups.iter().map(time_ns).collect::<Vec<u64>>()),
        )
    })
}

fn best_ns<T>(rounds: u32, queries: usize, ask: impl Fn() -> T) -> f64 {
    let time = |_| {
        let start = Instant::now();
        black_box(ask());
        start.elapsed().as_secs_f64()
    };
    let seconds = (0..rounds).map(time).fold(f64::INFINITY, f64::min);
    seconds * 1e9 / queries as f64
}
