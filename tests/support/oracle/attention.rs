//! Prefill and decode attention.

use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::table::{Class, Provenance};

use super::{Answer, at_best, axis, neighbours, weight_bytes};
use crate::support::tables::{Row, Tables, cold_read_share};

/// (q_heads, kv_heads) of one rank.
fn local(q_heads: u32, kv_heads: u32, tp: u32) -> (f64, f64) {
    (f64::from((q_heads / tp).max(1)), f64::from((kv_heads / tp).max(1)))
}

/// Finds the measured shape that answers: the shape itself, the shape of one rank, or the nearest, first among those
/// with query heads that share KV heads or not, as `asked`, where kernels differ by that.
fn matching(rows: &[Row<AttentionShape>], asked: AttentionShape, grouped_split: bool) -> AttentionShape {
    let on_rank = |shape: AttentionShape| local(shape.q_heads, shape.kv_heads, shape.tp);
    let (local_q, local_kv) = on_rank(asked);
    let one_rank = AttentionShape { q_heads: local_q as u32, kv_heads: local_kv as u32, tp: 1, ..asked };
    for wanted in [asked, one_rank] {
        if rows.iter().any(|row| row.shape == wanted) {
            return wanted;
        }
    }
    let mut shapes: Vec<AttentionShape> = rows
        .iter()
        .map(|row| row.shape)
        .filter(|shape| (shape.dtype, shape.kv_dtype) == (asked.dtype, asked.kv_dtype))
        .collect();
    shapes.sort_unstable();
    let distance = |shape: AttentionShape| {
        let (q, kv) = on_rank(shape);
        let is_other_kernel = grouped_split && (q > kv) != (local_q > local_kv);
        [
            (f64::from(shape.head_dim).ln() - f64::from(asked.head_dim).ln()).abs(),
            if is_other_kernel { 1.0 } else { 0.0 },
            (kv.ln() - local_kv.ln()).abs(),
            (q.ln() - local_q.ln()).abs(),
        ]
    };
    let mut best = shapes[0];
    for candidate in shapes {
        if distance(candidate) < distance(best) {
            best = candidate;
        }
    }
    best
}

/// The four measured shapes with the most similar heads, with their shares.
fn nearest_four(rows: &[Row<AttentionShape>], asked: AttentionShape) -> Vec<(AttentionShape, f64)> {
    let (asked_q, asked_kv) = local(asked.q_heads, asked.kv_heads, asked.tp);
    let distance = |other: &AttentionShape| {
        let (q, kv) = local(other.q_heads, other.kv_heads, other.tp);
        let square = |a: f64, b: f64| (a / b).ln() * (a / b).ln();
        (square(kv, asked_kv) + square(q, asked_q)).max(1e-12)
    };
    let kind = |shape: &AttentionShape| (shape.dtype, shape.kv_dtype, shape.head_dim);
    let same = |shape: &AttentionShape| kind(shape) == kind(&asked);
    let shapes = rows.iter().map(|row| row.shape).filter(same);
    let mut shapes: Vec<AttentionShape> = shapes.collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    shapes.truncate(4);
    let total: f64 = shapes.iter().map(|other| 1.0 / distance(other)).sum();
    let share = |other: AttentionShape| (other, 1.0 / distance(&other) / total);
    shapes.into_iter().map(share).collect()
}

/// Returns whether both shapes are equal on one rank.
fn same_on_a_rank(matched: AttentionShape, asked: AttentionShape) -> bool {
    local(matched.q_heads, matched.kv_heads, matched.tp) == local(asked.q_heads, asked.kv_heads, asked.tp)
        && matched.head_dim == asked.head_dim
}

struct GridAnswer {
    ln_slowdown: f64,
    provenance: Provenance,
    /// Latency, if both coordinates are those of a row.
    row_s: Option<f64>,
    below: bool,
    shortest: f64,
}

