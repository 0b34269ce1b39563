//! Rows that are faster than the GPU can be: the rules of a table set, before there is one.

use rooflut_codegen::MeasuredKernel;
use rooflut_roofline::{Dtype, Gpu};

use crate::kernel;
use crate::reading::{Cause, Reading, Reason};

/// The error of f64 itself: a row may stand exactly on a limit.
const ROUNDING: f64 = 1e-12;

/// The share of rows above which not single rows are wrong but what was said of all of them.
const DOUBTFUL: f64 = 0.1;

/// Why `gpu` cannot have measured this, if it cannot: above the peak of its format, compulsory traffic
/// beyond the L2 cache above the bandwidth, a message above the link.
pub(crate) fn beyond(kernel: &MeasuredKernel, latency_us: f64, gpu: &Gpu) -> Option<Cause> {
    let dtype = kernel::dtype(kernel);
    let name = gpu.name;
    let Some(peak) = gpu.peak_flops_per_s(dtype) else {
        return Some(Cause::new(Reason::NoPeak, format!("{dtype} on {name}")));
    };
    let work = kernel::work(kernel);
    let latency_s = latency_us * 1e-6;
    let exceeds = |rate: f64, limit: f64| rate > limit * (1.0 + ROUNDING);
    let impossible = |found: f64, unit: &str, limit: f64, what: &str| {
        let detail = format!(
            "{latency_us} us, which is {found:.2} {unit}, above the {what} of {name} ({limit:.2} {unit})"
        );
        Some(Cause::new(Reason::Impossible, detail))
    };
    let (flops, bytes) = (work.flops / latency_s, work.bytes / latency_s);
    let link = work.link_bytes / latency_s;
    if exceeds(flops, peak) {
        return impossible(
            flops * 1e-12,
            "TFLOP/s",
            peak * 1e-12,
            &format!("{dtype} peak"),
        );
    }
    if work.bytes > gpu.l2_bytes as f64 && exceeds(bytes, gpu.mem_bw_bytes_per_s) {
        return impossible(
            bytes * 1e-9,
            "GB/s",
            gpu.mem_bw_bytes_per_s * 1e-9,
            "bandwidth",
        );
    }
    if exceeds(link, gpu.link_bytes_per_s) {
        return impossible(link * 1e-9, "GB/s", gpu.link_bytes_per_s * 1e-9, "link");
    }
    None
}

/// Whether so many of the rows are impossible that the GPU or the format is in doubt; one row alone is not.
pub(crate) fn is_doubtful(impossible: usize, rows: usize) -> bool {
    impossible > 1 && impossible as f64 > DOUBTFUL * rows as f64
}

/// The formats of the math in which no row is impossible.
pub(crate) fn fitting(readings: &[Reading], gpu: &Gpu) -> Vec<Dtype> {
    let fits = |dtype: &Dtype| {
        readings.iter().all(|row| {
            beyond(&kernel::with_dtype(row.kernel, *dtype), row.latency_us, gpu).is_none()
        })
    };
    Dtype::ALL.into_iter().filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{GPU, decode, files, gemm};

    #[test]
    fn a_row_above_the_peak_or_the_bandwidth_is_impossible() {
        // 2 * 8192 * 4096 * 4096 FLOPs take 275 us at 1e15.
        let reason = |kernel, us| beyond(&kernel, us, &GPU).map(|cause| cause.reason);
        assert_eq!(reason(gemm(4096, 8192), 280.0), None);
        assert_eq!(reason(gemm(4096, 8192), 270.0), Some(Reason::Impossible));
        // 64 * 8192 tokens of 4 KiB take 716 us at 3e12.
        assert_eq!(reason(decode(8, 64, 8192), 720.0), None);
        assert_eq!(reason(decode(8, 64, 8192), 710.0), Some(Reason::Impossible));
        // What fits the L2 may be faster than the memory.
        assert_eq!(reason(decode(8, 1, 8192), 9.0), None);
    }

    #[test]
    fn a_format_without_a_peak_is_not_measured() {
        let kernel = kernel::with_dtype(gemm(4096, 1), Dtype::Nvfp4);
        assert_eq!(
            beyond(&kernel, 1e3, &GPU).map(|cause| cause.reason),
            Some(Reason::NoPeak)
        );
    }

    #[test]
    fn the_format_that_fits_is_found() {
        let rows = files([&[(gemm(4096, 8192), 150.0), (gemm(4096, 1), 9.0)]]);
        assert_eq!(fitting(&rows, &GPU), [Dtype::Fp8, Dtype::Fp8Block]);
        assert!(is_doubtful(2, 10) && !is_doubtful(1, 2) && !is_doubtful(10, 100));
    }
}
