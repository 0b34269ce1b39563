//! Every lookup, written out from the documentation in the most naive way: linear scans over the rows
//! of the files, `f64`, the mathematics of `std`.

use rooflut::hardware::{AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::table::Provenance;

use super::tables::{AttentionRow, MoeRow, Tables};

/// What a lookup should answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) seconds: f64,
    pub(crate) provenance: Provenance,
    /// Seconds that the FLOPs take at the peak.
    pub(crate) at_peak: f64,
}

impl Answer {
    fn new(seconds: f64, provenance: Provenance, at_peak: f64) -> Answer {
        Answer {
            seconds: seconds.max(at_peak),
            provenance,
            at_peak,
        }
    }
}

/// Bytes of a stored weight or KV entry, scales included.
pub(crate) fn weight_bytes(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Bf16 => 2.0,
        Dtype::Fp8 => 1.0,
        Dtype::Fp8Block => 1.0 + 4.0 / 16_384.0,
        Dtype::Nvfp4 => 0.5625,
        other => panic!("{other}"),
    }
}

/// Bytes of an activation that enters a GEMM, scales included.
pub(crate) fn activation_bytes(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Fp8Block => 1.0 + 4.0 / 128.0,
        other => weight_bytes(other),
    }
}

/// Neighbours on a sorted axis: (lower, upper, share of upper, where `x` lies).
fn neighbours(axis: &[f64], x: f64) -> (f64, f64, f64, Provenance) {
    let (first, last) = (axis[0], axis[axis.len() - 1]);
    if x < first {
        return (first, first, 0.0, Provenance::Extrapolated);
    }
    if x > last {
        return (last, last, 0.0, Provenance::Extrapolated);
    }
    let mut lower = first;
    for &value in axis {
        if value <= x {
            lower = value;
        }
        if value >= x {
            if value <= lower {
                return (value, value, 0.0, Provenance::Measured);
            }
            let share = (x / lower).ln() / (value / lower).ln();
            return (lower, value, share, Provenance::Interpolated);
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

fn gemm_flops(shape: GemmShape, m: f64) -> f64 {
    2.0 * m * f64::from(shape.k) * f64::from(shape.n)
}

fn gemm_reference(tables: &Tables, shape: GemmShape, m: f64) -> f64 {
    let (k, n) = (f64::from(shape.k), f64::from(shape.n));
    let bytes =
        m * k * activation_bytes(shape.dtype) + k * n * weight_bytes(shape.dtype) + 2.0 * m * n;
    let compute = gemm_flops(shape, m) / tables.peak(shape.dtype);
    tables.t0("gemm") + compute.max(bytes / tables.gpu.bandwidth)
}

/// Kernels of per-tensor fp8 and nvfp4 change at m = 64 and 128.
pub(crate) fn tile_class(dtype: Dtype, m: f64) -> u32 {
    match dtype {
        Dtype::Fp8 | Dtype::Nvfp4 if m > 128.0 => 2,
        Dtype::Fp8 | Dtype::Nvfp4 if m > 64.0 => 1,
        _ => 0,
    }
}

/// Logarithm of the slowdown of a measured (k, n) at any m.
fn gemm_ln_slowdown(tables: &Tables, shape: GemmShape, m: f64) -> (f64, Provenance) {
    let of_shape = |row: &&super::tables::GemmRow| {
        row.dtype == shape.dtype && row.k == shape.k && row.n == shape.n
    };
    let ln_slowdown = |m: f64| {
        let row = tables
            .gemm
            .iter()
            .filter(of_shape)
            .find(|row| f64::from(row.m) == m);
        (row.unwrap().us * 1e-6 / gemm_reference(tables, shape, m)).ln()
    };
    let axis = axis(tables.gemm.iter().filter(of_shape).map(|row| row.m));
    let (lower, upper, mut share, provenance) = neighbours(&axis, m);
    let own = tile_class(shape.dtype, m);
    if lower < upper {
        let classes = (
            tile_class(shape.dtype, lower),
            tile_class(shape.dtype, upper),
        );
        if classes.0 == own && classes.1 != own {
            share = 0.0;
        } else if classes.0 != own && classes.1 == own {
            share = 1.0;
        }
    }
    let mean = (1.0 - share) * ln_slowdown(lower) + share * ln_slowdown(upper);
    (mean, provenance)
}

/// Requires that every dtype of the set covers a full rectangle of (k, n), as the built-in ones do.
pub(crate) fn gemm(tables: &Tables, shape: GemmShape, m: u32) -> Answer {
    let m = f64::from(m.max(1));
    let same = || tables.gemm.iter().filter(|row| row.dtype == shape.dtype);
    let at_peak = gemm_flops(shape, m) / tables.peak(shape.dtype);
    let exact = same().find(|row| row.k == shape.k && row.n == shape.n && f64::from(row.m) == m);
    if let Some(row) = exact {
        return Answer::new(row.us * 1e-6, Provenance::Measured, at_peak);
    }
    let (k_lo, k_hi, k_share, k_place) =
        neighbours(&axis(same().map(|row| row.k)), f64::from(shape.k));
    let (n_lo, n_hi, n_share, n_place) =
        neighbours(&axis(same().map(|row| row.n)), f64::from(shape.n));
    let corner = |k: f64, n: f64| {
        let corner = GemmShape {
            k: k as u32,
            n: n as u32,
            ..shape
        };
        gemm_ln_slowdown(tables, corner, m)
    };
    let (_, along_m) = corner(k_lo, n_lo);
    let ln_slowdown = (1.0 - k_share) * (1.0 - n_share) * corner(k_lo, n_lo).0
        + (1.0 - k_share) * n_share * corner(k_lo, n_hi).0
        + k_share * (1.0 - n_share) * corner(k_hi, n_lo).0
        + k_share * n_share * corner(k_hi, n_hi).0;
    let pair = match k_place.max(n_place) {
        Provenance::Extrapolated => Provenance::Transferred,
        other => other,
    };
    Answer::new(
        gemm_reference(tables, shape, m) * ln_slowdown.exp(),
        along_m.max(pair),
        at_peak,
    )
}

/// (q_heads, kv_heads) of one rank.
fn local(q_heads: u32, kv_heads: u32, tp: u32) -> (f64, f64) {
    (
        f64::from((q_heads / tp).max(1)),
        f64::from((kv_heads / tp).max(1)),
    )
}

type Key = (Dtype, Dtype, u32, u32, u32, u32);

fn key(row: &AttentionRow) -> Key {
    (
        row.dtype,
        row.kv_dtype,
        row.q_heads,
        row.kv_heads,
        row.head_dim,
        row.tp,
    )
}

/// The measured shape that answers: as asked, as one rank computes it, the nearest.
fn matching(rows: &[AttentionRow], asked: AttentionShape) -> Key {
    let AttentionShape {
        dtype,
        kv_dtype,
        q_heads,
        kv_heads,
        head_dim,
        tp,
    } = asked;
    let (local_q, local_kv) = local(q_heads, kv_heads, tp);
    let as_asked = (dtype, kv_dtype, q_heads, kv_heads, head_dim, tp);
    let one_rank = (
        dtype,
        kv_dtype,
        local_q as u32,
        local_kv as u32,
        head_dim,
        1,
    );
    for wanted in [as_asked, one_rank] {
        if rows.iter().any(|row| key(row) == wanted) {
            return wanted;
        }
    }
    let mut keys: Vec<Key> = rows
        .iter()
        .map(key)
        .filter(|k| k.0 == dtype && k.1 == kv_dtype)
        .collect();
    keys.sort_unstable();
    let distance = |k: &Key| {
        let (q, kv) = local(k.2, k.3, k.5);
        [
            (f64::from(k.4).ln() - f64::from(head_dim).ln()).abs(),
            (kv.ln() - local_kv.ln()).abs(),
            (q.ln() - local_q.ln()).abs(),
        ]
    };
    let mut best = keys[0];
    for candidate in keys {
        if distance(&candidate) < distance(&best) {
            best = candidate;
        }
    }
    best
}

/// Whether the match computes on one rank what was asked for.
fn same_on_a_rank(matched: Key, asked: AttentionShape) -> bool {
    local(matched.2, matched.3, matched.5) == local(asked.q_heads, asked.kv_heads, asked.tp)
        && matched.4 == asked.head_dim
}

struct GridAnswer {
    ln_slowdown: f64,
    provenance: Provenance,
    /// The latency, where both coordinates are those of a row.
    row_s: Option<f64>,
    below: bool,
    shortest: f64,
}

/// Bilinear in logarithms over (batch, length). A hole has the slowdown of the next smaller batch
/// that was measured at the same length.
fn grid(
    rows: &[AttentionRow],
    matched: Key,
    batch: f64,
    length: f64,
    ln_slowdown: impl Fn(&AttentionRow) -> f64,
) -> GridAnswer {
    let of_shape = || rows.iter().filter(move |row| key(row) == matched);
    let batches = axis(of_shape().map(|row| row.batch));
    let lengths = axis(of_shape().map(|row| row.length));
    let cell = |b: f64, l: f64| {
        of_shape().find(|row| f64::from(row.batch) == b && f64::from(row.length) == l)
    };
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
        let stand_in = smaller.chain(larger).find_map(|&other| cell(other, l));
        ln_slowdown(stand_in.unwrap())
    };
    let low = (1.0 - l_share) * value(b_lo, l_lo) + l_share * value(b_lo, l_hi);
    let high = (1.0 - l_share) * value(b_hi, l_lo) + l_share * value(b_hi, l_hi);
    let ln_slowdown = (1.0 - b_share) * low + b_share * high;
    let mut provenance = b_place.max(l_place);
    if holes {
        provenance = provenance.max(Provenance::Extrapolated);
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
        bytes += 2.0 * (c + n) * kv * head_dim * weight_bytes(shape.kv_dtype);
    }
    (flops, bytes)
}

fn prefill_reference(tables: &Tables, shape: AttentionShape, chunks: &[Chunk]) -> f64 {
    let (flops, bytes) = prefill_work(shape, chunks);
    let peak = tables.peak(shape.dtype);
    let busy = flops / peak + bytes / tables.gpu.bandwidth;
    let longest = chunks
        .iter()
        .map(|&(n, c)| f64::from(n) + f64::from(c))
        .fold(0.0, f64::max);
    // 128 queries against the longest prompt on one of the SMs.
    let critical = 4.0 * 128.0 * f64::from(shape.head_dim) * longest / (peak / tables.gpu.sms);
    tables.t0("prefill") + busy.hypot(critical)
}

/// Chunks that run in one kernel; none of them empty.
pub(crate) fn prefill(tables: &Tables, shape: AttentionShape, chunks: &[Chunk]) -> Answer {
    // Whole prompts that do as many FLOPs: their lengths, the mean of these weighted by FLOPs.
    let lengths: Vec<f64> = chunks
        .iter()
        .map(|&(n, c)| (f64::from(n) * (f64::from(n) + 2.0 * f64::from(c))).sqrt())
        .collect();
    let squares: f64 = lengths.iter().map(|length| length * length).sum();
    let cubes: f64 = lengths.iter().map(|length| length * length * length).sum();
    let uniform = chunks.iter().all(|&chunk| chunk == (chunks[0].0, 0));
    let (batch, length) = if uniform {
        (chunks.len() as f64, f64::from(chunks[0].0))
    } else {
        let length = cubes / squares;
        ((squares / (length * length)).max(1.0), length)
    };
    let matched = matching(&tables.prefill, shape);
    let found = grid(&tables.prefill, matched, batch, length, |row| {
        let local = AttentionShape {
            q_heads: row.q_heads,
            kv_heads: row.kv_heads,
            head_dim: row.head_dim,
            tp: row.tp,
            ..shape
        };
        let prompts = vec![(row.length, 0); row.batch as usize];
        (row.us * 1e-6 / prefill_reference(tables, local, &prompts)).ln()
    });
    let slowdown = found.ln_slowdown.exp();
    let mut seconds = prefill_reference(tables, shape, chunks) * slowdown;
    if found.below {
        // Time above the floor falls with the length to the power of 1.3; as a factor on the time with
        // the efficiency held.
        let held = |length: f64| equal_prompts_reference(tables, shape, batch, length) * slowdown;
        let edge = held(found.shortest);
        let floor = tables.floor("prefill", &tables.prefill).min(edge);
        let below = floor + (edge - floor) * (length / found.shortest).powf(1.3);
        seconds *= below / held(length);
    }
    let exact = same_on_a_rank(matched, shape);
    let mut provenance = found.provenance;
    if !exact || !uniform {
        provenance = provenance.max(Provenance::Transferred);
    } else if let Some(row_s) = found.row_s {
        seconds = row_s;
    }
    let at_peak = prefill_work(shape, chunks).0 / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}

/// [`prefill_reference`] of a number of whole prompts that need not be whole.
fn equal_prompts_reference(tables: &Tables, shape: AttentionShape, batch: f64, length: f64) -> f64 {
    let (q, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let head_dim = f64::from(shape.head_dim);
    let peak = tables.peak(shape.dtype);
    let flops = 2.0 * q * head_dim * length * length * batch;
    let bytes = batch * length * head_dim * (4.0 * q + 2.0 * kv * weight_bytes(shape.kv_dtype));
    let busy = flops / peak + bytes / tables.gpu.bandwidth;
    let critical = 4.0 * 128.0 * head_dim * length * tables.gpu.sms / peak;
    tables.t0("prefill") + busy.hypot(critical)
}

/// FLOPs and bytes of decode attention on one rank.
pub(crate) fn decode_work(shape: AttentionShape, requests: f64, kv_tokens: f64) -> (f64, f64) {
    let (q, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let head_dim = f64::from(shape.head_dim);
    let flops = 4.0 * q * head_dim * kv_tokens;
    let kv_bytes = 2.0 * kv * head_dim * weight_bytes(shape.kv_dtype) * kv_tokens;
    (flops, kv_bytes + 2.0 * requests * q * head_dim * 2.0)
}

/// `hot_read`: time of a byte in the L2 cache relative to one in memory.
fn decode_reference(
    tables: &Tables,
    shape: AttentionShape,
    requests: f64,
    kv_tokens: f64,
    hot_read: f64,
) -> f64 {
    let (_, kv) = local(shape.q_heads, shape.kv_heads, shape.tp);
    let kv_bytes = 2.0 * kv * f64::from(shape.head_dim) * weight_bytes(shape.kv_dtype) * kv_tokens;
    // Up to 70 % of the L2 cache all KV entries are found there, above 105 % none.
    let cold = ((kv_bytes / tables.gpu.l2 - 0.70) / 0.35).clamp(0.0, 1.0);
    let read = cold + (1.0 - cold) * hot_read;
    let (_, bytes) = decode_work(shape, requests, kv_tokens);
    tables.t0("decode") + bytes / tables.gpu.bandwidth * read
}

pub(crate) fn decode(
    tables: &Tables,
    shape: AttentionShape,
    requests: u32,
    kv_tokens: u64,
) -> Answer {
    decode_reading(
        tables,
        shape,
        requests,
        kv_tokens,
        tables.hot_read("decode"),
    )
}

/// The same if the kernel finds its KV entries in memory, as in a step.
pub(crate) fn cold_decode(
    tables: &Tables,
    shape: AttentionShape,
    requests: u32,
    kv_tokens: u64,
) -> Answer {
    decode_reading(tables, shape, requests, kv_tokens, 1.0)
}

fn decode_reading(
    tables: &Tables,
    shape: AttentionShape,
    requests: u32,
    kv_tokens: u64,
    hot_read: f64,
) -> Answer {
    let measured_hot_read = tables.hot_read("decode");
    let requests = f64::from(requests.max(1));
    let kv_tokens = (kv_tokens as f64).max(requests);
    let length = kv_tokens / requests;
    let matched = matching(&tables.decode, shape);
    let found = grid(&tables.decode, matched, requests, length, |row| {
        let row_shape = AttentionShape {
            q_heads: row.q_heads,
            kv_heads: row.kv_heads,
            head_dim: row.head_dim,
            tp: row.tp,
            ..shape
        };
        let batch = f64::from(row.batch);
        let kv_tokens = batch * f64::from(row.length);
        let reference = decode_reference(tables, row_shape, batch, kv_tokens, measured_hot_read);
        (row.us * 1e-6 / reference).ln()
    });
    let slowdown = found.ln_slowdown.exp();
    let held = |tokens: f64| decode_reference(tables, shape, requests, tokens, hot_read) * slowdown;
    let mut seconds = held(kv_tokens);
    if found.below {
        let edge_tokens = requests * found.shortest;
        let edge = held(edge_tokens);
        let floor = tables.floor("decode", &tables.decode).min(edge);
        let ratio =
            decode_work(shape, requests, kv_tokens).1 / decode_work(shape, requests, edge_tokens).1;
        seconds = (seconds * (floor + (edge - floor) * ratio))
            .sqrt()
            .min(edge);
    }
    let mut provenance = found.provenance;
    if !same_on_a_rank(matched, shape) {
        provenance = provenance.max(Provenance::Transferred);
    } else if let Some(row_s) = found.row_s
        && hot_read <= measured_hot_read
    {
        seconds = row_s;
    }
    let at_peak = decode_work(shape, requests, kv_tokens).0 / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}

/// A number of ranks between measured ones has the slowdown of the next larger.
pub(crate) fn allreduce(tables: &Tables, ranks: u32, bytes: u64) -> Answer {
    let bytes = (bytes as f64).max(1.0);
    let measured = axis(tables.allreduce.iter().map(|row| row.ranks));
    let matched = measured
        .into_iter()
        .find(|&other| other >= f64::from(ranks))
        .unwrap();
    let of_ranks = || {
        tables
            .allreduce
            .iter()
            .filter(|row| f64::from(row.ranks) == matched)
    };
    let reference = |bytes: f64| tables.t0("allreduce") + bytes / tables.gpu.link;
    let row = |bytes: f64| of_ranks().find(|row| f64::from(row.bytes) == bytes);
    let ln_slowdown = |bytes: f64| (row(bytes).unwrap().us * 1e-6 / reference(bytes)).ln();
    let (lower, upper, share, place) = neighbours(&axis(of_ranks().map(|row| row.bytes)), bytes);
    let ln_slowdown = (1.0 - share) * ln_slowdown(lower) + share * ln_slowdown(upper);
    let seconds = reference(bytes) * ln_slowdown.exp();
    if matched == f64::from(ranks) {
        Answer::new(row(bytes).map_or(seconds, |row| row.us * 1e-6), place, 0.0)
    } else {
        Answer::new(seconds, place.max(Provenance::Transferred), 0.0)
    }
}

fn moe_flops(shape: MoeShape, tokens: f64) -> f64 {
    let width = f64::from(shape.intermediate) / f64::from(shape.tp);
    2.0 * tokens * f64::from(shape.top_k) * 3.0 * f64::from(shape.hidden) * width
}

fn moe_reference(tables: &Tables, shape: MoeShape, tokens: f64) -> f64 {
    let (experts, top_k) = (f64::from(shape.experts), f64::from(shape.top_k));
    let width = f64::from(shape.intermediate) / f64::from(shape.tp);
    let reached = (experts * (1.0 - (1.0 - top_k / experts).powf(tokens))).max(top_k);
    let weights = reached * 3.0 * f64::from(shape.hidden) * width * weight_bytes(shape.dtype);
    let activations = tokens * f64::from(shape.hidden) * (activation_bytes(shape.dtype) + 2.0);
    let compute = moe_flops(shape, tokens) / tables.peak(shape.dtype);
    tables.t0("moe") + compute + (weights + activations) / tables.gpu.bandwidth
}

/// An unseen layer has the slowdown of the nearest measured one.
pub(crate) fn moe(tables: &Tables, shape: MoeShape, tokens: u32) -> Answer {
    let tokens = f64::from(tokens.max(1));
    let row_shape = |row: &MoeRow| MoeShape {
        dtype: row.dtype,
        experts: row.experts,
        top_k: row.top_k,
        hidden: row.hidden,
        intermediate: row.intermediate,
        tp: row.tp,
    };
    let distance = |other: &MoeShape| {
        let square = |a: f64, b: f64| (a / b).ln() * (a / b).ln();
        let width = |s: &MoeShape| f64::from(s.intermediate) / f64::from(s.tp);
        square(f64::from(other.experts), f64::from(shape.experts))
            + square(f64::from(other.top_k), f64::from(shape.top_k))
            + square(f64::from(other.hidden), f64::from(shape.hidden))
            + square(width(other), width(&shape))
    };
    let mut shapes: Vec<MoeShape> = tables.moe.iter().map(row_shape).collect();
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
    let of_shape = || tables.moe.iter().filter(|row| row_shape(row) == matched);
    let row = |tokens: f64| of_shape().find(|row| f64::from(row.tokens) == tokens);
    let ln_slowdown = |tokens: f64| {
        (row(tokens).unwrap().us * 1e-6 / moe_reference(tables, matched, tokens)).ln()
    };
    let (lower, upper, share, place) = neighbours(&axis(of_shape().map(|row| row.tokens)), tokens);
    let ln_slowdown = (1.0 - share) * ln_slowdown(lower) + share * ln_slowdown(upper);
    let mut seconds = moe_reference(tables, shape, tokens) * ln_slowdown.exp();
    let mut provenance = place;
    if matched != shape {
        provenance = provenance.max(Provenance::Transferred);
    } else if let Some(row) = row(tokens) {
        seconds = row.us * 1e-6;
    }
    let at_peak = moe_flops(shape, tokens) / tables.peak(shape.dtype);
    Answer::new(seconds, provenance, at_peak)
}
