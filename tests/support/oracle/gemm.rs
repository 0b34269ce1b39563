//! Dense matrix multiplication.

use rooflut::engine::StepConstants;
use rooflut::hardware::{Dtype, GemmShape};
use rooflut::table::{Class, Extent, Provenance};

use super::{Answer, activation_bytes, at_best, axis, neighbours, weight_bytes};
use crate::support::tables::{Row, Tables};

pub(super) fn gemm_flops(shape: GemmShape, m: f64) -> f64 {
    2.0 * m * f64::from(shape.k) * f64::from(shape.n)
}

pub(super) fn gemm_bytes(shape: GemmShape, m: f64) -> f64 {
    let (k, n) = (f64::from(shape.k), f64::from(shape.n));
    m * k * activation_bytes(shape.dtype) + k * n * weight_bytes(shape.dtype) + 2.0 * m * n
}

fn gemm_reference(tables: &Tables, shape: GemmShape, m: f64) -> f64 {
    let bytes = gemm_bytes(shape, m);
    let rows = tiles(shape.dtype, m).map_or(m, |tiles| tiles * 256.0);
    let compute = gemm_flops(shape, rows) / tables.peak(shape.dtype);
    tables.t0("gemm") + compute.max(bytes / tables.gpu.bandwidth)
}

/// The whole tiles of 256 rows that per-tensor fp8 computes, if more than one.
pub(crate) fn tiles(dtype: Dtype, m: f64) -> Option<f64> {
    (dtype == Dtype::Fp8 && m > 256.0).then(|| (m / 256.0).ceil())
}

/// Logarithm of the slowdown of a measured (k, n) at any m.
fn gemm_ln_slowdown(tables: &Tables, shape: GemmShape, m: f64) -> (f64, Provenance) {
    let of_shape = |row: &&Row<GemmShape>| row.shape == shape;
    let ln_slowdown = |m: f64| {
        let row = tables.gemm.iter().filter(of_shape).find(|row| f64::from(row.amount) == m);
        (row.unwrap().us * 1e-6 / gemm_reference(tables, shape, m)).ln()
    };
    let axis = axis(tables.gemm.iter().filter(of_shape).map(|row| row.amount));
    let (lower, upper, share, provenance) = neighbours(&axis, m);
    let mean = (1.0 - share) * ln_slowdown(lower) + share * ln_slowdown(upper);
    (mean, provenance)
}

/// Requires that every dtype of the set covers a full rectangle of (k, n), as the built-in ones do.
pub(crate) fn gemm(tables: &Tables, shape: GemmShape, m: u32) -> Answer {
    let m = f64::from(m.max(1));
    let same = || tables.gemm.iter().filter(|row| row.shape.dtype == shape.dtype);
    let at_peak = gemm_flops(shape, m) / tables.peak(shape.dtype);
    let exact = same().find(|row| row.shape == shape && f64::from(row.amount) == m);
    if let Some(row) = exact {
        return Answer::new(row.us * 1e-6, Class::Measured.inside(), at_peak);
    }
    let (ln_slowdown, provenance) = blended_ln_slowdown(tables, shape, m);
    Answer::new(gemm_reference(tables, shape, m) * ln_slowdown.exp(), provenance, at_peak)
}

/// Logarithm of the slowdown of any (k, n) at any m: bilinear between the surrounding measured pairs; outside
/// their rectangle the slowdown of the nearest pair.
fn blended_ln_slowdown(tables: &Tables, shape: GemmShape, m: f64) -> (f64, Provenance) {
    let same = || tables.gemm.iter().filter(|row| row.shape.dtype == shape.dtype);
    let (k_lo, k_hi, k_share, k_place) = neighbours(&axis(same().map(|row| row.shape.k)), f64::from(shape.k));
    let (n_lo, n_hi, n_share, n_place) = neighbours(&axis(same().map(|row| row.shape.n)), f64::from(shape.n));
    let corner = |k: f64, n: f64| {
        let corner = GemmShape { k: k as u32, n: n as u32, ..shape };
        gemm_ln_slowdown(tables, corner, m)
    };
    let corners = [
        (k_lo, n_lo, (1.0 - k_share) * (1.0 - n_share)),
        (k_lo, n_hi, (1.0 - k_share) * n_share),
        (k_hi, n_lo, k_share * (1.0 - n_share)),
        (k_hi, n_hi, k_share * n_share),
    ];
    let mut ln_slowdown = 0.0;
    let mut along_m = Class::Measured.inside();
    for (k, n, share) in corners.into_iter().filter(|(.., share)| *share > 0.0) {
        let (of_corner, place) = corner(k, n);
        ln_slowdown += share * of_corner;
        along_m = along_m.worst(place);
    }
    // The extent is along m; k and n are not axes of a curve.
    let pair = match k_place.worst(n_place) {
        pair if pair.extent == Extent::Outside => Class::Transferred,
        pair => pair.class,
    };
    (ln_slowdown, at_best(along_m, pair))
}

