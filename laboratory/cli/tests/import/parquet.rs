//! `rooflut-lab import aiconfigurator` of parquet tables.
#![cfg(feature = "parquet")]
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails as tests do")]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use crate::imports::{SAID, counts};
use crate::support::{failure, json, list, rooflut, text};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

const SCHEMA: &str = "message table {
    REQUIRED BYTE_ARRAY framework (UTF8); REQUIRED BYTE_ARRAY version (UTF8);
    REQUIRED BYTE_ARRAY device (UTF8); REQUIRED BYTE_ARRAY op_name (UTF8);
    REQUIRED BYTE_ARRAY kernel_source (UTF8); REQUIRED BYTE_ARRAY gemm_dtype (UTF8);
    REQUIRED INT64 m; REQUIRED INT64 n; REQUIRED INT64 k;
    OPTIONAL DOUBLE latency; OPTIONAL DOUBLE power;
}";

/// The columns of text before the format, in the order of the schema.
const TEXTS: [&str; 5] = ["VLLM", "0.24.0", "NVIDIA H100 80GB HBM3", "gemm", "torch"];

/// A GEMM: m, n, k and milliseconds; NaN is null.
type Row = (i64, i64, i64, f64);

/// Writes rows in two row groups. Each takes a power of its own, which is the reciprocal of its time.
fn write(path: &Path, rows: &[Row], compression: Compression) {
    write_formats(path, rows, compression, |_| ByteArray::from("bfloat16"));
}

/// Writes rows as `write`, each with a text for its format.
fn write_formats(path: &Path, rows: &[Row], compression: Compression, format: impl Fn(&Row) -> ByteArray) {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    for rows in rows.chunks(rows.len().div_ceil(2)) {
        let mut group = writer.next_row_group().expect("a row group");
        for name in TEXTS {
            let values = vec![ByteArray::from(name); rows.len()];
            add::<ByteArrayType>(&mut group, &values, None);
        }
        let formats: Vec<ByteArray> = rows.iter().map(&format).collect();
        add::<ByteArrayType>(&mut group, &formats, None);
        let whole: [fn(&Row) -> i64; 3] = [|row| row.0, |row| row.1, |row| row.2];
        for pick in whole {
            let values: Vec<i64> = rows.iter().map(pick).collect();
            add::<Int64Type>(&mut group, &values, None);
        }
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(!row.3.is_nan())).collect();
        let times = rows.iter().map(|row| row.3).filter(|ms| !ms.is_nan());
        let times: Vec<f64> = times.collect();
        let power: Vec<f64> = times.iter().map(|ms| 1.0 / ms).collect();
        add::<DoubleType>(&mut group, &times, Some(&levels));
        add::<DoubleType>(&mut group, &power, Some(&levels));
        group.close().expect("closed");
    }
    writer.close().expect("closed");
}

/// Adds the next column to a row group.
fn add<T: DataType>(group: &mut SerializedRowGroupWriter<'_, File>, values: &[T::T], levels: Option<&[i16]>) {
    let mut column = group.next_column().expect("a column").expect("one of the schema");
    let typed = column.typed::<T>();
    typed.write_batch(values, levels, None).expect("written");
    column.close().expect("closed");
}

/// The command that imports the tables of a folder to `mine` in it.
fn command(folder: &Path) -> String {
    let folder = folder.display();
    format!("import aiconfigurator {folder} {folder}/mine {SAID}")
}

#[test]
fn rows_survive_every_compression_to_the_last_digit() {
    let milliseconds = [0.0042, 0.012_345_678_901_234, 0.1 + 0.2, 1.0 / 3.0];
    let rows: Vec<Row> = milliseconds.iter().zip([1, 8, 64, 512]).map(|(ms, m)| (m, 512, 256, *ms)).collect();
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
        let latencies: Vec<&str> = csv.lines().skip(1).filter_map(|row| row.rsplit(',').next()).collect();
        // The digits of the milliseconds, three places on.
        let expected = ["4.2", "12.345678901234", "300.00000000000004", "333.3333333333333"];
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
    assert!(message.contains("gemm_perf.parquet: expected a parquet table"), "{message}");
    assert!(!dest.exists());
}

