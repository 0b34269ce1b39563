//! What a row may claim: not more than the GPU can do.

use rooflut_roofline::{Dtype, Excess, Gpu, Limit, MeasuredKernel};

use crate::Error;
use crate::rows::Row;

/// The error of f64 itself.
const ROUNDING: f64 = 1e-12;

/// Checks one row against peak, bandwidth and link of `gpu`, and its `mfu` against its latency.
///
/// # Errors
/// [`Error::Value`] for a dtype that the GPU has no peak for, [`Error::Impossible`],
/// [`Error::MfuDisagrees`].
pub(crate) fn row(
    file: &str,
    row: &Row<'_>,
    gpu: &Gpu,
    kernel: &MeasuredKernel,
    latency_us: f64,
) -> Result<(), Error> {
    let dtype = kernel.dtype();
    let Some(peak) = gpu.peak_flops_per_s(dtype) else {
        let expected = format!("a dtype that {} has a peak for", gpu.name);
        let hint = "check the dtype, or give the peak in the GPU's data sheet";
        return Err(row.refuse("dtype", dtype.name(), &expected, hint));
    };
    let work = kernel.work();
    let latency_s = latency_us * 1e-6;
    if let Some(excess) = gpu.exceeded(dtype, &work, latency_s) {
        let (found, limit, hint) = tell(&excess, dtype, gpu);
        return Err(Error::Impossible {
            file: file.to_owned(),
            line: row.line(),
            found: format!("{latency_us}, which is {found}"),
            limit,
            hint: hint.to_owned(),
        });
    }
    mfu(file, row, work.flops * 1e6 / peak, latency_us)
}

/// What was found, the limit, and what to do.
fn tell(excess: &Excess, dtype: Dtype, gpu: &Gpu) -> (String, String, &'static str) {
    const FORMAT: &str =
        "check the dtype (an 8-bit table read as 16-bit looks like this), the shape and the unit";
    let Excess {
        limit,
        found,
        possible,
    } = *excess;
    let name = &gpu.name;
    let (tera, giga) = (|rate: f64| rate * 1e-12, |rate: f64| rate * 1e-9);
    match limit {
        Limit::Peak => (
            format!("{:.2} TFLOP/s", tera(found)),
            format!("the {dtype} peak of {name} ({:.2} TFLOP/s)", tera(possible)),
            FORMAT,
        ),
        Limit::Bandwidth => (
            format!("{:.3} TB/s of compulsory traffic", tera(found)),
            format!("the bandwidth of {name} ({:.3} TB/s)", tera(possible)),
            FORMAT,
        ),
        Limit::Link => (
            format!("{:.1} GB/s per rank", giga(found)),
            format!("the link of {name} ({:.1} GB/s)", giga(possible)),
            "bytes are those of one rank's message: check them and the unit",
        ),
    }
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
