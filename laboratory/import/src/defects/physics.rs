//! Rows that are faster than the GPU can be, by the rules of table sets.

use rooflut_codegen::MeasuredKernel;
use rooflut_roofline::{Dtype, Gpu, Limit};

use crate::kernel;
use crate::reading::{Cause, Reading, Reason};

/// The share of impossible rows above which an answer for all rows is wrong, not single rows.
const DOUBTFUL: f64 = 0.1;

/// Returns why `gpu` cannot be so fast: above the peak of the format, compulsory traffic less the L2
/// cache above the bandwidth, or a message above the rate of the link.
pub(crate) fn beyond(kernel: &MeasuredKernel, latency_us: f64, gpu: &Gpu) -> Option<Cause> {
    let dtype = kernel.dtype();
    let name = &gpu.name;
    if gpu.peak_flops_per_s(dtype).is_none() {
        return Some(Cause::new(Reason::NoPeak, format!("{dtype} on {name}")));
    }
    let excess = gpu.exceeded(dtype, &kernel.work(), latency_us * 1e-6)?;
    let (unit, per_unit, what) = match excess.limit {
        Limit::Peak => ("TFLOP/s", 1e12, format!("{dtype} peak")),
        Limit::Bandwidth => ("GB/s", 1e9, "bandwidth".to_owned()),
        Limit::Link => ("GB/s", 1e9, "link".to_owned()),
    };
    let (found, possible) = (excess.found / per_unit, excess.possible / per_unit);
    let detail = format!("{latency_us} us, or {found:.2} {unit}, above the {what} of {name} ({possible:.2} {unit})");
    Some(Cause::new(Reason::Impossible, detail))
}

/// Whether so many rows are impossible that the GPU or the format is in doubt; one row is never enough.
pub(crate) fn is_doubtful(impossible: usize, rows: usize) -> bool {
    impossible > 1 && impossible as f64 > DOUBTFUL * rows as f64
}

/// Returns the formats of the math in which no row is impossible.
pub(crate) fn fitting(readings: &[Reading], gpu: &Gpu) -> Vec<Dtype> {
    let fits = |dtype: &Dtype| {
        readings.iter().all(|row| beyond(&kernel::with_dtype(row.kernel, *dtype), row.latency_us, gpu).is_none())
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
        // 64 * 8192 tokens of 4 KiB take 716 us at 3e12, without the 50 MB of the L2 cache 699 us.
        assert_eq!(reason(decode(8, 64, 8192), 703.0), None);
        assert_eq!(reason(decode(8, 64, 8192), 697.0), Some(Reason::Impossible));
        // Data in the L2 cache may be faster than the memory.
        assert_eq!(reason(decode(8, 1, 8192), 9.0), None);
    }

    #[test]
    fn a_format_without_a_peak_is_not_measured() {
        let kernel = kernel::with_dtype(gemm(4096, 1), Dtype::Nvfp4);
        assert_eq!(beyond(&kernel, 1e3, &GPU).map(|cause| cause.reason), Some(Reason::NoPeak));
    }

    #[test]
    fn the_format_that_fits_is_found() {
        let rows = files([&[(gemm(4096, 8192), 150.0), (gemm(4096, 1), 9.0)]]);
        assert_eq!(fitting(&rows, &GPU), [Dtype::Fp8, Dtype::Fp8Block]);
        assert!(is_doubtful(2, 10) && !is_doubtful(1, 2) && !is_doubtful(10, 100));
    }
}
