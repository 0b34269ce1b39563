//! Smoothing of GEMMs with few rows.

use crate::engine::StepConstants;
use crate::hardware::operation::MAX_POINTS;
use crate::math::exp;
use crate::op::Gemm;

/// Returns `gemm` with smoothed slowdowns at few rows (tokens): means of the logarithms, weighted by a Gaussian in
/// ln(rows). GEMMs whose kernel depends on the rows are not changed.
///
/// A GEMM of few rows is dominated by reading its weights, so its slowdown varies slowly with the rows; the remaining
/// scatter of single rows differs between collections of measurements (3 % median, 13 % p95). A step is the sum of
/// hundreds of GEMMs with the same scatter.
pub(super) fn smoothed(gemm: Gemm, engine: &StepConstants) -> Gemm {
    if gemm.has_tile_steps() || engine.smoothed_rows == 0 {
        return gemm;
    }
    let curve = gemm.curve();
    let rows = curve.axis().values().iter();
    let few = rows.filter(|&&m| m <= engine.smoothed_rows).count();
    let ln_m = || curve.axis().ln_values().take(few);
    let mut smoothed = [0.0_f32; MAX_POINTS];
    for (slot, own) in smoothed.iter_mut().zip(ln_m()) {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (other, &value) in ln_m().zip(curve.ln_slowdown()) {
            let apart = (other - own) / engine.smoothing_width;
            let weight = exp(-0.5 * apart * apart);
            sum += weight * f64::from(value);
            weights += weight;
        }
        *slot = (sum / weights) as f32;
    }
    gemm.with_summaries(smoothed.get(..few).unwrap_or_default())
}
