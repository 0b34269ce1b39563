//! Fused mixture-of-experts layers.

use rooflut::engine::StepConstants;
use rooflut::hardware::MoeShape;
use rooflut::table::{Class, Provenance};

use super::{Answer, activation_bytes, at_best, axis, neighbours, weight_bytes};
use crate::support::tables::{Row, Tables};

fn moe_flops(shape: MoeShape, tokens: f64) -> f64 {
    let width = f64::from(shape.intermediate) / f64::from(shape.tp);
    2.0 * tokens * f64::from(shape.top_k) * 3.0 * f64::from(shape.hidden) * width
}

/// Bytes of activations and of the experts reached on average.
pub(crate) fn expected_bytes(shape: MoeShape, tokens: f64) -> f64 {
    let (experts, top_k) = (f64::from(shape.experts), f64::from(shape.top_k));
    let width = f64::from(shape.intermediate) / f64::from(shape.tp);
    let reached = (experts * (1.0 - (1.0 - top_k / experts).powf(tokens))).max(top_k);
    let weights = reached * 3.0 * f64::from(shape.hidden) * width * weight_bytes(shape.dtype);
    weights + tokens * f64::from(shape.hidden) * (activation_bytes(shape.dtype) + 2.0)
}

fn moe_reference(tables: &Tables, shape: MoeShape, tokens: f64) -> f64 {
    let compute = moe_flops(shape, tokens) / tables.peak(shape.dtype);
    tables.t0("moe") + compute + expected_bytes(shape, tokens) / tables.gpu.bandwidth
}

/// The layer itself, or the nearest measured one.
fn matching(tables: &Tables, shape: MoeShape) -> MoeShape {
    let distance = |other: &MoeShape| {
        let square = |a: f64, b: f64| (a / b).ln() * (a / b).ln();
        let width = |s: &MoeShape| f64::from(s.intermediate) / f64::from(s.tp);
        square(f64::from(other.experts), f64::from(shape.experts))
            + square(f64::from(other.top_k), f64::from(shape.top_k))
            + square(f64::from(other.hidden), f64::from(shape.hidden))
            + square(width(other), width(&shape))
    };
    let mut shapes: Vec<MoeShape> = tables.moe.iter().map(|row| row.shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let any_of_dtype = shapes.iter().any(|other| other.dtype == shape.dtype);
    shapes.retain(|other| !any_of_dtype || other.dtype == shape.dtype);
    let mut matched = shapes[0];
    for other in shapes {
        if other == shape || (matched != shape && distance(&other) < distance(&matched)) {
            matched = other;
        }
    }
    matched
}

/// Logarithm of the slowdown of a measured layer at any number of tokens.
fn moe_ln_slowdown(tables: &Tables, matched: MoeShape, tokens: f64) -> (f64, Provenance) {
    let of_shape = || tables.moe.iter().filter(|row| row.shape == matched);
    let ln_slowdown = |tokens: f64| {
        let row = of_shape().find(|row| f64::from(row.amount) == tokens);
        (row.unwrap().us * 1e-6 / moe_reference(tables, matched, tokens)).ln()
    };
    let (lower, upper, share, place) = neighbours(&axis(of_shape().map(|row| row.amount)), tokens);
    let mean = (1.0 - share) * ln_slowdown(lower) + share * ln_slowdown(upper);
    (mean, place)
}

/// An unseen layer has the slowdown of the nearest measured one.
pub(crate) fn moe(tables: &Tables, shape: MoeShape, tokens: u32) -> Answer {
    let tokens = f64::from(tokens.max(1));
    let matched = matching(tables, shape);
    let (ln_slowdown, mut provenance) = moe_ln_slowdown(tables, matched, tokens);
    let mut seconds = moe_reference(tables, shape, tokens) * ln_slowdown.exp();
    let row = |row: &&Row<MoeShape>| row.shape == shape && f64::from(row.amount) == tokens;
    if matched != shape {
        provenance = at_best(provenance, Class::Transferred);
    } else if let Some(row) = tables.moe.iter().find(row) {
        seconds = row.us * 1e-6;
    }
    let at_peak = moe_flops(shape, tokens) / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}

/// Returns the time of experts inside a step, and the seconds of it that no table gives. The time is
/// launches plus the reads of the experts reached on average, at a share of the bandwidth. If the table
/// takes longer, the difference is added in proportion to the time of math over the time of the reads.
pub(crate) fn step_moe(
    tables: &Tables,
    shape: MoeShape,
    tokens: u64,
    constants: &StepConstants,
) -> (Answer, f64) {
    let table = moe(tables, shape, tokens as u32);
    let at_bandwidth = expected_bytes(shape, tokens as f64) / tables.gpu.bandwidth;
    let reads = constants.moe_layer.0 + at_bandwidth / constants.expert_bandwidth;
    let math_share = (table.at_peak / at_bandwidth).min(1.0);
    let longer = (table.seconds - reads).max(0.0);
    let fitted_s = if longer > 0.0 {
        reads * (1.0 - math_share)
    } else {
        reads
    };
    let seconds = reads + longer * math_share;
    let answer = Answer::new(seconds, table.provenance, table.at_peak);
    (answer, fitted_s)
}
