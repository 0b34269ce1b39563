//! What a row may claim: not more than the GPU can do.

use rooflut_roofline::Gpu;

use crate::Error;
use crate::operation::Operation;
use crate::rows::Row;

/// The error of f64 itself: a row may stand exactly on a limit.
const ROUNDING: f64 = 1e-12;

/// Checks one row against peak, bandwidth and link of `gpu`, and its `mfu` against its latency.
///
/// # Errors
/// [`Error::Value`] for a dtype that the GPU has no peak for, [`Error::Impossible`],
/// [`Error::MfuDisagrees`].
pub(crate) fn row<O: Operation>(
    file: &str,
    row: &Row<'_>,
    gpu: &Gpu,
    shape: &O::Shape,
    point: [u32; 2],
    latency_us: f64,
) -> Result<(), Error> {
    let dtype = O::dtype(shape);
    let Some(peak) = gpu.peak_flops_per_s(dtype) else {
        let expected = format!("a dtype that {} has a peak for", gpu.name);
        let hint = "check the dtype, or give the peak in the GPU's data sheet";
        return Err(row.refuse("dtype", dtype.name(), &expected, hint));
    };
    let work = O::work(shape, point);
    let latency_s = latency_us * 1e-6;
    let impossible = |found: String, limit: String, hint: &str| Error::Impossible {
        file: file.to_owned(),
        line: row.line(),
        found: format!("{latency_us}, which is {found}"),
        limit,
        hint: hint.to_owned(),
    };
    let exceeds = |rate: f64, limit: f64| rate > limit * (1.0 + ROUNDING);
    let flops_per_s = work.flops / latency_s;
    if exceeds(flops_per_s, peak) {
        return Err(impossible(
            format!("{:.2} TFLOP/s", flops_per_s * 1e-12),
            format!(
                "the {dtype} peak of {} ({:.2} TFLOP/s)",
                gpu.name,
                peak * 1e-12
            ),
            "check the dtype (an 8-bit table read as 16-bit looks like this), the shape and the unit",
        ));
    }
    let bytes_per_s = work.bytes / latency_s;
    if work.bytes > gpu.l2_bytes as f64 && exceeds(bytes_per_s, gpu.mem_bw_bytes_per_s) {
        return Err(impossible(
            format!("{:.3} TB/s of compulsory traffic", bytes_per_s * 1e-12),
            format!(
                "the bandwidth of {} ({:.3} TB/s)",
                gpu.name,
                gpu.mem_bw_bytes_per_s * 1e-12
            ),
            "check the dtype (an 8-bit table read as 16-bit looks like this), the shape and the unit",
        ));
    }
    let link_bytes_per_s = work.link_bytes / latency_s;
    if exceeds(link_bytes_per_s, gpu.link_bytes_per_s) {
        return Err(impossible(
            format!("{:.1} GB/s per rank", link_bytes_per_s * 1e-9),
            format!(
                "the link of {} ({:.1} GB/s)",
                gpu.name,
                gpu.link_bytes_per_s * 1e-9
            ),
            "bytes are those of one rank's message: check them and the unit",
        ));
    }
    mfu(file, row, work.flops * 1e6 / peak, latency_us)
}

/// Compares an `mfu` column with `bound_us / latency_us`, within the rounding of both columns.
fn mfu(file: &str, row: &Row<'_>, bound_us: f64, latency_us: f64) -> Result<(), Error> {
    let Some(text) = row.text("mfu") else {
        return Ok(());
    };
    let rounding = half_unit(text);
    let latency_rounding = half_unit(row.text("latency_us").unwrap_or_default());
    let smallest = bound_us / (latency_us + latency_rounding);
    let largest = if latency_rounding < latency_us {
        bound_us / (latency_us - latency_rounding)
    } else {
        f64::INFINITY
    };
    let slack = ROUNDING * (1.0 + bound_us / latency_us);
    let agrees = |found: f64| {
        found.is_finite()
            && found + rounding + slack >= smallest
            && found - rounding - slack <= largest
    };
    if text.parse().is_ok_and(agrees) {
        return Ok(());
    }
    let decimals = usize::try_from(decimals(text)).unwrap_or(0).clamp(3, 15) + 1;
    Err(Error::MfuDisagrees {
        file: file.to_owned(),
        line: row.line(),
        found: text.to_owned(),
        expected: format!("{:.decimals$}", bound_us / latency_us),
    })
}

/// Half a unit of the last place of a number as written.
fn half_unit(text: &str) -> f64 {
    0.5 * 0.1_f64.powi(decimals(text))
}

/// The decimal place of the last digit of a number as written: 3 for `1.234` and for `1.2e-2`.
fn decimals(text: &str) -> i32 {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    i32::try_from(fraction.len())
        .unwrap_or(i32::MAX)
        .saturating_sub(exponent)
}
