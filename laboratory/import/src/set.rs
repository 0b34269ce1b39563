//! The files of a table set, as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use rooflut_codegen::OperationKind;
use rooflut_roofline::Gpu;
use toml::Value;

use crate::answers::{Answers, MeasuredGpu};
use crate::kernel;
use crate::missing::Complete;
use crate::reading::Reading;

/// A file of a table set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetFile {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// Returns the name of the file of an operation.
pub(crate) fn file_name(operation: OperationKind) -> &'static str {
    operation.declared().file
}

/// Writes the files of a set with these rows.
pub(crate) fn files(
    complete: &Complete<'_>,
    engine: &str,
    answers: &Answers,
    readings: &BTreeMap<OperationKind, Vec<Reading>>,
) -> Vec<SetFile> {
    let tables = readings.iter().filter(|(_, rows)| !rows.is_empty());
    let mut files = vec![SetFile { name: "set.toml", text: set_toml(complete, engine, answers, readings) }];
    files.extend(tables.map(|(operation, rows)| SetFile { name: file_name(*operation), text: csv(*operation, rows) }));
    files
}

fn set_toml(
    complete: &Complete<'_>,
    engine: &str,
    answers: &Answers,
    readings: &BTreeMap<OperationKind, Vec<Reading>>,
) -> String {
    let mut text = String::new();
    let mut key = |name: &str, value: &str| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name} = {}", Value::String(value.to_owned()));
    };
    key("name", complete.name);
    if let MeasuredGpu::Known(gpu) = complete.gpu {
        key("gpu", &gpu.name);
    }
    key("engine", engine);
    key("timing", complete.timing);
    key("source", complete.source);
    key("license", complete.license);
    key("date", complete.date);
    if let MeasuredGpu::Own(sheet) = complete.gpu {
        let _ = write!(text, "\n[gpu]\n{}", sheet.toml());
    }
    text.push_str(
        "\n# t0_us: time that neither FLOPs nor bytes explain. Unless given, t0_us is the smallest latency\n\
         # less the bound, an initial value: the value with the smallest leave-one-out error is better.\n",
    );
    for (operation, rows) in readings.iter().filter(|(_, rows)| !rows.is_empty()) {
        let t0_us = answers.t0_of(*operation).or(unexplained_us(rows, complete.gpu.gpu()));
        if let Some(t0_us) = t0_us {
            let _ = write!(text, "[{operation}]\nt0_us = {}\n\n", Value::Float(t0_us));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Returns the part of the smallest latency that FLOPs and bytes do not explain, to three decimals; all of
/// it if they explain more (data in the L2 cache).
fn unexplained_us(rows: &[Reading], gpu: &Gpu) -> Option<f64> {
    let smallest = rows.iter().min_by(|a, b| a.latency_us.total_cmp(&b.latency_us))?;
    let rates = gpu.rates(smallest.kernel.dtype());
    let bound_us = rates.map_or(0.0, |rates| smallest.kernel.work().bound_s(&rates) * 1e6);
    let rounded = ((smallest.latency_us - bound_us) * 1e3).round() / 1e3;
    Some(if rounded > 0.0 { rounded } else { smallest.latency_us })
}

fn csv(operation: OperationKind, rows: &[Reading]) -> String {
    let mut rows: Vec<&Reading> = rows.iter().collect();
    rows.sort_by_key(|row| row.kernel);
    let with_optional = rows.iter().any(|row| kernel::needs_optional(&row.kernel));
    let declared = operation.declared();
    let shape = declared.shape.iter().filter(|column| with_optional || column.is_required());
    let mut text = String::new();
    for column in shape.map(|column| &column.name).chain(declared.axes) {
        text.push_str(column);
        text.push(',');
    }
    text.push_str("latency_us\n");
    for row in rows {
        match &row.exact {
            Some(exact) => kernel::write_row(&mut text, &row.kernel, exact, with_optional),
            None => kernel::write_row(&mut text, &row.kernel, &row.latency_us, with_optional),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use rooflut_codegen::{FILES, MeasuredKernel};
    use rooflut_roofline::AttentionShape;

    use super::*;
    use crate::defects::made_up::{GPU, decode, files as readings, gemm};

    #[test]
    fn every_operation_has_its_file() {
        let names = OperationKind::ALL.map(file_name);
        assert_eq!(names[..], FILES[1..]);
        assert_eq!(file_name(OperationKind::AllReduce), "allreduce.csv");
    }

    #[test]
    fn t0_is_what_the_bound_leaves_of_the_smallest_latency() {
        // 4096 x 4096 weights of 16 bits take 11.2 us at 3e12 bytes a second.
        let rows = readings([&[(gemm(4096, 8), 20.0), (gemm(4096, 1), 15.0)]]);
        assert_eq!(unexplained_us(&rows, &GPU), Some(3.81));
        let hot = readings([&[(gemm(4096, 1), 9.0)]]);
        assert_eq!(unexplained_us(&hot, &GPU), Some(9.0));
        assert_eq!(unexplained_us(&[], &GPU), None);
    }

    #[test]
    fn rows_are_in_the_order_of_their_kernels_and_keep_all_digits() {
        let rows = readings([&[(gemm(64, 8), 0.1 + 0.2), (gemm(64, 1), 4.0)]]);
        let expected = "dtype,k,n,m,latency_us\nbf16,4096,64,1,4\nbf16,4096,64,8,0.30000000000000004\n";
        assert_eq!(csv(OperationKind::Gemm, &rows), expected);
    }

    #[test]
    fn prefill_has_a_tp_only_where_it_needs_one() {
        let prefill = |tp: u32| {
            let shape: AttentionShape = decode(8, 1, 1).shape();
            let shape = AttentionShape { tp, ..shape };
            (MeasuredKernel::new(OperationKind::Prefill, shape, [2, 16]), 1.5)
        };
        let whole = csv(OperationKind::Prefill, &readings([&[prefill(1)]]));
        assert!(whole.ends_with("head_dim,batch,seq_len,latency_us\nbf16,bf16,32,8,128,2,16,1.5\n"), "{whole}");
        let sharded = csv(OperationKind::Prefill, &readings([&[prefill(2)]]));
        assert!(
            sharded.ends_with("head_dim,tp,batch,seq_len,latency_us\nbf16,bf16,32,8,128,2,2,16,1.5\n"),
            "{sharded}"
        );
    }
}
