//! `rooflut import aiconfigurator` of parquet tables.
#![cfg(feature = "parquet")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as tests do"
)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::support::imports::SAID;
use crate::support::{failure, json, list};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const SCHEMA: &str = "message table {
    REQUIRED BYTE_ARRAY framework (UTF8); REQUIRED BYTE_ARRAY version (UTF8);
    REQUIRED BYTE_ARRAY device (UTF8); REQUIRED BYTE_ARRAY op_name (UTF8);
    REQUIRED BYTE_ARRAY kernel_source (UTF8); REQUIRED BYTE_ARRAY gemm_dtype (UTF8);
    REQUIRED INT64 m; REQUIRED INT64 n; REQUIRED INT64 k;
    REQUIRED DOUBLE latency;
}";

/// The columns of text, in the order of the schema.
const TEXTS: [&str; 6] = [
    "VLLM",
    "0.24.0",
    "NVIDIA H100 80GB HBM3",
    "gemm",
    "torch",
    "bfloat16",
];

/// A GEMM: m, n, k and milliseconds.
type Row = (i64, i64, i64, f64);

fn write(path: &Path, rows: &[Row], compression: Compression) {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let file = File::create(path).expect("a file");
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    for name in TEXTS {
        let mut column = group.next_column().expect("a column").expect("six of text");
        let values = vec![ByteArray::from(name); rows.len()];
        column
            .typed::<ByteArrayType>()
            .write_batch(&values, None, None)
            .expect("written");
        column.close().expect("closed");
    }
    let whole: [fn(&Row) -> i64; 3] = [|row| row.0, |row| row.1, |row| row.2];
    for pick in whole {
        let mut column = group
            .next_column()
            .expect("a column")
            .expect("three of integers");
        let values: Vec<i64> = rows.iter().map(pick).collect();
        column
            .typed::<Int64Type>()
            .write_batch(&values, None, None)
            .expect("written");
        column.close().expect("closed");
    }
    let mut column = group
        .next_column()
        .expect("a column")
        .expect("one of floats");
    let values: Vec<f64> = rows.iter().map(|row| row.3).collect();
    column
        .typed::<DoubleType>()
        .write_batch(&values, None, None)
        .expect("written");
    column.close().expect("closed");
    group.close().expect("closed");
    writer.close().expect("closed");
}

/// The command that imports the tables of a folder to `mine` in it.
fn command(folder: &Path) -> String {
    let folder = folder.display();
    format!("import aiconfigurator {folder} {folder}/mine {SAID}")
}

#[test]
fn rows_survive_every_compression_to_the_last_digit() {
    let milliseconds = [0.0042, 0.012_345_678_901_234, 0.1 + 0.2, 1.0 / 3.0];
    let rows: Vec<Row> = milliseconds
        .iter()
        .zip([1, 8, 64, 512])
        .map(|(ms, m)| (m, 512, 256, *ms))
        .collect();
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
    ];
    for compression in compressions {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("gemm_perf.parquet"), &rows, compression);
        let dest = folder.path().join("mine");
        let answer = json(&command(folder.path()));
        assert_eq!(answer.pointer("/tables/0/written"), Some(&4.into()));
        let csv = std::fs::read_to_string(dest.join("gemm.csv")).expect("a table");
        let latencies: Vec<&str> = csv
            .lines()
            .skip(1)
            .filter_map(|row| row.rsplit(',').next())
            .collect();
        // The digits of the milliseconds, three places on.
        let expected = [
            "4.2",
            "12.345678901234",
            "300.00000000000004",
            "333.3333333333333",
        ];
        assert_eq!(latencies, expected, "{compression:?}");
        assert!(csv.contains("\nbf16,256,512,64,"), "{csv}");
    }
}

#[test]
fn a_file_that_is_no_parquet_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("gemm_perf.parquet"), "m,n,k\n").expect("a file");
    let dest = folder.path().join("mine");
    let message = failure(&command(folder.path()));
    assert!(
        message.contains("gemm_perf.parquet: expected a parquet table"),
        "{message}"
    );
    assert!(!dest.exists());
}

/// Prints how long it took (`--nocapture`); built with `--release` that is the figure of docs/import.md.
#[test]
fn a_hundred_thousand_rows_are_imported() {
    let mut rows = Vec::new();
    for n in 1..=125 {
        for k in 1..=25 {
            for m in 1..=32 {
                let (m, n, k) = (m * 8, n * 64, k * 64);
                let us = 5.0 + 3e-9 * (m * n * k) as f64;
                rows.push((m, n, k, us * 1e-3));
            }
        }
    }
    assert_eq!(rows.len(), 100_000);
    let folder = tempfile::tempdir().expect("a folder");
    write(
        &folder.path().join("gemm_perf.parquet"),
        &rows,
        Compression::SNAPPY,
    );
    let start = Instant::now();
    let answer = json(&command(folder.path()));
    println!(
        "100,000 rows of parquet imported in {:.2} s",
        start.elapsed().as_secs_f64()
    );
    assert_eq!(answer.pointer("/tables/0/read"), Some(&100_000.into()));
    assert_eq!(answer.pointer("/tables/0/written"), Some(&100_000.into()));
    assert!(list(&answer, "/findings").is_empty());
}
