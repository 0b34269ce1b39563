//! Decode attention inside a step, with a cold KV cache.

use super::Binding;
use super::kernel_time::KernelTime;
use crate::constants::COLD_READ_SHARE;
use crate::hardware::operation::MAX_POINTS;
use crate::hardware::{RankAttention, Rates, Reference, Work};
use crate::math::larger;
use crate::op::DecodeRows;
use crate::table::{Axis, Class, ErrorGroup, Extent, Provenance, TableSet};
use crate::units::Seconds;

/// Decode attention whose KV entries come from memory, because all other layers run between two decode kernels of a
/// layer.
///
/// A benchmark finds a KV cache of the size of the L2 cache there, so its rows do not apply to a step. They do show
/// the time of the smallest call and the rate at which KV caches too large for L2 are read; a step takes the former
/// plus its bytes at the latter, or plus the waves of its thread blocks if these take longer. Such a summary has no
/// holes: every point within the ends of both axes is inside.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepDecode {
    kernel: RankAttention,
    rates: Rates,
    /// Time of the smallest call.
    floor_s: f64,
    /// Time that each request adds to the waves of thread blocks.
    wave_s: f64,
    /// Time of a byte from memory, as measured in the grid; at least that of the data sheet.
    s_per_byte: f64,
    /// Minimum and maximum number of requests of the grid, and its shortest and longest KV length.
    batch: [f64; 2],
    length: [f64; 2],
    class: Class,
    pub(super) errors: ErrorGroup,
}

impl StepDecode {
    /// Creates the time of attention inside the steps of a GPU of `set`, whose benchmark reads KV caches larger than
    /// `cold_kv` L2 caches from memory.
    pub(super) fn new(rows: &DecodeRows<'_>, set: &TableSet, cold_kv: f64) -> StepDecode {
        let DecodeRows { ref grid, kernel, reference, floor_s, .. } = *rows;
        let ends = |axis: Axis<'_>| {
            let (first, last) = axis.range().unwrap_or((0, 0));
            [f64::from(first), f64::from(last)]
        };
        let sheet = reference.rates.s_per_byte;
        // Rows of another GPU show the share of its bandwidth.
        let measured = set.measured_gpu();
        let (sms, s_per_byte) = (f64::from(measured.sms), 1.0 / measured.mem_bw_bytes_per_s);
        let rates = Rates { s_per_byte, ..reference.rates };
        let there = Reference { rates, block_s: reference.block_s * (reference.sms / sms), ..*reference };
        let read = median_read(rows, &there, cold_kv * measured.l2_bytes as f64);
        let read = read.map(|read| read * (sheet / s_per_byte));
        let assumed_share = if rows.class == Class::Bound { 1.0 } else { COLD_READ_SHARE };
        StepDecode {
            kernel,
            rates: reference.rates,
            floor_s,
            wave_s: kernel.decode_waves_s(1.0, reference),
            s_per_byte: read.unwrap_or(sheet / assumed_share).max(sheet),
            batch: ends(grid.batch()),
            length: ends(grid.length()),
            errors: rows.errors,
            // Without a row that shows the rate, it is an assumed share of the data sheet's.
            class: rows.class.max(match read {
                Some(_) => Class::Smoothed,
                None => Class::Bound,
            }),
        }
    }

    /// Returns the attention with a class no better than `class`.
    pub(super) fn at_best(self, class: Class) -> StepDecode {
        StepDecode { class: self.class.max(class), ..self }
    }

    /// Returns the best class that an answer can have.
    pub(super) fn class(&self) -> Class {
        self.class
    }

    /// Returns the attention of `requests` with `kv_tokens` KV entries in total and `queries` tokens that attend to
    /// them: one per request, or several with speculative decoding. Entries are read once.
    #[inline]
    pub(super) fn at(&self, requests: f64, queries: f64, kv_tokens: f64) -> KernelTime {
        let work = self.work(requests, queries, kv_tokens);
        let (read, waves) = (work.bytes * self.s_per_byte, requests * self.wave_s);
        let latency = self.floor_s + if waves > read { waves } else { 0.0 };
        let [fewest, most] = self.batch;
        let [shortest, longest] = self.length;
        let kv_tokens = larger(kv_tokens, queries);
        let inside = (requests >= fewest)
            & (requests <= most)
            & (kv_tokens >= shortest * requests)
            & (kv_tokens <= longest * requests);
        let extent = if inside { Extent::Inside } else { Extent::Outside };
        // Rows have one query for each request.
        let class = if queries > requests { self.class.max(Class::Transferred) } else { self.class };
        let math_s = work.flops * self.rates.s_per_flop;
        KernelTime::new(
            self.time(requests, queries, kv_tokens),
            Binding::of(&work, &self.rates, latency),
            Provenance::new(class, extent).into(),
        )
        .with_bound(Seconds(larger(math_s, work.bytes * self.rates.s_per_byte)))
    }

    /// Returns the time of [`at`](Self::at), which does not compute the rest.
    #[inline]
    pub(super) fn time(&self, requests: f64, queries: f64, kv_tokens: f64) -> Seconds {
        let work = self.work(requests, queries, kv_tokens);
        let reading_s = larger(work.bytes * self.s_per_byte, requests * self.wave_s);
        let math_s = work.flops * self.rates.s_per_flop;
        Seconds(larger(self.floor_s + reading_s, math_s))
    }

    /// Returns the work of [`at`](Self::at).
    #[inline]
    pub(super) fn work(&self, requests: f64, queries: f64, kv_tokens: f64) -> Work {
        let mut work = self.kernel.decode_work(queries, larger(kv_tokens, queries));
        work.flops *= queries / requests;
        work
    }
}

/// Returns the time per byte, seconds, without that of the smallest call: the median of the cells that read more than
/// `cold_bytes` of KV entries, which take longer than the waves of thread blocks; `None` if there are none. `reference` is
/// that of the measured GPU.
fn median_read(rows: &DecodeRows<'_>, reference: &Reference, cold_bytes: f64) -> Option<f64> {
    let (grid, kernel) = (&rows.grid, &rows.measured);
    let window = match rows.window {
        0 => f64::INFINITY,
        window => f64::from(window),
    };
    let mut reads = [0.0_f64; MAX_POINTS * MAX_POINTS];
    let mut count = 0;
    for (row, &batch) in grid.batch().values().iter().enumerate() {
        for (column, &length) in grid.length().values().iter().enumerate() {
            let requests = f64::from(batch);
            let tokens = requests * f64::from(length).min(window);
            let kv_bytes = tokens * kernel.kv_bytes;
            let waves_s = kernel.decode_waves_s(requests, reference);
            let counts = kv_bytes > cold_bytes && kv_bytes * reference.rates.s_per_byte > waves_s;
            let cell = grid.latency_us(row, column).filter(|_| counts);
            if let (Some(latency_us), Some(slot)) = (cell, reads.get_mut(count)) {
                let reading_s = f64::from(latency_us) * 1e-6 - rows.floor_s;
                *slot = reading_s / kernel.decode_work(requests, tokens).bytes;
                count += 1;
            }
        }
    }
    let reads = reads.get_mut(..count)?;
    if reads.is_empty() {
        return None;
    }
    let (_, median, _) = reads.select_nth_unstable_by(count / 2, f64::total_cmp);
    Some(*median)
}
