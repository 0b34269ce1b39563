//! Sets of the project and made-up rows, written as others publish them.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper of tests fails as tests do"
)]

pub(crate) mod generate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflut_codegen::{MeasuredKernel, OperationKind, read_rows};
use rooflut_error::Error;
use rooflut_import::{Answers, Import, Layout, MeasuredGpu, Source, SourceTable, import};
use rooflut_roofline::operation::{Codes, ColumnKind};
use rooflut_roofline::{Dtype, Gpu};

/// A kernel and its latency in microseconds, in the order of kernels.
pub(crate) type Rows = BTreeMap<MeasuredKernel, f64>;

pub(crate) static H100: Gpu = Gpu::from_generated(
    ["h100", "NVIDIA H100 SXM5 80 GB"],
    (989.5e12, Some(1979.0e12), None),
    [3350.0e9, 450.0e9],
    [85_899_345_920, 50_000_000],
    132,
    [None; 2],
);

/// A GPU on which everything that was measured on any is possible.
pub(crate) static FASTEST: Gpu = Gpu::from_generated(
    ["h100", "NVIDIA H100 SXM5 80 GB"],
    (1e18, Some(1e18), Some(1e18)),
    [1e15, 1e15],
    [85_899_345_920, 50_000_000],
    132,
    [None; 2],
);

pub(crate) fn data(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench_data").join(set)
}

/// The rows of an operation of a set of the project.
pub(crate) fn rows_of(set: &str, operation: OperationKind) -> Rows {
    let path = data(set).join(operation.declared().file);
    if !path.exists() {
        return Rows::new();
    }
    let read = read_rows(&path, Some(operation), &FASTEST).expect("a table");
    assert!(read.refused.is_empty());
    read.rows.iter().map(|row| (row.kernel, row.latency_us)).collect()
}

/// All rows of a set of the project.
pub(crate) fn set(name: &str) -> Rows {
    // The operations that are imported.
    let operations = [
        OperationKind::Gemm,
        OperationKind::Prefill,
        OperationKind::Decode,
        OperationKind::AllReduce,
        OperationKind::Moe,
    ];
    operations
        .into_iter()
        .flat_map(|operation| rows_of(name, operation))
        // No other layout says how many matrices an expert has.
        .filter(|(kernel, _)| kernel.code("matrices") != Some(2))
        .collect()
}

/// Answers to everything.
pub(crate) fn answers(gpu: &Gpu) -> Answers {
    let text = |text: &str| Some(text.to_owned());
    Answers {
        name: text("mine"),
        gpu: Some(MeasuredGpu::Known(gpu.clone())),
        engine: text("an engine"),
        timing: text("made up"),
        source: text("a test"),
        license: text("MIT"),
        date: text("2026-01-31"),
        dtype: Some(Dtype::Bf16),
        kv_dtype: Some(Dtype::Bf16),
        ..Answers::default()
    }
}

pub(crate) fn tables(files: &[(String, String)]) -> Vec<SourceTable> {
    let table = |(path, text): &(String, String)| SourceTable::of_csv(path, text.as_bytes());
    files.iter().map(|file| table(file).expect("text")).collect()
}

pub(crate) fn imported(layout: Layout, files: &[(String, String)], answers: &Answers) -> Result<Import, Error> {
    let source = Source { layout, tables: tables(files), not_imported: Vec::new() };
    let import = import(&source, answers, std::slice::from_ref(&H100))?;
    for table in &import.report.tables {
        assert!(table.adds_up(), "{table:?}");
    }
    let left_out: usize = import.report.left_out.iter().map(|rows| rows.rows).sum();
    assert_eq!(import.report.read(), import.report.written() + left_out);
    Ok(import)
}

/// The rows of the files of an import, read as those of a set are.
pub(crate) fn written(import: &Import) -> Rows {
    let folder = tempfile::tempdir().expect("a folder");
    let mut rows = Rows::new();
    for file in import.files.iter().filter(|file| file.name != "set.toml") {
        let path = folder.path().join(file.name);
        std::fs::write(&path, &file.text).expect("a file");
        let read = read_rows(&path, None, &FASTEST).expect("a table");
        assert!(read.refused.is_empty(), "{:?}", read.refused);
        for row in read.rows {
            assert_eq!(rows.insert(row.kernel, row.latency_us), None, "twice: {row:?}");
        }
    }
    rows
}

