//! Values of the arguments of `rooflut-lab import`.

use rooflut::hardware::{Dtype, Gpu, gpus};
use rooflut_codegen::OperationKind;
use rooflut_error::{hint, nearest};
use rooflut_import::{Condition, Statistic};

use crate::value;

pub(crate) fn gpu(text: &str) -> Result<Gpu, String> {
    let known = || gpus::ALL.into_iter();
    let found = known().find(|gpu| gpu.name.eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
        let known: Vec<Gpu> = known().collect();
        let names: Vec<&str> = known.iter().map(|gpu| gpu.name.as_str()).collect();
        let hint = hint(&nearest(text, names.iter().copied()));
        format!(
            "unknown GPU{hint}; expected one of {}, or --gpu-sheet with the data sheet of another",
            names.join(", ")
        )
    })
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a positive, finite number".to_owned()),
    }
}

pub(crate) fn statistic(text: &str) -> Result<Statistic, String> {
    let found = Statistic::ALL.into_iter().find(|statistic| statistic.name() == text);
    let names = || Statistic::ALL.map(Statistic::name).join(", ");
    found.ok_or_else(|| format!("expected one of {}", names()))
}

/// Parses `NAME=DTYPE`: `fp8_static=fp8`.
pub(crate) fn dtype_name(text: &str) -> Result<(String, Dtype), String> {
    let (name, dtype) = pair(text, "NAME=DTYPE, as in fp8_static=fp8")?;
    Ok((name.to_owned(), dtype.parse().map_err(|error: rooflut::UnknownName| error.to_string())?))
}

/// Parses `OPERATION=COLUMNS`: `gemm=m,k,n,latency_us`.
pub(crate) fn header(text: &str) -> Result<(OperationKind, Vec<String>), String> {
    let (operation, columns) = pair(text, "OPERATION=COLUMNS, as in gemm=m,k,n,latency_us")?;
    let columns = columns.split(',').map(|column| column.trim().to_owned());
    Ok((value::operation(operation)?, columns.collect()))
}

/// Parses `OPERATION=MICROSECONDS`: `gemm=3.7`.
pub(crate) fn t0(text: &str) -> Result<(OperationKind, f64), String> {
    let (operation, t0_us) = pair(text, "OPERATION=MICROSECONDS, as in gemm=3.7")?;
    Ok((value::operation(operation)?, positive(t0_us)?))
}

/// Parses `COLUMN=VALUE`: `kernel_source=torch`.
pub(crate) fn condition(text: &str) -> Result<Condition, String> {
    let (column, value) = pair(text, "COLUMN=VALUE, as in kernel_source=torch")?;
    Ok(Condition { column: column.to_owned(), value: value.to_owned() })
}

fn pair<'t>(text: &'t str, expected: &str) -> Result<(&'t str, &'t str), String> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    parts.ok_or_else(|| format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_need_both_sides() {
        assert_eq!(dtype_name("int8=fp8"), Ok(("int8".to_owned(), Dtype::Fp8)));
        assert_eq!(t0("decode=9"), Ok((OperationKind::Decode, 9.0)));
        assert_eq!(header("gemm=m, k").unwrap().1, ["m", "k"]);
        assert_eq!(condition("a=b=c").unwrap().value, "b=c");
        for wrong in ["", "a", "=b", "a=", "gemm=0", "gemm=-1"] {
            assert!(t0(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn gpus_are_found_by_name() {
        assert_eq!(gpu("H100").unwrap().name, "h100");
        let message = gpu("h800").unwrap_err();
        assert!(message.contains("nearest: h") && message.contains("--gpu-sheet"), "{message}");
    }
}
