//! Kernels that were measured in several ways, which a column distinguishes.

use std::collections::{BTreeMap, BTreeSet};

use crate::reading::Reading;

/// The columns of a row that a table set does not have: names and values, in the order of the file.
pub(crate) type Variant = Vec<(String, String)>;

/// Returns the columns that differ between readings of one kernel with different latencies, and their
/// values.
pub(crate) fn ambiguous(
    readings: &[Reading],
    variants: &[Variant],
) -> BTreeMap<String, BTreeSet<String>> {
    let mut order: Vec<&Reading> = readings.iter().collect();
    order.sort_by(|a, b| {
        a.kernel
            .cmp(&b.kernel)
            .then(a.latency_us.total_cmp(&b.latency_us))
    });
    let mut pairs = BTreeSet::new();
    for group in order.chunk_by(|a, b| a.kernel == b.kernel) {
        let Some((first, others)) = group.split_first() else {
            continue;
        };
        let differs = |other: &&&Reading| {
            other.variant != first.variant
                && other.latency_us.to_bits() != first.latency_us.to_bits()
        };
        pairs.extend(
            others
                .iter()
                .filter(differs)
                .map(|other| (first.variant, other.variant)),
        );
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
        let mut rows = files([&[
            (gemm(64, 8), 9.0),
            (gemm(64, 8), 10.0),
            (gemm(64, 16), 11.0),
        ]]);
        rows[1].variant = 1;
        let variants = [
            variant("torch", "1"),
            variant("cutlass", "1"),
            variant("torch", "2"),
        ];
        let found = ambiguous(&rows, &variants);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["kernel_source"]);
        assert_eq!(
            found["kernel_source"].iter().collect::<Vec<_>>(),
            ["cutlass", "torch"]
        );
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