/// A GEMM inside a step, with smoothed slowdowns at few rows.
pub(crate) struct StepGemm {
    shape: GemmShape,
    /// Measured m, the smoothed logarithm of the slowdown there and its provenance; empty if the kernel is
    /// chosen by m or nothing is smoothed.
    points: Vec<(f64, f64, Provenance)>,
}

impl StepGemm {
    pub(crate) fn new(tables: &Tables, shape: GemmShape, constants: &StepConstants) -> StepGemm {
        let mut points = Vec::new();
        if !matches!(shape.dtype, Dtype::Fp8 | Dtype::Nvfp4) && constants.smoothed_rows > 0 {
            let same = || tables.gemm.iter().filter(|row| row.shape.dtype == shape.dtype);
            for m in axis(same().map(|row| row.amount)) {
                let (ln_slowdown, provenance) = blended_ln_slowdown(tables, shape, m);
                points.push((m, ln_slowdown, provenance));
            }
        }
        StepGemm { shape, points: smoothed(&points, constants) }
    }

    /// Returns the answer at `m` rows, at least the time of both operands and the output at the bandwidth.
    pub(crate) fn at(&self, tables: &Tables, m: u64) -> Answer {
        let shape = self.shape;
        let (k, n) = (f64::from(shape.k), f64::from(shape.n));
        let rows = m as f64;
        let operands = rows * k * activation_bytes(shape.dtype) + k * n * weight_bytes(shape.dtype);
        let at_bandwidth = (operands + rows * n * 2.0) / tables.gpu.bandwidth;
        let answer =
            if self.points.is_empty() { gemm(tables, shape, m as u32) } else { self.between_points(tables, rows) };
        Answer { seconds: answer.seconds.max(at_bandwidth), ..answer }
    }

    fn between_points(&self, tables: &Tables, m: f64) -> Answer {
        let axis: Vec<f64> = self.points.iter().map(|&(m, ..)| m).collect();
        let (lower, upper, share, place) = neighbours(&axis, m);
        let point = |m: f64| self.points.iter().find(|point| point.0 == m).unwrap();
        let ln_slowdown = (1.0 - share) * point(lower).1 + share * point(upper).1;
        let provenance = place.worst(point(lower).2).worst(point(upper).2);
        Answer::new(
            gemm_reference(tables, self.shape, m) * ln_slowdown.exp(),
            provenance,
            gemm_flops(self.shape, m) / tables.peak(self.shape.dtype),
        )
    }
}

/// Replaces the logarithms at few rows by their mean, weighted by a Gaussian in ln(m).
fn smoothed(points: &[(f64, f64, Provenance)], constants: &StepConstants) -> Vec<(f64, f64, Provenance)> {
    let rows = f64::from(constants.smoothed_rows);
    let few = || points.iter().filter(|&&(m, ..)| m <= rows);
    let smooth = |&(m, ln_slowdown, provenance): &(f64, f64, Provenance)| {
        if m > rows {
            return (m, ln_slowdown, provenance);
        }
        let weight = |other: f64| {
            let apart = (other / m).ln() / constants.smoothing_width;
            (-0.5 * apart * apart).exp()
        };
        let sum: f64 = few().map(|&(other, value, _)| weight(other) * value).sum();
        let weights: f64 = few().map(|&(other, ..)| weight(other)).sum();
        (m, sum / weights, at_best(provenance, Class::Smoothed))
    };
    points.iter().map(smooth).collect()
}
