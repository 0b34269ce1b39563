//! What a row may claim: not more than the GPU can do.

use rooflut_roofline::Gpu;

use crate::Error;
use crate::operation::Operation;
use crate::rows::Row;

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
        return Err(row.refuse("dtype", dtype.name(), &expected));
    };
    let work = O::work(shape, point);
    let latency_s = latency_us * 1e-6;
    let impossible = |found: String, limit: String, hint: &str| Error::Impossible {
        file: file.to_owned(),
        line: row.line(),
        found,
        limit,
        hint: hint.to_owned(),
    };
    let flops_per_s = work.flops / latency_s;
    if flops_per_s > peak {
        return Err(impossible(
            format!("{:.1} TFLOP/s", flops_per_s * 1e-12),
            format!(
                "the {dtype} peak of {} ({:.1} TFLOP/s)",
                gpu.name,
                peak * 1e-12
            ),
            "check the dtype and the unit of the latency",
        ));
    }
    let bytes_per_s = work.bytes / latency_s;
    if work.bytes > gpu.l2_bytes as f64 && bytes_per_s > gpu.mem_bw_bytes_per_s {
        return Err(impossible(
            format!("{:.2} TB/s of compulsory traffic", bytes_per_s * 1e-12),
            format!(
                "the bandwidth of {} ({:.2} TB/s)",
                gpu.name,
                gpu.mem_bw_bytes_per_s * 1e-12
            ),
            "check the dtype (an 8-bit table read as 16-bit looks like this) and the shape",
        ));
    }
    let link_bytes_per_s = work.link_bytes / latency_s;
    if link_bytes_per_s > gpu.link_bytes_per_s {
        return Err(impossible(
            format!("{:.1} GB/s per rank", link_bytes_per_s * 1e-9),
            format!(
                "the link of {} ({:.1} GB/s)",
                gpu.name,
                gpu.link_bytes_per_s * 1e-9
            ),
            "check bytes (of the whole message) and latency",
        ));
    }
    mfu(file, row, work.flops / (latency_s * peak), latency_us)
}

/// Compares an `mfu` column with the value that follows from the latency, within the rounding of both.
fn mfu(file: &str, row: &Row<'_>, expected: f64, latency_us: f64) -> Result<(), Error> {
    let Some(text) = row.text("mfu") else {
        return Ok(());
    };
    let disagrees = || Error::MfuDisagrees {
        file: file.to_owned(),
        line: row.line(),
        found: text.to_owned(),
        expected: format!("{expected:.4}"),
    };
    let found: f64 = text.parse().map_err(|_| disagrees())?;
    let latency_text = row.text("latency_us").unwrap_or_default();
    let tolerance = rounding(text) + expected * rounding(latency_text) / latency_us;
    // The last term is the error of f64 itself; a NaN fails the comparison.
    if (found - expected).abs() <= tolerance + 1e-12 {
        Ok(())
    } else {
        Err(disagrees())
    }
}

/// Half a unit of the last decimal of a number as written.
fn rounding(text: &str) -> f64 {
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    0.5 * 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX))
}
