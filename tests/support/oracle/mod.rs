//! Naive implementations of every lookup from the documentation: linear scans over the rows of the files,
//! in `f64` with the mathematics of `std`.

mod attention;
mod collective;
mod gemm;
mod moe;
mod step;

pub(crate) use attention::{decode, decode_work, prefill, prefill_work};
pub(crate) use collective::allreduce;
pub(crate) use gemm::{StepGemm, gemm, tiles};
pub(crate) use moe::{expected_bytes, moe, step_moe};
pub(crate) use step::ExpectedSteps;

use rooflut::hardware::Dtype;
use rooflut::table::{Class, Provenance};

/// The expected answer of a lookup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) seconds: f64,
    pub(crate) provenance: Provenance,
    /// Seconds of the FLOPs at the peak.
    pub(crate) at_peak: f64,
}

impl Answer {
    fn new(seconds: f64, provenance: Provenance, at_peak: f64) -> Answer {
        Answer { seconds: seconds.max(at_peak), provenance, at_peak }
    }
}

/// Limits the class of `provenance` to `best`; the extent is unchanged.
fn at_best(provenance: Provenance, best: Class) -> Provenance {
    Provenance::new(provenance.class.max(best), provenance.extent)
}

/// Bytes of a stored weight or KV entry, scales included.
pub(crate) fn weight_bytes(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Bf16 => 2.0,
        Dtype::Fp8 => 1.0,
        Dtype::Fp8Block => 1.0 + 4.0 / 16_384.0,
        Dtype::Nvfp4 | Dtype::Int4 => 0.5625,
        Dtype::Mxfp4 | Dtype::Mxfp4Mxfp8 => 0.53125,
        other => panic!("{other}"),
    }
}

/// Bytes of an activation that enters a GEMM, scales included.
pub(crate) fn activation_bytes(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Fp8Block => 1.0 + 4.0 / 128.0,
        Dtype::Mxfp4 | Dtype::Int4 => 2.0,
        Dtype::Mxfp4Mxfp8 => 1.0 + 1.0 / 32.0,
        other => weight_bytes(other),
    }
}

/// Returns the neighbours on a sorted axis: (lower, upper, share of upper, place of `x`).
fn neighbours(axis: &[f64], x: f64) -> (f64, f64, f64, Provenance) {
    let (first, last) = (axis[0], axis[axis.len() - 1]);
    if x < first {
        return (first, first, 0.0, Class::Interpolated.outside());
    }
    if x > last {
        return (last, last, 0.0, Class::Interpolated.outside());
    }
    let mut lower = first;
    for &value in axis {
        if value <= x {
            lower = value;
        }
        if value >= x {
            if value <= lower {
                return (value, value, 0.0, Class::Measured.inside());
            }
            let share = (x / lower).ln() / (value / lower).ln();
            return (lower, value, share, Class::Interpolated.inside());
        }
    }
    unreachable!()
}

/// The distinct values in ascending order.
fn axis(values: impl Iterator<Item = u32>) -> Vec<f64> {
    let mut axis: Vec<u32> = values.collect();
    axis.sort_unstable();
    axis.dedup();
    axis.into_iter().map(f64::from).collect()
}
