//! Checks that a row is not faster than the GPU can be.

use rooflut_roofline::{Excess, Gpu, Limit};

use super::csv_file::Row;
use super::error::{Error, ErrorKind, Found};
use super::measurement::MeasuredRow;

/// Rounding error of f64, relative.
const ROUNDING: f64 = 1e-12;

/// Checks one row against peak, bandwidth and link of `gpu`, and its `mfu` against its latency.
///
/// # Errors
/// [`ErrorKind::Value`] for a dtype that the GPU has no peak for, [`ErrorKind::Impossible`],
/// [`ErrorKind::MfuDisagrees`].
pub(crate) fn check(row: &Row<'_>, measured: &MeasuredRow, gpu: &Gpu) -> Result<(), Error> {
    let MeasuredRow { kernel, latency_us, .. } = measured;
    let dtype = kernel.dtype();
    let Some(peak) = gpu.peak_flops_per_s(dtype) else {
        let expected = format!("a dtype that {} has a peak for", gpu.name);
        let hint = "check the dtype, or give the peak in the GPU's data sheet";
        return Err(row.refuse("dtype", expected, hint));
    };
    let work = kernel.work();
    if let Some(excess) = gpu.exceeded(dtype, &work, latency_us * 1e-6) {
        return Err(impossible(row, measured, &excess, gpu));
    }
    check_mfu(row, work.flops * 1e6 / peak, *latency_us)
}

fn impossible(row: &Row<'_>, measured: &MeasuredRow, excess: &Excess, gpu: &Gpu) -> Error {
    const FORMAT: &str = "check the dtype (an 8-bit table read as 16-bit looks like this), the shape and the unit";
    let (name, dtype) = (&gpu.name, measured.kernel.dtype());
    let (found, possible) = (excess.found, excess.possible);
    let (limit, rate, hint) = match excess.limit {
        Limit::Peak => (
            format!("the {dtype} peak of {name} ({:.2} TFLOP/s)", possible * 1e-12),
            format!("{:.2} TFLOP/s", found * 1e-12),
            FORMAT,
        ),
        Limit::Bandwidth => (
            format!("the bandwidth of {name} ({:.3} TB/s)", possible * 1e-12),
            format!("{:.3} TB/s of compulsory traffic beyond the L2 cache", found * 1e-12),
            FORMAT,
        ),
        Limit::Link => (
            format!("the link of {name} ({:.1} GB/s)", possible * 1e-9),
            format!("{:.1} GB/s per rank", found * 1e-9),
            "check the unit, and that bytes count the message of one rank",
        ),
    };
    let expected = format!("at most {limit}");
    Error::new(
        ErrorKind::Impossible { limit },
        row.location("latency_us"),
        expected,
        Found::words(format!("{}, which is {rate}", measured.latency_us)),
        hint,
    )
}

/// Compares an `mfu` column with `bound_us / latency_us`, within the rounding of both columns.
fn check_mfu(row: &Row<'_>, bound_us: f64, latency_us: f64) -> Result<(), Error> {
    let Some(text) = row.text("mfu") else {
        return Ok(());
    };
    let rounding = half_unit(text);
    let latency_rounding = half_unit(row.text("latency_us").unwrap_or_default());
    let smallest = bound_us / (latency_us + latency_rounding);
    let largest =
        if latency_rounding < latency_us { bound_us / (latency_us - latency_rounding) } else { f64::INFINITY };
    let slack = ROUNDING * (1.0 + bound_us / latency_us);
    let agrees =
        |found: f64| found.is_finite() && found + rounding + slack >= smallest && found - rounding - slack <= largest;
    if text.parse().is_ok_and(agrees) {
        return Ok(());
    }
    let decimals = usize::try_from(decimals(text)).unwrap_or(0).clamp(3, 15) + 1;
    let expected = bound_us / latency_us;
    Err(Error::new(
        ErrorKind::MfuDisagrees,
        row.location("mfu"),
        format!("{expected:.decimals$} (from latency_us, FLOPs and peak)"),
        Found::text(text),
        "check dtype, peak and FLOP formula, or remove the column",
    ))
}

/// Half a unit in the last place of a number as written.
fn half_unit(text: &str) -> f64 {
    0.5 * 0.1_f64.powi(decimals(text))
}

/// The decimal place of the last digit of a number as written: 3 for `1.234` and for `1.2e-2`.
fn decimals(text: &str) -> i32 {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    i32::try_from(fraction.len()).unwrap_or(i32::MAX).saturating_sub(exponent)
}
