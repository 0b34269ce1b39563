//! Answers that an import needs and that neither the files nor the user gave.

use std::collections::BTreeSet;

use rooflut_codegen::OperationKind;
use rooflut_error::{Error, Kind};
use rooflut_roofline::Dtype;

use crate::answers::{Answers, MeasuredGpu};
use crate::layout::{Content, Layout};
use crate::table::SourceTable;

/// An answer that an import needs and that neither the files nor the user gave.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingAnswer {
    /// The flag that gives it.
    pub flag: String,
    /// Its meaning, with the accepted values or an example.
    pub meaning: String,
}

impl MissingAnswer {
    pub(crate) fn new(flag: &str, meaning: impl Into<String>) -> MissingAnswer {
        MissingAnswer { flag: flag.to_owned(), meaning: meaning.into() }
    }

    /// Whether the columns of a file are missing.
    pub(crate) fn is_header(&self) -> bool {
        self.flag.starts_with("--header")
    }
}

/// The error of missing answers, of which there is at least one.
pub(crate) fn unanswered(missing: &[MissingAnswer]) -> Error {
    let missing: Vec<String> =
        missing.iter().map(|MissingAnswer { flag, meaning }| format!("{flag} ({meaning})")).collect();
    let text = format!("the files do not say all that a table set must name; add {}", missing.join("; "));
    Error::new(Kind::Conflict, text)
}

/// The answers for `set.toml`, complete.
pub(crate) struct Complete<'a> {
    pub(crate) name: &'a str,
    pub(crate) gpu: &'a MeasuredGpu,
    pub(crate) timing: &'a str,
    pub(crate) source: &'a str,
    pub(crate) license: &'a str,
    pub(crate) date: &'a str,
}

/// Returns the answers if they are complete, else adds all that are not to `missing`. `known` are the names
/// of GPUs.
pub(crate) fn complete<'a>(
    layout: Layout,
    tables: &[&SourceTable],
    answers: &'a Answers,
    known: &[&str],
    missing: &mut Vec<MissingAnswer>,
) -> Option<Complete<'a>> {
    let gpus = known.join(", ");
    let gpu = format!("the measured GPU: {gpus}, or --gpu-sheet for another");
    let mut found = Vec::new();
    let mut ask = |given: bool, flag: &str, meaning: &str| {
        if !given {
            found.push(MissingAnswer::new(flag, meaning));
        }
    };
    ask(answers.gpu.is_some(), "--gpu", &gpu);
    for (flag, meaning) in formats(layout, tables, answers) {
        ask(false, &flag, &meaning);
    }
    let name = format!("of the set: lower-case letters, digits and hyphens{}", answers.no_name);
    for (given, flag, meaning) in [
        (&answers.name, "--name", &*name),
        (&answers.timing, "--timing", "the method, like \"CUDA graph replay\" or \"eager, launch included\""),
        (&answers.source, "--source", "of the files, with the commit"),
        (&answers.license, "--license", "of the files, like Apache-2.0"),
        (&answers.date, "--date", "of the measurement or of its publication, like 2026-01-31"),
    ] {
        ask(given.is_some(), flag, meaning);
    }
    if answers.engine.is_none() && !names_engine(layout, tables, answers) {
        found.push(engine());
    }
    // Questions about folders come last.
    missing.splice(0..0, found);
    Some(Complete {
        name: answers.name.as_deref()?,
        gpu: answers.gpu.as_ref()?,
        timing: answers.timing.as_deref()?,
        source: answers.source.as_deref()?,
        license: answers.license.as_deref()?,
        date: answers.date.as_deref()?,
    })
}

