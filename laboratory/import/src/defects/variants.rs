//! Kernels that were measured in several ways, which a column distinguishes.

use std::collections::{BTreeMap, BTreeSet};

use rooflut_codegen::OperationKind;
use rooflut_error::Error;

use crate::error::wrong;
use crate::reading::Reading;
use crate::text::{condition, listed};

/// The columns of a row that a table set does not have: names and values, in the order of the file.
pub(crate) type Variant = Vec<(String, String)>;

/// Checks that no kernel has several latencies that a column distinguishes.
///
/// # Errors
/// One has: a condition must select one.
pub(crate) fn check(operation: OperationKind, readings: &[Reading], variants: &[Variant]) -> Result<(), Error> {
    let columns = ambiguous(readings, variants);
    let first = columns.iter().next();
    let Some((column, value)) = first.and_then(|(column, values)| Some((column, values.first()?))) else {
        return Ok(());
    };
    let example = condition(&format!("{operation}.{column}"), value);
    let columns = columns.iter();
    let columns: Vec<String> = columns.map(|(column, values)| format!("{column} ({})", listed(values))).collect();
    let problem = format!(
        "one kernel has several latencies, which differ in {}; select one with --where, as in {example}",
        columns.join("; ")
    );
    Err(wrong(operation.name(), problem))
}

/// Returns the columns that differ between readings of one kernel with different latencies, and their
/// values.
fn ambiguous(readings: &[Reading], variants: &[Variant]) -> BTreeMap<String, BTreeSet<String>> {
    let mut order: Vec<&Reading> = readings.iter().collect();
    order.sort_by(|a, b| a.kernel.cmp(&b.kernel).then(a.latency_us.total_cmp(&b.latency_us)));
    let mut pairs = BTreeSet::new();
    for group in order.chunk_by(|a, b| a.kernel == b.kernel) {
        let Some((first, others)) = group.split_first() else {
            continue;
        };
        let differs = |other: &&&Reading| {
            other.variant != first.variant && other.latency_us.to_bits() != first.latency_us.to_bits()
        };
        pairs.extend(others.iter().filter(differs).map(|other| (first.variant, other.variant)));
    }
    let mut columns = BTreeMap::<String, BTreeSet<String>>::new();
    for (one, other) in pairs {
        let (Some(one), Some(other)) = (variants.get(one), variants.get(other)) else {
            continue;
        };
        for (column, value) in one {
            let same_column = other.iter().find(|(name, _)| name == column);
            if let Some((_, found)) = same_column.filter(|(_, found)| found != value) {
                let values = columns.entry(column.clone()).or_default();
                values.extend([value.clone(), found.clone()]);
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{files, gemm};

    fn variant(kernel: &str, version: &str) -> Variant {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![pair("kernel_source", kernel), pair("version", version)]
    }

    #[test]
    fn only_the_columns_that_differ_are_listed() {
        let mut rows = files([&[(gemm(64, 8), 9.0), (gemm(64, 8), 10.0), (gemm(64, 16), 11.0)]]);
        rows[1].variant = 1;
        let variants = [variant("torch", "1"), variant("cutlass", "1"), variant("torch", "2")];
        let found = ambiguous(&rows, &variants);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["kernel_source"]);
        assert_eq!(found["kernel_source"].iter().collect::<Vec<_>>(), ["cutlass", "torch"]);
    }

    #[test]
    fn different_kernels_and_equal_latencies_need_no_answer() {
        let mut rows = files([&[(gemm(64, 8), 9.0), (gemm(64, 8), 9.0), (gemm(64, 16), 11.0)]]);
        rows[1].variant = 1;
        rows[2].variant = 1;
        let variants = [variant("torch", "1"), variant("cutlass", "1")];
        assert!(ambiguous(&rows, &variants).is_empty());
    }
}
