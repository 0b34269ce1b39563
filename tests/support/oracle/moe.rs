//! Fused mixture-of-experts layers.

use rooflut::engine::StepConstants;
use rooflut::hardware::{Dtype, MoeShape};
use rooflut::table::{Class, Provenance};

use super::{Answer, activation_bytes, at_best, axis, neighbours, weight_bytes};
use crate::support::tables::{Row, Tables};

fn moe_flops(shape: MoeShape, tokens: f64) -> f64 {
    let copies = tokens * f64::from(shape.top_k) / f64::from(shape.ep);
    2.0 * copies * expert_weights(shape)
}

fn expert_weights(shape: MoeShape) -> f64 {
    let width = f64::from(shape.intermediate) / f64::from(shape.tp);
    f64::from(shape.matrices) * f64::from(shape.hidden) * width
}

/// Bytes of activations and of the experts reached on average.
pub(crate) fn expected_bytes(shape: MoeShape, tokens: f64) -> f64 {
    let (experts, top_k) = (f64::from(shape.experts), f64::from(shape.top_k));
    let reached = (experts * (1.0 - (1.0 - top_k / experts).powf(tokens))).max(top_k);
    bytes_reading(shape, tokens, reached)
}

/// Bytes of activations and of `reached` experts.
fn bytes_reading(shape: MoeShape, tokens: f64, reached: f64) -> f64 {
    let weights = reached * expert_weights(shape) * weight_bytes(shape.dtype);
    weights + tokens * f64::from(shape.hidden) * (activation_bytes(shape.dtype) + 2.0)
}

/// Experts that have tokens if their loads are log-uniform on a range, scaled and rounded.
fn reached_by_skewed_routing(shape: MoeShape, tokens: f64) -> f64 {
    let experts = f64::from(shape.experts);
    let loads = tokens * f64::from(shape.top_k);
    // From 0 at one load per expert to 1 at two.
    let many = (loads / experts).log2().clamp(0.0, 1.0);
    let low = 0.01_f64.powf(1.0 - many);
    let high = 2.0_f64.powf(1.0 - many) * (0.8 * tokens).powf(many);
    let range = (high / low).ln();
    let mean = (high - low) / range;
    let scale = loads / experts / mean;
    if scale * high < 1.5 {
        return loads;
    }
    let zeros = ((0.5 / (scale * low)).ln() / range).max(0.0);
    // Loads below a half lose what they have; rounding adds this much to the others.
    let added = (1.0 - 2.0_f64.ln()) / 2.0;
    let rest = (0.5 - scale * low - added).max(0.0) / range;
    (experts * (1.0 - zeros + rest)).min(experts).min(loads)
}

/// Experts reached on average if the r-th most popular one is chosen in proportion to r^-exponent; neighbours count
/// with their mean: 1, 1, 2, 4, ... experts.
fn reached(shape: MoeShape, exponent: f64, tokens: f64) -> f64 {
    let ranks: Vec<u32> = (1..=shape.experts).collect();
    let weight = |ranks: &[u32]| -> f64 { ranks.iter().map(|&r| f64::from(r).powf(-exponent)).sum() };
    let top_k = f64::from(shape.top_k);
    let mut reached = 0.0;
    let mut rest = ranks.as_slice();
    while !rest.is_empty() {
        let before = ranks.len() - rest.len();
        let (group, after) = rest.split_at(before.max(1).min(rest.len()));
        let members = group.len() as f64;
        let chosen = (top_k * weight(group) / weight(&ranks) / members).min(1.0);
        reached += members * (1.0 - (1.0 - chosen).powf(tokens));
        rest = after;
    }
    reached.max(top_k)
}

fn moe_reference(tables: &Tables, shape: MoeShape, tokens: f64) -> f64 {
    let compute = moe_flops(shape, tokens) / tables.peak(shape.dtype);
    let hidden = f64::from(shape.hidden);
    let width = f64::from(shape.intermediate) / f64::from(shape.tp);
    let ranks = f64::from(shape.ep);
    let reached = reached_by_skewed_routing(shape, tokens) / ranks;
    let weights = reached * expert_weights(shape) * weight_bytes(shape.dtype);
    // Input and output of every copy of a token; on the rank of the expert what each matrix but the last has written,
    // and their product. All are written and read.
    let inside = 2.0 * width * f64::from(shape.matrices - 1) + 2.0 * width;
    let floats = tokens * f64::from(shape.top_k) * (3.0 * hidden + inside / ranks);
    // The benchmark finds weights that fit into the L2 cache there.
    let cold = ((weights / tables.gpu.l2 - 0.70) / 0.35).clamp(0.0, 1.0);
    let read = cold + (1.0 - cold) * tables.hot_read("moe");
    tables.t0("moe") + compute + (weights * read + 2.0 * floats) / tables.gpu.bandwidth
}

