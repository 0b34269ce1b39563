//! Decode attention inside a step, where the KV cache is cold.

use rooflut::hardware::AttentionShape;
use rooflut::table::{Class, Extent, Provenance};

use super::attention::{key, matching, same_on_a_rank};
use super::{Answer, axis, decode_work, weight_bytes};
use crate::support::tables::{AttentionRow, Tables};

/// Returns the time of the smallest call plus that of all bytes, at the rate at which the matched grid
/// reads KV caches much larger than the L2 cache.
pub(crate) fn step_decode(
    tables: &Tables,
    cold_kv: f64,
    shape: AttentionShape,
    (requests, kv_tokens): (u64, u64),
) -> Answer {
    let (requests, kv_tokens) = (requests as f64, kv_tokens.max(requests) as f64);
    let matched = matching(&tables.decode, shape);
    let rows = || tables.decode.iter().filter(|row| key(row) == matched);
    let floor = tables.floor("decode", &tables.decode);
    let mut reads: Vec<f64> = rows()
        .filter_map(|row| s_per_byte_if_cold(tables, row, floor, cold_kv))
        .collect();
    reads.sort_by(f64::total_cmp);
    let sheet = 1.0 / tables.gpu.bandwidth;
    let read = match reads.get(reads.len() / 2) {
        Some(median) => median.max(sheet),
        None => sheet / 0.88,
    };
    let (flops, bytes) = decode_work(shape, requests, kv_tokens);
    let within = |values: Vec<f64>, x: f64| {
        values.iter().any(|&value| value <= x) && values.iter().any(|&value| value >= x)
    };
    let inside = within(axis(rows().map(|row| row.batch)), requests)
        && within(axis(rows().map(|row| row.length)), kv_tokens / requests);
    let extent = if inside {
        Extent::Inside
    } else {
        Extent::Outside
    };
    let class = if same_on_a_rank(matched, shape) {
        Class::Smoothed
    } else {
        Class::Transferred
    };
    Answer::new(
        floor + bytes * read,
        Provenance::new(class, extent),
        flops / tables.peak(shape.dtype),
    )
}

/// Returns the seconds per byte of a row, less the smallest call, if its KV entries fill more than
/// `cold_kv` L2 caches.
fn s_per_byte_if_cold(
    tables: &Tables,
    row: &AttentionRow,
    floor: f64,
    cold_kv: f64,
) -> Option<f64> {
    let shape = AttentionShape {
        dtype: row.dtype,
        kv_dtype: row.kv_dtype,
        q_heads: row.q_heads,
        kv_heads: row.kv_heads,
        head_dim: row.head_dim,
        tp: row.tp,
    };
    let requests = f64::from(row.batch);
    let kv_tokens = requests * f64::from(row.length);
    let kv_heads = f64::from((row.kv_heads / row.tp).max(1));
    let kv_bytes =
        kv_tokens * 2.0 * kv_heads * f64::from(row.head_dim) * weight_bytes(row.kv_dtype);
    let (_, bytes) = decode_work(shape, requests, kv_tokens);
    (kv_bytes > cold_kv * tables.gpu.l2).then(|| (row.us * 1e-6 - floor) / bytes)
}