/// A number with its decimal point moved three digits to the left, as text.
pub(crate) fn in_ms(latency_us: f64) -> String {
    let text = format!("{latency_us}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let padded = format!("{whole:0>4}");
    let (left, right) = padded.split_at(padded.len() - 3);
    format!("{left}.{right}{fraction}")
}

/// As BLIS publishes them (InferSim, where `tp` is 1): GEMMs of one format, attention by shape.
pub(crate) fn bench_data(rows: &Rows) -> Vec<(String, String)> {
    let of = |operation| match operation {
        OperationKind::Gemm => ("gemm/h100/data", "m,k,n,latency_us", "{m},{k},{n}"),
        OperationKind::Prefill => (
            "mha/prefill/h100/{q_heads}-{kv_heads}-{head_dim}",
            "dtype,kv_dtype,batch_size,seq_len,latency_us",
            "{dtype},{kv_dtype},{batch},{seq_len}",
        ),
        OperationKind::Decode => (
            "mha/decode/h100/{q_heads}-{kv_heads}-{head_dim}-tp{tp}",
            "dtype,kv_dtype,batch_size,kv_len,latency_us",
            "{dtype},{kv_dtype},{batch},{kv_len}",
        ),
        other => panic!("no place for {other:?}"),
    };
    let mut texts = BTreeMap::<String, String>::new();
    for (kernel, us) in rows {
        let (path, header, row) = of(kernel.operation());
        let path = filled(path, kernel, Dtype::name).replace("-tp1", "");
        let row = filled(row, kernel, Dtype::name);
        let text = texts.entry(format!("bench_data/{path}.csv")).or_insert_with(|| format!("{header}\n"));
        text.push_str(&format!("{row},{us}\n"));
    }
    texts.into_iter().collect()
}

/// As AIConfigurator publishes them.
pub(crate) fn perf(rows: &Rows) -> Vec<(String, String)> {
    let of = |operation| match operation {
        OperationKind::Gemm => ("gemm", "gemm_dtype,m,n,k", "{dtype},{m},{n},{k}"),
        OperationKind::Prefill => (
            "context_attention",
            "batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step",
            "{batch},{seq_len},{q_heads},{kv_heads},{head_dim},1,{dtype},{kv_dtype},0",
        ),
        OperationKind::Decode => (
            "generation_attention",
            "batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step",
            "{batch},1,{q_heads},{kv_heads},{head_dim},1,{dtype},{kv_dtype},{step}",
        ),
        OperationKind::AllReduce => {
            ("custom_allreduce", "allreduce_dtype,num_gpus,message_size", "bfloat16,{ranks},{elements}")
        }
        OperationKind::Moe => (
            "moe",
            "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution",
            "{dtype},{tokens},{hidden},{intermediate},{top_k},{experts},{tp},{ep},power_law_1.01",
        ),
        other => panic!("no place for {other}"),
    };
    let dtype = |dtype: Dtype| match dtype {
        Dtype::Bf16 => "bfloat16",
        other => other.name(),
    };
    let mut texts = BTreeMap::<String, String>::new();
    for (kernel, us) in rows {
        let (name, header, row) = of(kernel.operation());
        let text = texts
            .entry(format!("data/h100_sxm/vllm/0.24.0/{name}_perf.txt"))
            .or_insert_with(|| format!("framework,version,device,op_name,kernel_source,{header},latency\n"));
        let (row, ms) = (filled(row, kernel, dtype), in_ms(*us));
        text.push_str(&format!("VLLM,0.24.0,NVIDIA H100 80GB HBM3,{name},default,{row},{ms}\n"));
    }
    texts.into_iter().collect()
}

/// Replaces the names in braces by the cells of a kernel: its columns and coordinates, cached tokens, and
/// elements of 16 bits.
fn filled(template: &str, kernel: &MeasuredKernel, dtype: fn(Dtype) -> &'static str) -> String {
    let declared = kernel.operation().declared();
    let [first, second] = kernel.point();
    let axes = declared.axes.iter().copied().zip(kernel.point());
    let others = [("step", second - 1), ("elements", first / 2)];
    let mut text = template.to_owned();
    for (name, number) in axes.chain(others) {
        text = text.replace(&format!("{{{name}}}"), &number.to_string());
    }
    for (column, code) in declared.shape.iter().zip(kernel.shape::<Codes>()) {
        let cell = match column.kind {
            ColumnKind::Dtype => dtype(Dtype::ALL[code as usize]).to_owned(),
            _ => code.to_string(),
        };
        text = text.replace(&format!("{{{}}}", column.name), &cell);
    }
    text
}