/// The layer itself, or the four nearest measured ones, with their shares.
fn matching(tables: &Tables, shape: MoeShape) -> Vec<(MoeShape, f64)> {
    let width = |s: &MoeShape| f64::from(s.intermediate) / f64::from(s.tp);
    let distance = |other: &MoeShape| {
        let square = |a: f64, b: f64| (a / b).ln() * (a / b).ln();
        let aligned = |s: &MoeShape| width(s) % 16.0 == 0.0;
        let mut sum = square(f64::from(other.experts), f64::from(shape.experts))
            + square(f64::from(other.top_k), f64::from(shape.top_k))
            + square(f64::from(other.hidden), f64::from(shape.hidden))
            + square(width(other), width(&shape))
            + square(f64::from(other.ep), f64::from(shape.ep));
        if other.matrices != shape.matrices {
            sum += 1.9;
        }
        if other.dtype != shape.dtype {
            sum += 1e3;
        }
        let has_blocks = |s: &MoeShape| !matches!(s.dtype, Dtype::Bf16 | Dtype::Fp8);
        if has_blocks(other) != has_blocks(&shape) {
            sum += 1e3;
        }
        if aligned(other) != aligned(&shape) {
            sum += 1e3;
        }
        sum.max(1e-12)
    };
    let mut shapes: Vec<MoeShape> = tables.moe.iter().map(|row| row.shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    if shapes.contains(&shape) {
        return vec![(shape, 1.0)];
    }
    shapes.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    shapes.truncate(4);
    let total: f64 = shapes.iter().map(|other| 1.0 / distance(other)).sum();
    let share = |other: MoeShape| (other, 1.0 / distance(&other) / total);
    shapes.into_iter().map(share).collect()
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

/// An unseen layer has the weighted mean of the slowdowns of measured ones.
pub(crate) fn moe(tables: &Tables, shape: MoeShape, tokens: u32) -> Answer {
    let tokens = f64::from(tokens.max(1));
    let matched = matching(tables, shape);
    let mut ln_slowdown = 0.0;
    let mut provenance = Class::Measured.inside();
    for &(other, share) in &matched {
        let (of_other, place) = moe_ln_slowdown(tables, other, tokens);
        ln_slowdown += share * of_other;
        provenance = provenance.worst(place);
    }
    let mut seconds = moe_reference(tables, shape, tokens) * ln_slowdown.exp();
    let row = |row: &&Row<MoeShape>| row.shape == shape && f64::from(row.amount) == tokens;
    if matched[0].0 != shape {
        provenance = at_best(provenance, Class::Transferred);
    } else if let Some(row) = tables.moe.iter().find(row) {
        seconds = row.us * 1e-6;
    }
    let at_peak = moe_flops(shape, tokens) / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}

/// Returns the time of experts inside a step, and the seconds of it that no table gives. The time is
/// launches plus the reads of the experts reached on average, at a share of the bandwidth. If the table
/// takes longer, the difference is added in proportion to the time of math over the time of the reads, all of it
/// where experts have a scale per block.
pub(crate) fn step_moe(tables: &Tables, shape: MoeShape, tokens: u64, constants: &StepConstants) -> (Answer, f64) {
    let mut table = moe(tables, shape, tokens as u32);
    table.seconds *= match shape.dtype {
        Dtype::Mxfp4Mxfp8 => constants.tuned_experts,
        Dtype::Fp8Block if tokens > constants.cuda_graph_max_tokens.into() => constants.blackwell_fp8_block_experts,
        _ => 1.0,
    };
    let mut reached = reached(shape, constants.routing, tokens as f64);
    if shape.dtype == Dtype::Fp8Block {
        let unreached = f64::from(shape.experts) / f64::from(shape.ep) - reached;
        reached += constants.fp8_block_unreached_experts * unreached.max(0.0);
    }
    let at_bandwidth = bytes_reading(shape, tokens as f64, reached) / tables.gpu.bandwidth;
    let bandwidth = match shape.dtype {
        Dtype::Fp8Block => constants.fp8_block_expert_bandwidth,
        _ => constants.expert_bandwidth,
    };
    let launches_s = if shape.dtype == Dtype::Mxfp4Mxfp8 { 0.0 } else { constants.moe_layer.0 };
    let reads = launches_s + at_bandwidth / bandwidth;
    let table_share = match shape.dtype {
        Dtype::Bf16 | Dtype::Fp8 => (table.at_peak / at_bandwidth).min(1.0),
        _ => 1.0,
    };
    let longer = (table.seconds - reads).max(0.0);
    let fitted_s = if longer > 0.0 { reads * (1.0 - table_share) } else { reads };
    let seconds = reads + longer * table_share;
    let answer = Answer::new(seconds, table.provenance, table.at_peak);
    (answer, fitted_s)
}
