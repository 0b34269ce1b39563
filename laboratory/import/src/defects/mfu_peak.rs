//! Columns `mfu` that do not follow from the latencies: relative to the peak of another format or GPU.

use rooflut_roofline::{Dtype, Gpu, Text};

use crate::reading::Reading;

/// The relative rounding of latencies, which have three digits or more.
const LATENCY_ROUNDING: f64 = 0.005;
/// The share of rows that must agree with a peak.
const FITS: f64 = 0.95;

/// Rows whose `mfu` does not agree with the stated peak.
#[derive(Debug, PartialEq)]
pub(crate) struct Misfit {
    /// The number of rows with an `mfu` above 0.
    pub(crate) rows: usize,
    /// The number of those that do not agree.
    pub(crate) misfits: usize,
    /// The index of the first that does not agree.
    pub(crate) first: usize,
    /// The median of the peaks that the `mfu` of these rows imply, FLOP/s.
    pub(crate) implied_flops_per_s: f64,
    /// The peaks that agree with nearly all rows: GPU and format.
    pub(crate) fitting: Vec<(Text, Dtype)>,
}

/// Compares each `mfu` with the latency. `stated` is the peak of the files if it was given; otherwise it is
/// that of `gpu` for the format of the row. `known` are the GPUs whose peaks are tried if it does not agree.
pub(crate) fn misfit(readings: &[Reading], gpu: &Gpu, stated: Option<f64>, known: &[Gpu]) -> Option<Misfit> {
    let rows: Vec<(usize, &Reading)> = readings.iter().enumerate().filter(|(_, row)| has_mfu(row)).collect();
    let peak = |row: &Reading| stated.or(gpu.peak_flops_per_s(row.kernel.dtype()));
    let misfits: Vec<&(usize, &Reading)> =
        rows.iter().filter(|(_, row)| peak(row).is_some_and(|peak| !fits(row, peak))).collect();
    let (first, _) = **misfits.first()?;
    let mut implied: Vec<f64> = misfits.iter().filter_map(|(_, row)| implied(row)).collect();
    implied.sort_by(f64::total_cmp);
    let most = |peak: f64| {
        let fitting = rows.iter().filter(|(_, row)| fits(row, peak)).count();
        fitting as f64 >= FITS * rows.len() as f64
    };
    let peaks = known.iter().flat_map(|gpu| {
        let peak = |dtype: Dtype| Some((gpu.name.clone(), dtype, gpu.peak_flops_per_s(dtype)?));
        [Dtype::Bf16, Dtype::Fp8, Dtype::Nvfp4].into_iter().filter_map(peak)
    });
    Some(Misfit {
        rows: rows.len(),
        misfits: misfits.len(),
        first,
        implied_flops_per_s: implied.get(implied.len() / 2).copied()?,
        fitting: peaks.filter(|(.., peak)| most(*peak)).map(|(name, dtype, _)| (name, dtype)).collect(),
    })
}

fn has_mfu(row: &Reading) -> bool {
    row.mfu.is_some_and(|mfu| mfu.value != 0.0) && row.kernel.work().flops > 0.0
}

/// The FLOP rate of a row divided by its `mfu`.
fn implied(row: &Reading) -> Option<f64> {
    Some(rate(row) / row.mfu?.value)
}

fn rate(row: &Reading) -> f64 {
    row.kernel.work().flops / (row.latency_us * 1e-6)
}

fn fits(row: &Reading, peak: f64) -> bool {
    let expected = rate(row) / peak;
    row.mfu.is_some_and(|mfu| (mfu.value - expected).abs() <= mfu.half_unit * 1.001 + expected * LATENCY_ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{GPU, files, gemm};
    use crate::reading::Rounded;

    #[test]
    fn a_single_wrong_cell_is_found_and_the_peak_still_fits() {
        // GEMMs at half of the made-up peak.
        let kernels = [512, 1024, 2048, 4096].map(|m| (gemm(4096, m), f64::from(m) * 0.0671));
        let mut rows = files([&kernels]).repeat(10);
        for row in &mut rows {
            row.mfu = Some(Rounded { value: (rate(row) / 1e15 * 1e3).round() * 1e-3, half_unit: 0.0005 });
        }
        let known = std::slice::from_ref(&GPU);
        assert_eq!(misfit(&rows, &GPU, None, known), None);
        rows[7].mfu = Some(Rounded { value: 0.9, half_unit: 0.05 });
        let found = misfit(&rows, &GPU, None, known).unwrap();
        assert_eq!((found.rows, found.misfits, found.first), (40, 1, 7));
        assert_eq!(found.fitting, [("made-up".into(), Dtype::Bf16)]);
    }
}