/// Bilinear in logarithms over (batch, length). A hole has the slowdown between those of the next batches that were
/// measured at the same length.
fn grid(
    rows: &[Row<AttentionShape>],
    matched: AttentionShape,
    batch: f64,
    length: f64,
    ln_slowdown: impl Fn(&Row<AttentionShape>) -> f64,
) -> GridAnswer {
    let of_shape = || rows.iter().filter(move |row| row.shape == matched);
    let batches = axis(of_shape().map(|row| row.amount));
    let lengths = axis(of_shape().map(|row| row.length));
    let cell = |b: f64, l: f64| of_shape().find(|row| f64::from(row.amount) == b && f64::from(row.length) == l);
    let (b_lo, b_hi, b_share, b_place) = neighbours(&batches, batch);
    let (l_lo, l_hi, l_share, l_place) = neighbours(&lengths, length);
    let mut holes = false;
    let mut value = |b: f64, l: f64| {
        if let Some(row) = cell(b, l) {
            return ln_slowdown(row);
        }
        holes = true;
        let smaller = batches.iter().rev().filter(|&&other| other < b);
        let larger = batches.iter().filter(|&&other| other > b);
        let smaller = smaller.copied().find_map(|other| cell(other, l));
        let larger = larger.copied().find_map(|other| cell(other, l));
        let (Some(low), Some(high)) = (smaller, larger) else {
            return ln_slowdown(smaller.or(larger).unwrap());
        };
        let share = (b / f64::from(low.amount)).ln() / f64::from(high.amount / low.amount).ln();
        (1.0 - share) * ln_slowdown(low) + share * ln_slowdown(high)
    };
    let low = (1.0 - l_share) * value(b_lo, l_lo) + l_share * value(b_lo, l_hi);
    let high = (1.0 - l_share) * value(b_hi, l_lo) + l_share * value(b_hi, l_hi);
    let ln_slowdown = (1.0 - b_share) * low + b_share * high;
    let mut provenance = b_place.worst(l_place);
    if holes {
        provenance = provenance.worst(Class::Interpolated.outside());
    }
    GridAnswer {
        ln_slowdown,
        provenance,
        row_s: cell(batch, length).map(|row| row.us * 1e-6),
        below: length < lengths[0],
        shortest: lengths[0],
    }
}

/// A chunk of prompt: new tokens after cached ones.
pub(crate) type Chunk = (u32, u32);