/// Returns flags and meanings of answers that replace missing columns.
fn formats(layout: Layout, tables: &[&SourceTable], answers: &Answers) -> BTreeSet<(String, String)> {
    let dtypes = Dtype::ALL.map(Dtype::name).join(", ");
    let mut missing = BTreeSet::new();
    let mut add = |flag: String, meaning: String| missing.insert((flag, meaning));
    for table in tables {
        let Content::Table { operation, .. } = layout.content(&table.path) else {
            continue;
        };
        let path = &table.path;
        let Some(header) = table.header.as_deref().or(answers.header_of(operation)) else {
            let columns = layout.columns(operation, answers).required.join(",");
            add(
                format!("--header {operation}=COLUMNS"),
                format!("{path} has no header; its columns in order, among them {columns}"),
            );
            continue;
        };
        let has = |column: &str| header.iter().any(|name| name == column);
        let has_dtype = layout == Layout::AiConfigurator || has("dtype");
        let counted = operation != OperationKind::AllReduce;
        if counted && !has_dtype && answers.dtype_of(operation).is_none() {
            let (flag, hint) = match (layout, operation) {
                (Layout::Vidur, _) => ("--dtype", ""),
                (_, OperationKind::Gemm) => ("--gemm-dtype", "; InferSim's GEMMs are fp8_block"),
                _ => ("--dtype", ""),
            };
            add(flag.to_owned(), format!("format of the math of {operation}: {dtypes}{hint}"));
        }
        let attention = matches!(operation, OperationKind::Prefill | OperationKind::Decode);
        let has_kv_dtype = layout == Layout::AiConfigurator || has("kv_dtype");
        if attention && !has_kv_dtype && answers.kv_dtype.is_none() {
            add("--kv-dtype".to_owned(), "format of the KV cache: bf16, fp8".to_owned());
        }
        let in_elements = layout == Layout::AiConfigurator && !counted;
        if in_elements && !has("allreduce_dtype") && answers.element_bytes.is_none() {
            let meaning = "bytes of an element of a message: 2 for bf16".to_owned();
            add("--element-bytes".to_owned(), meaning);
        }
    }
    missing
}

/// Whether the tables name the engine stack, as AIConfigurator's do.
fn names_engine(layout: Layout, tables: &[&SourceTable], answers: &Answers) -> bool {
    tables.iter().any(|table| {
        let Content::Table { operation, .. } = layout.content(&table.path) else {
            return false;
        };
        let header = table.header.as_deref().or(answers.header_of(operation));
        let has = |column: &str| header.unwrap_or_default().iter().any(|name| name == column);
        layout == Layout::AiConfigurator && has("framework") && has("version")
    })
}

/// The missing answer for the engine stack.
pub(crate) fn engine() -> MissingAnswer {
    let meaning = "the stack that ran the kernels, like \"vLLM 0.24.0: FlashAttention-3\"";
    MissingAnswer::new("--engine", meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(path: &str, csv: &str) -> SourceTable {
        SourceTable::of_csv(path, csv.as_bytes()).unwrap()
    }

    fn flags(layout: Layout, tables: &[SourceTable], answers: &Answers) -> Vec<String> {
        let tables: Vec<&SourceTable> = tables.iter().collect();
        let mut missing = Vec::new();
        complete(layout, &tables, answers, &["h100"], &mut missing);
        missing.into_iter().map(|missing| missing.flag).collect()
    }

    #[test]
    fn all_missing_answers_are_listed_at_once() {
        let tables = [
            table("gemm/h100/data.csv", "m,k,n,latency_us\n1,2,3,4\n"),
            table("mha/decode/h100/8-8-128.csv", "batch_size,kv_len,latency_us\n1,2,3\n"),
            table("mha/prefill/h100/8-8-128.csv", "1,2\n"),
        ];
        let expected = [
            "--gpu",
            "--dtype",
            "--gemm-dtype",
            "--header prefill=COLUMNS",
            "--kv-dtype",
            "--name",
            "--timing",
            "--source",
            "--license",
            "--date",
            "--engine",
        ];
        assert_eq!(flags(Layout::Blis, &tables, &Answers::default()), expected);
    }

    #[test]
    fn answers_in_the_files_are_not_missing() {
        let csv = "framework,version,gemm_dtype,m,n,k,latency\nVLLM,0.24.0,bfloat16,1,2,3,4\n";
        let tables = [table("gemm_perf.txt", csv)];
        let found = flags(Layout::AiConfigurator, &tables, &Answers::default());
        assert_eq!(found, ["--gpu", "--name", "--timing", "--source", "--license", "--date"]);
        let tables = [table("custom_allreduce_perf.txt", "num_gpus,message_size,latency\n2,1,1\n")];
        let found = flags(Layout::AiConfigurator, &tables, &Answers::default());
        assert!(found.contains(&"--element-bytes".to_owned()));
    }
}