#[test]
fn nulls_are_empty_cells_and_a_column_of_many_values_does_not_distinguish_measurements() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut rows: Vec<Row> = (1..=40).map(|m| (m, 512, 256, 1e-3 * (20 + m) as f64)).collect();
    rows.extend([(7, 512, 256, 0.03), (41, 512, 256, f64::NAN)]);
    let path = folder.path().join("gemm_perf.parquet");
    write(&path, &rows, Compression::SNAPPY);
    let answer = json(&command(folder.path()));
    assert_eq!(counts(&answer, "gemm", "repeated with another"), (32, 1));
    assert_eq!(counts(&answer, "gemm", "wrong type"), (32, 1));
    let empty = list(&answer, "/left_out")
        .iter()
        .find(|left_out| text(left_out, "/places") == "42")
        .expect("the row without a time");
    let cause = "latency: expected a positive time, found \"\"";
    assert_eq!(text(empty, "/detail"), cause);
    let ignored = list(&answer, "/files/0/ignored");
    assert!(ignored.contains(&"power".into()), "{ignored:?}");
}

#[test]
fn tables_that_no_set_can_hold_are_counted_without_reading_their_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = [(8, 512, 256, 0.01), (16, 512, 256, 0.02)];
    let path = |name: &str| folder.path().join(name);
    write(&path("gemm_perf.parquet"), &rows, Compression::SNAPPY);
    write(&path("mla_perf.parquet"), &rows, Compression::SNAPPY);
    // The columns begin behind the magic number.
    let mut bytes = std::fs::read(path("mla_perf.parquet")).expect("a file");
    bytes.iter_mut().skip(4).take(64).for_each(|byte| *byte = 0xff);
    std::fs::write(path("mla_perf.parquet"), bytes).expect("a file");
    let answer = json(&command(folder.path()));
    assert_eq!(answer.pointer("/tables/0/written"), Some(&2.into()));
    assert_eq!(answer.pointer("/not_imported/0/rows"), Some(&2.into()));
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
    write(&folder.path().join("gemm_perf.parquet"), &rows, Compression::SNAPPY);
    let start = Instant::now();
    let answer = json(&command(folder.path()));
    println!("100,000 rows of parquet imported in {:.2} s", start.elapsed().as_secs_f64());
    assert_eq!(answer.pointer("/tables/0/read"), Some(&100_000.into()));
    assert_eq!(answer.pointer("/tables/0/written"), Some(&100_000.into()));
    assert!(list(&answer, "/findings").is_empty());
}

/// Changes the number of rows in the footer of a file of two to 2^40.
fn claim_rows(path: &Path) {
    let mut bytes = std::fs::read(path).expect("a file");
    // Field 3 with its number, before the list of row groups.
    let at = bytes.windows(3).rposition(|window| window == [0x16, 4, 0x19]).expect("a number of rows") + 1;
    bytes.splice(at..=at, [0x80, 0x80, 0x80, 0x80, 0x80, 0x40]);
    let end = bytes.split_off(bytes.len() - 8);
    let (length, magic) = end.split_first_chunk().expect("eight bytes");
    bytes.extend((u32::from_le_bytes(*length) + 5).to_le_bytes());
    bytes.extend(magic);
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn a_small_table_that_stands_for_much_is_refused_within_a_gigabyte() {
    let zstd = Compression::ZSTD(Default::default());
    let long = |row: &Row, length: usize| ByteArray::from(format!("{}{}", row.0, "0".repeat(length)).into_bytes());
    let rows: Vec<Row> = (1..=600).map(|m| (m, 512, 256, 0.01)).collect();
    type Make<'m> = &'m dyn Fn(&Path);
    let cases: [(Make<'_>, &str); 3] = [
        (&|path| write_formats(path, &rows, zstd, |row| long(row, 1 << 20)), "at most 512 MiB in memory"),
        (&|path| write_formats(path, &rows[..2], zstd, |row| long(row, 100 << 20)), "expected pages of at most 16 MiB"),
        (
            &|path| {
                write(path, &rows[..2], zstd);
                claim_rows(path);
            },
            "at most 512 MiB in memory",
        ),
    ];
    for (make, problem) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gemm_perf.parquet");
        make(&path);
        assert!(std::fs::metadata(&path).expect("a file").len() < 1 << 20);
        let import = rooflut(&command(folder.path()));
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -v 900000; exec \"$0\" \"$@\""]).arg(import.get_program()).args(import.get_args());
        let output = limited.output().expect("it starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(problem) && message.contains("gemm_perf.parquet"), "{message}");
    }
}