/// FLOPs and bytes of prefill attention on one rank.
pub(crate) fn prefill_work(shape: AttentionShape, chunks: &[Chunk]) -> (f64, f64) {
    let (q, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let head_dim = f64::from(shape.head_dim);
    let mut flops = 0.0;
    let mut bytes = 0.0;
    for &(new, context) in chunks {
        let (n, c) = (f64::from(new), f64::from(context));
        flops += 4.0 * q * head_dim * n * (c + n / 2.0);
        bytes += 2.0 * n * q * head_dim * 2.0;
        bytes += 2.0 * n * kv * head_dim * 2.0;
        bytes += 2.0 * c * kv * head_dim * weight_bytes(shape.kv_dtype);
    }
    (flops, bytes)
}

/// Reference time of equal whole prompts.
fn prefill_reference(tables: &Tables, shape: AttentionShape, batch: f64, length: f64) -> f64 {
    let (q, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let head_dim = f64::from(shape.head_dim);
    let flops = 2.0 * q * head_dim * batch * length * length;
    let cached = 8.0 * kv * tables.hot_read("prefill");
    let bytes = batch * length * head_dim * (4.0 * q + 4.0 * kv + cached);
    let peak = tables.peak(shape.dtype);
    let blocks = batch * (kv + q * length / 128.0);
    let waves = blocks / tables.gpu.sms * tables.wave("prefill");
    let busy = flops / peak + bytes / tables.gpu.bandwidth + waves;
    // 128 queries against the whole prompt on one of the SMs.
    let critical = 4.0 * 128.0 * head_dim * length / (peak / tables.gpu.sms);
    tables.t0("prefill") + busy.hypot(critical)
}

/// Answers for non-empty chunks that run in one kernel.
pub(crate) fn prefill(tables: &Tables, shape: AttentionShape, chunks: &[Chunk]) -> Answer {
    // Lengths of whole prompts with equal FLOPs, and their mean weighted by FLOPs.
    let lengths: Vec<f64> =
        chunks.iter().map(|&(n, c)| (f64::from(n) * (f64::from(n) + 2.0 * f64::from(c))).sqrt()).collect();
    let squares: f64 = lengths.iter().map(|length| length * length).sum();
    let cubes: f64 = lengths.iter().map(|length| length * length * length).sum();
    let uniform = chunks.iter().all(|&chunk| chunk == (chunks[0].0, 0));
    let (batch, length) = if uniform {
        (chunks.len() as f64, f64::from(chunks[0].0))
    } else {
        let length = cubes / squares;
        let batch = (squares / (length * length)).max(1.0);
        // Equal chunks are a whole number of prompts; sums of integers show no smaller difference.
        let whole = batch.round();
        let equal = (batch - whole).abs() <= 1e-6 * whole;
        (if equal { whole } else { batch }, length)
    };
    // Rows have the K and V just computed, in 16 bits; context is read as stored.
    let in_16_bits = AttentionShape { kv_dtype: Dtype::Bf16, ..shape };
    let matched = matching(&tables.prefill, in_16_bits, false);
    let of_shape = |shape| {
        grid(&tables.prefill, shape, batch, length, |row| {
            let (batch, length) = (f64::from(row.amount), f64::from(row.length));
            (row.us * 1e-6 / prefill_reference(tables, row.shape, batch, length)).ln()
        })
    };
    let mut found = of_shape(matched);
    if !same_on_a_rank(matched, shape) {
        found.ln_slowdown = 0.0;
        let like = AttentionShape { head_dim: matched.head_dim, ..in_16_bits };
        for (other, share) in nearest_four(&tables.prefill, like) {
            let of_other = of_shape(other);
            found.ln_slowdown += share * of_other.ln_slowdown;
            found.provenance = found.provenance.worst(of_other.provenance);
        }
    }
    let slowdown = found.ln_slowdown.exp();
    let held = |length: f64| prefill_reference(tables, shape, batch, length) * slowdown;
    let mut seconds = held(length);
    if found.below {
        // Time above the floor falls with the length to the power of 1.3.
        let edge = held(found.shortest);
        let floor = tables.floor("prefill", &tables.prefill).min(edge);
        seconds = floor + (edge - floor) * (length / found.shortest).powf(1.3);
    }
    // The bytes beyond those of equal prompts with as many FLOPs move at a share of the bandwidth.
    let (q, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let whole = batch * length * f64::from(shape.head_dim) * (4.0 * q + 4.0 * kv);
    let more = prefill_work(shape, chunks).1 - whole;
    if !uniform {
        seconds += more.max(0.0) / tables.gpu.bandwidth / cold_read_share();
    }
    let exact = same_on_a_rank(matched, shape);
    let mut provenance = found.provenance;
    if !exact || !uniform || matched.kv_dtype != shape.kv_dtype {
        provenance = at_best(provenance, Class::Transferred);
    }
    if let Some(row_s) = found.row_s.filter(|_| exact && uniform) {
        seconds = row_s;
    }
    let at_peak = prefill_work(shape, chunks).0 / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}

/// FLOPs and bytes of decode attention on one rank.
pub(crate) fn decode_work(shape: AttentionShape, requests: f64, kv_tokens: f64) -> (f64, f64) {
    let (q, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let head_dim = f64::from(shape.head_dim);
    let flops = 4.0 * q * head_dim * kv_tokens;
    let kv_bytes = 2.0 * kv * head_dim * weight_bytes(shape.kv_dtype) * kv_tokens;
    (flops, kv_bytes + 2.0 * requests * q * head_dim * 2.0)
}

/// Time of the waves of one thread block per request and KV head over the SMs.
fn decode_waves(tables: &Tables, shape: AttentionShape, requests: f64) -> f64 {
    let (_, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    tables.wave("decode") * requests * kv / tables.gpu.sms
}

fn decode_reference(tables: &Tables, shape: AttentionShape, requests: f64, kv_tokens: f64) -> f64 {
    let (_, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let kv_bytes = 2.0 * kv * f64::from(shape.head_dim) * weight_bytes(shape.kv_dtype) * kv_tokens;
    // Up to 70 % of the L2 cache all KV entries are read from it, above 105 % none.
    let cold = ((kv_bytes / tables.gpu.l2 - 0.70) / 0.35).clamp(0.0, 1.0);
    let read = cold + (1.0 - cold) * tables.hot_read("decode");
    let (_, bytes) = decode_work(shape, requests, kv_tokens);
    let traffic = bytes / tables.gpu.bandwidth * read;
    tables.t0("decode") + traffic + decode_waves(tables, shape, requests)
}

pub(crate) fn decode(tables: &Tables, shape: AttentionShape, requests: u32, kv_tokens: u64) -> Answer {
    let requests = f64::from(requests.max(1));
    let kv_tokens = (kv_tokens as f64).max(requests);
    let length = kv_tokens / requests;
    let matched = matching(&tables.decode, shape, tables.grouped_split());
    let [kv_heads, measured] = [shape, matched].map(|s| local(s.q_heads, s.kv_heads, s.tp).1);
    let rows_of = (requests * kv_heads / measured).max(1.0);
    let found = grid(&tables.decode, matched, rows_of, length, |row| {
        let batch = f64::from(row.amount);
        let kv_tokens = batch * f64::from(row.length);
        let reference = decode_reference(tables, row.shape, batch, kv_tokens);
        (row.us * 1e-6 / reference).ln()
    });
    let slowdown = found.ln_slowdown.exp();
    let held = |tokens: f64| decode_reference(tables, shape, requests, tokens) * slowdown;
    let mut seconds = held(kv_tokens);
    if found.below {
        let edge_tokens = requests * found.shortest;
        let edge = held(edge_tokens);
        let smallest = tables.floor("decode", &tables.decode);
        let floor = (smallest + decode_waves(tables, shape, requests)).min(edge);
        let ratio = decode_work(shape, requests, kv_tokens).1 / decode_work(shape, requests, edge_tokens).1;
        seconds = (seconds * (floor + (edge - floor) * ratio)).sqrt().min(edge);
    }
    let mut provenance = found.provenance;
    if !same_on_a_rank(matched, shape) {
        provenance = at_best(provenance, Class::Transferred);
    } else if let Some(row_s) = found.row_s {
        seconds = row_s;
    }
    let at_peak = decode_work(shape, requests, kv_tokens).0 / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}
