//! `rooflut sweep` with folders of Parquet files.
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;

use crate::support::{failure, new_path, rooflut, success};
use crate::sweep::rows;

/// Files of a folder by name.
fn files(folder: impl AsRef<Path>) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| {
        let entry = entry.expect("a file");
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).expect("a file"))
    });
    entries.collect()
}

/// The rows of a folder, as the cells of CSV.
fn parquet_rows(folder: &str) -> Vec<HashMap<String, String>> {
    let mut rows = Vec::new();
    for name in files(folder).into_keys() {
        let file = fs::File::open(Path::new(folder).join(name)).expect("a file");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            let cells = row.get_column_iter().map(|(name, field)| {
                let cell = match field {
                    Field::Null => String::new(),
                    Field::Str(text) => text.clone(),
                    Field::Bool(truth) => truth.to_string(),
                    Field::Long(whole) => whole.to_string(),
                    Field::Double(number) => number.to_string(),
                    other => unreachable!("{name}: {other}"),
                };
                (name.clone(), cell)
            });
            rows.push(cells.collect());
        }
    }
    rows
}

/// A number as any format writes it.
fn plain(cell: &str) -> String {
    let number = cell.parse::<f64>();
    number.map_or_else(|_| cell.to_owned(), |number| number.to_string())
}

#[test]
fn a_folder_of_parquet_files_has_the_rows_of_the_csv() {
    const GRID: &str = "sweep --requests 5 --tp 1,3 --rate 1..600 --goodput ttft:40";
    let (_folder, out) = new_path("out.parquet");
    let answer = success(&format!("{GRID} --out {out}"));
    assert!(answer.ends_with("out.parquet: 1200 deployments simulated, 600 with an error\n"), "{answer}");
    let names: Vec<_> = files(&out).into_keys().collect();
    assert_eq!(names, ["part-000000.parquet", "part-000001.parquet"]);
    let (of_csv, of_parquet) = (rows(&success(GRID)), parquet_rows(&out));
    assert_eq!(of_csv.len(), of_parquet.len());
    for (csv, parquet) in of_csv.iter().zip(&of_parquet) {
        assert_eq!(csv.len(), parquet.len());
        for (name, cell) in csv {
            assert_eq!(plain(cell), plain(&parquet[name]), "{name}");
        }
    }
    // It is kept.
    let message = failure(&format!("{GRID} --out {out}"));
    assert!(message.contains("already exists; continue it with --resume"), "{message}");
    let message = failure(&format!("{GRID} --seed 3 --out {out} --resume"));
    assert!(message.contains("part-000000.parquet:1: expected a row of this grid"), "{message}");
}

#[test]
fn folders_of_shards_join_to_that_of_one_run_with_its_chart() {
    const GRID: &str = "sweep --requests 3 --tp 1,2 --rate 1..1100";
    let (folder, out) = new_path("whole.parquet");
    let plot = "--plot ttft_mean:rate";
    success(&format!("{GRID} --out {out} {plot}"));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let shards = [2, 1].map(|number| {
        let path = at(&format!("{number}.parquet"));
        success(&format!("{GRID} --shard {number}/2 --out {path}"));
        path
    });
    let (shards, joined) = (shards.join(" "), at("joined.parquet"));
    let answer = success(&format!("sweep --merge {shards} --out {joined} {plot}"));
    assert!(answer.contains("joined.parquet: 2200 rows of 2 folders"), "{answer}");
    assert!(files(&joined) == files(&out));
    assert_eq!(files(&joined).len(), 3);
    let chart = |name: &str| fs::read(at(name)).expect("a chart");
    assert_eq!(chart("joined.ttft_mean-rate.svg"), chart("whole.ttft_mean-rate.svg"));
    // Neither an incomplete set nor another format leaves anything behind.
    let before = files_in(folder.path());
    let message = failure(&format!("sweep --merge {} --out {}", at("1.parquet"), at("new.parquet")));
    assert!(message.contains("deployment 1 is missing"), "{message}");
    let message = failure(&format!("sweep --merge {shards} --out {}", at("new.csv")));
    assert!(message.contains("expected shards of the format of --out"), "{message}");
    assert_eq!(files_in(folder.path()), before);
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn a_signal_keeps_rows_with_which_a_sweep_goes_on() {
    use std::process::{Command, Stdio};
    use std::thread::yield_now;

    use crate::support::rooflut;

    // Rows are first written after a second, of several.
    const GRID: &str = "sweep --requests 20000 --tp 1,2,4 --rate 1..40";
    let (_folder, out) = new_path("out.parquet");
    let mut command = rooflut(&format!("{GRID} --out {out}"));
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    while !Path::new(&out).join("part-000000.parquet").exists() {
        assert!(child.try_wait().expect("a process").is_none(), "too fast");
        yield_now();
    }
    let mut kill = Command::new("kill");
    kill.args(["-INT".to_owned(), child.id().to_string()]);
    assert!(kill.status().expect("kill starts").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let kept = parquet_rows(&out).len();
    assert!((1..120).contains(&kept), "{kept}");
    let answer = success(&format!("{GRID} --out {out} --resume"));
    let new = format!("{} deployments simulated; 120 rows", 120 - kept);
    assert!(answer.contains(&new), "{answer}");
    let (_folder, whole) = new_path("whole.parquet");
    success(&format!("{GRID} --out {whole}"));
    assert!(files(&out) == files(&whole));
}

/// Writes rows whose grid is one long text.
fn write_long(path: &Path, rows: i64, length: usize) {
    let schema =
        "message sweep { OPTIONAL INT64 index; OPTIONAL BYTE_ARRAY grid (UTF8); OPTIONAL BYTE_ARRAY checksum (UTF8); }";
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default()));
    // The text is in the dictionary once.
    let properties = properties.set_dictionary_page_size_limit(1 << 30).build();
    let file = fs::File::create(path).expect("a file");
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    let levels = vec![1; rows as usize];
    let mut column = group.next_column().expect("a column").expect("the index");
    let numbers: Vec<i64> = (1..=rows).collect();
    column.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None).expect("written");
    column.close().expect("closed");
    for length in [length, 1] {
        let mut column = group.next_column().expect("a column").expect("grid or checksum");
        let text = ByteArray::from(vec![b'x'; length]);
        column.typed::<ByteArrayType>().write_batch(&vec![text; rows as usize], Some(&levels), None).expect("written");
        column.close().expect("closed");
    }
    group.close().expect("closed");
    writer.close().expect("closed");
}

#[test]
fn a_small_part_that_stands_for_much_is_refused_within_little_memory() {
    for (rows, length, problem) in [
        (6, 15 << 20, "its texts have more than 64 MiB"),
        (1, 100 << 20, "expected pages of at most 16 MiB, found one of 104857604 bytes"),
        (1001, 1, "it has more than 1000 rows"),
    ] {
        let (folder, out) = new_path("out.parquet");
        let shard = folder.path().join("shard.parquet");
        fs::create_dir(&shard).expect("a folder");
        let part = shard.join("part-000000.parquet");
        write_long(&part, rows, length);
        assert!(fs::metadata(&part).expect("a file").len() < 1 << 20);
        let merge = rooflut(&format!("sweep --merge {} --out {out}", shard.display()));
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\""]).arg(merge.get_program()).args(merge.get_args());
        let output = limited.output().expect("it starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(problem) && message.contains("part-000000.parquet"), "{message}");
    }
}
