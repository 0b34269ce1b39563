//! Rows are those of runs that share nothing.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rooflut::model;
use rooflut::table::sets;
use rooflut_scenario::{Kind, Model, Resources, Run, Scenario, Stop, no_others};
use rooflut_sweep::{Axis, Error, Grid, Named, Row, Shard, Sources, Sweep, earlier, merge};
use rooflut_traces::Input;
use serde_json::{Value, json};

#[cfg(feature = "parquet")]
#[path = "rows/parquet.rs"]
mod parquet;

fn open(path: &Path) -> io::Result<Input> {
    File::open(path).map(Input::from)
}

fn named(scenario: &Scenario) -> Result<Named, Error> {
    let name = scenario.target.model();
    let entry = model::find(name).ok_or_else(|| Error::new(Kind::UnknownName, format!("no model {name}")))?;
    Ok(Named { model: Model::new(entry.name, entry.spec), draft_model: None, tables: sets::H100.clone() })
}

fn grid(lists: &[(&str, &str)]) -> Grid {
    let mut base = Scenario::default();
    base.workload.requests = Some(60);
    let axes = lists.iter().map(|(key, text)| Axis::read(key, [*text]));
    let axes = axes.collect::<Result<_, _>>().expect("axes");
    Grid::try_new(&base, axes).expect("a grid")
}

fn sweep(lists: &[(&str, &str)]) -> Result<Sweep<'static>, Error> {
    Sweep::try_new(grid(lists), Sources { find: Arc::new(named), open: Arc::new(open) }, "test")
}

/// Lists points: objects with the same keys.
fn listed(points: &[Value]) -> Result<Sweep<'static>, Error> {
    let mut base = Scenario::default();
    base.workload.requests = Some(60);
    let keys: Vec<&str> = points[0].as_object().expect("an object").keys().map(String::as_str).collect();
    let values = points.iter().map(|point| Ok(keys.iter().map(|key| point[*key].clone()).collect::<Vec<_>>()));
    let grid = Grid::of_points(&base, &keys, values, 10).expect("a grid");
    Sweep::try_new(grid, Sources { find: Arc::new(named), open: Arc::new(open) }, "test")
}

/// The figures of a row, and its error.
fn figures(sweep: &Sweep<'_>, row: &Row) -> Vec<Value> {
    let first = sweep.columns().iter().position(|(name, _)| name == "engine").expect("a figure");
    let (_checksum, values) = row.values().split_last().expect("values");
    values[first..].to_vec()
}

/// The CSV of a shard.
fn csv(sweep: &Sweep<'_>, shard: Shard, done: u64, threads: usize) -> Vec<u8> {
    let mut csv = match done {
        0 => sweep.csv_header(),
        _ => Vec::new(),
    };
    let rows = sweep.rows(shard, done, threads, |row| {
        csv.extend(row.csv());
        Ok::<_, Error>(())
    });
    rows.expect("rows");
    csv
}

#[test]
fn each_row_is_the_report_of_its_scenario_or_its_error() {
    for lists in [
        [("tp", "1,3,2"), ("rate", "2,9"), ("seed", "0..1"), ("replicas", "1,2")],
        [("seed", "4,2"), ("users", "1,5"), ("max_num_seqs", "2,64"), ("output", "9,uniform:1..40")],
        [("prefill_replicas", "1,2"), ("decode_replicas", "1,2"), ("link_bandwidth", "20,50"), ("link_latency", "10")],
        [("router", "round-robin,least-tokens"), ("replicas", "1,2"), ("rate", "3,30"), ("dp", "1,2")],
    ] {
        let sweep = sweep(&lists).expect("a sweep");
        let (mut served, mut failed) = (0, 0);
        for index in 0..sweep.grid().len() {
            let row = sweep.row(index).expect("a row");
            let cell = |name: &str| {
                let columns = sweep.columns();
                let column = columns.iter().position(|column| column.0 == name);
                &row.values()[column.expect(name)]
            };
            let scenario = sweep.grid().scenario(index).expect("a scenario");
            let named = named(&scenario).expect("a model");
            let resources = Resources {
                model: named.model,
                draft_model: None,
                tables: named.tables,
                find: &no_others,
                read: &open,
            };
            let run = Run::try_new(scenario, resources);
            let report = run.as_ref().map(|run| run.run(&mut ()).expect("a run").report());
            match report {
                Err(error) => {
                    assert_eq!(*cell("error"), Value::from(error.to_string()));
                    assert_eq!(*cell("ttft_mean_ms"), Value::Null);
                    failed += 1;
                }
                Ok(report) => {
                    let json = serde_json::to_value(report).expect("JSON");
                    for (name, pointer) in [
                        ("ttft_mean_ms", "/ttft_ms/mean"),
                        ("e2e_p90_ms", "/e2e_ms/p90"),
                        ("output_tokens_per_s", "/throughput/output_tokens_per_s"),
                        ("completed", "/completed"),
                        ("gpus", "/gpus"),
                        ("usd_per_request", "/cost/usd_per/request"),
                        ("wh_per_million_tokens", "/energy_bound/wh_per/million_tokens"),
                        ("class", "/class"),
                        ("time_share_fitted", "/time_share_by_source/fitted"),
                    ] {
                        let expected = json.pointer(pointer).expect(pointer);
                        assert_eq!(cell(name), expected, "{name} of {index} in {lists:?}");
                    }
                    assert_eq!(*cell("error"), Value::Null);
                    served += 1;
                }
            }
        }
        assert!(served > 3, "{lists:?}: {served} served, {failed} failed");
    }
}

#[test]
fn a_key_that_is_null_is_not_given_whatever_other_points_have() {
    let pools = json!({"replicas": null, "prefill_replicas": 1, "decode_replicas": 2, "link_bandwidth": 50,
        "link_latency": 10});
    let none = json!({"replicas": 2, "prefill_replicas": null, "decode_replicas": null, "link_bandwidth": null,
        "link_latency": null});
    let mut plain = none.clone();
    plain["replicas"] = Value::Null;
    for points in [
        vec![json!({"seed": 7}), json!({"seed": null}), json!({"seed": 3})],
        vec![json!({"rate": 4}), json!({"rate": null}), json!({"rate": 9.5})],
        vec![json!({"rate": 4, "seed": null}), json!({"rate": null, "seed": 7}), json!({"rate": 30, "seed": 2})],
        vec![json!({"rate": null, "users": 4}), json!({"rate": 3, "users": null})],
        vec![pools, none, plain],
    ] {
        let alone: Vec<_> = points.iter().map(|point| listed(std::slice::from_ref(point)).expect("a sweep")).collect();
        let alone: Vec<_> = alone.iter().map(|sweep| figures(sweep, &sweep.row(0).expect("a row"))).collect();
        assert!(alone.iter().all(|row| row.last() == Some(&Value::Null)), "{points:?}: {alone:?}");
        assert!(alone.iter().zip(&alone[1..]).all(|(one, other)| one != other), "{points:?}: {alone:?}");
        let orders = [(0..points.len()).collect::<Vec<_>>(), (0..points.len()).rev().collect()];
        for (order, threads) in orders.iter().flat_map(|order| [(order, 1), (order, 3)]) {
            let sweep = listed(&order.iter().map(|place| points[*place].clone()).collect::<Vec<_>>()).expect("a sweep");
            let mut rows = Vec::new();
            let all = sweep.rows(Shard::WHOLE, 0, threads, |row| {
                rows.push(figures(&sweep, &row));
                Ok::<_, Error>(())
            });
            all.expect("rows");
            for (place, row) in order.iter().zip(rows) {
                assert_eq!(row, alone[*place], "{} in {order:?}", points[*place]);
            }
        }
    }
}

#[test]
fn threads_shards_and_earlier_rows_change_no_byte() {
    let sweep = sweep(&[("tp", "1,3,2"), ("rate", "1..9:2")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    assert_eq!(csv(&sweep, Shard::WHOLE, 0, 4), whole);
    let shards = ["3/4", "1/4", "4/4", "2/4"].map(|shard| {
        let shard: Shard = shard.parse().expect("a shard");
        (shard, csv(&sweep, shard, 0, 2))
    });
    let mut merged = Vec::new();
    let named = shards.iter().map(|(of, csv)| (of.to_string(), csv.as_slice()));
    let write = |line: &[u8]| -> Result<(), Error> {
        merged.extend_from_slice(line);
        Ok(())
    };
    assert_eq!(merge(named, write).expect("all rows"), 15);
    assert_eq!(merged, whole);
    // Torn wherever a process may end.
    for (shard, whole) in shards.into_iter().chain([(Shard::WHOLE, whole)]) {
        for end in (0..whole.len()).step_by(97).chain([whole.len()]) {
            let found = earlier(&whole[..end], "x.csv", &sweep, shard).expect("a part");
            let mut resumed = whole[..found.bytes as usize].to_vec();
            assert!(resumed.is_empty() || resumed.ends_with(b"\n"));
            if found.bytes == 0 {
                continue;
            }
            let new = csv(&sweep, shard, found.rows, 2);
            let header = sweep.csv_header();
            resumed.extend(new.strip_prefix(header.as_slice()).unwrap_or(&new));
            assert_eq!(resumed, whole, "{shard} torn at {end}");
        }
    }
}

#[test]
fn shards_of_several_counts_join_in_any_order() {
    let sweep = sweep(&[("tp", "1,2"), ("rate", "1..9:2")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    let join = |shards: &[String]| {
        let mut merged = Vec::new();
        let named = shards.iter().map(|of| (of.clone(), csv(&sweep, of.parse().expect("a shard"), 0, 1)));
        let named: Vec<_> = named.collect();
        let named = named.iter().map(|(of, csv)| (of.clone(), csv.as_slice()));
        let count = merge(named, |line| {
            merged.extend_from_slice(line);
            Ok::<_, Error>(())
        });
        count.map(|count| (count, merged))
    };
    // Half of the last have no row.
    for mut shards in
        [vec!["4/4".to_owned(), "1/2".into(), "2/4".into()], (1..=20).map(|of| format!("{of}/20")).collect()]
    {
        for _ in 0..2 {
            shards.reverse();
            assert_eq!(join(&shards).expect("all rows"), (10, whole.clone()), "{shards:?}");
        }
        let twice = [shards.as_slice(), &shards[..1]].concat();
        let error = join(&twice).expect_err("a shard twice").to_string();
        assert!(error.starts_with(&format!("{}:2: expected each deployment once", shards[0])), "{error}");
        shards.remove(0);
        assert!(join(&shards).expect_err("one less").to_string().contains("missing"));
    }
}

#[test]
fn ranges_in_their_order_are_the_rows_of_the_whole() {
    let sweep = sweep(&[("tp", "1,3,2"), ("rate", "1..9:2")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    let range = |indices: Range<u64>, threads| {
        let mut csv = Vec::new();
        let rows = sweep.rows_of(indices, threads, &Stop::default(), |row| {
            csv.extend(row.csv());
            Ok::<_, Error>(())
        });
        rows.map(|()| csv)
    };
    let header = sweep.csv_header();
    let ranges = [0..4, 4..4, 4..14, 14..99].map(|indices| range(indices, 3).expect("rows"));
    assert_eq!([&[header], ranges.as_slice()].concat().concat(), whole);
    // Only rows that are whole and due go on.
    let [first, _, second, _] = &ranges;
    assert_eq!(sweep.check_csv(first, 0).expect("rows"), 4);
    assert_eq!(sweep.check_csv(b"", 9).expect("no rows"), 0);
    let refused = |csv: &[u8], first| sweep.check_csv(csv, first).expect_err("other rows").to_string();
    assert!(
        refused(second, 0).starts_with("row 0: expected row 1 of shard 1/1, found deployment 4; simulate it again")
    );
    assert!(refused(&first[..first.len() - 1], 0).starts_with("row 3: expected a whole row, found a part of one"));
    let stop = Stop::default();
    stop.stop();
    let stopped = sweep.rows_of(0..1, 1, &stop, |_| Ok::<_, Error>(())).expect_err("stopped");
    assert!(stopped.to_string().contains("stopped before its end"), "{stopped}");
    assert!(range(0..1, 1).is_ok());
}

#[test]
fn rows_of_others_are_rejected() {
    let mine = sweep(&[("tp", "1,2"), ("rate", "1..9:2")]).expect("a sweep");
    let other = sweep(&[("tp", "1,2"), ("rate", "1..9:4")]).expect("a sweep");
    let (shard, whole): (Shard, _) = ("1/2".parse().expect("a shard"), Shard::WHOLE);
    let refused = |csv: &[u8], shard| {
        let error = earlier(csv, "x.csv", &mine, shard).expect_err("another file");
        error.to_string()
    };
    let message = refused(&csv(&other, whole, 0, 1), whole);
    assert!(message.starts_with("x.csv:2: expected a row of this grid"), "{message}");
    let message = refused(&csv(&mine, shard, 0, 1), whole);
    assert!(message.contains("x.csv:3: expected row 2 of shard 1/1, found deployment 2"), "{message}");
    assert!(refused(b"a,b\n1,2\n", whole).starts_with("x.csv:1: expected the header"));
    let rows = [shard, "2/2".parse().expect("a shard")].map(|shard| csv(&mine, shard, 0, 1));
    let merged = |parts: &[&[u8]]| {
        let named = parts.iter().enumerate().map(|(number, csv)| (format!("{number}.csv"), *csv));
        merge(named, |_| Ok::<_, Error>(())).expect_err("no whole").to_string()
    };
    let [first, second] = [rows[0].as_slice(), rows[1].as_slice()];
    assert!(merged(&[second]).starts_with("deployment 0 is missing"));
    assert!(merged(&[first]).starts_with("deployment 1 is missing"));
    assert!(merged(&[first, second, second]).contains("found 1 after 1"));
    assert!(merged(&[first, &second[..second.len() - 1]]).contains("expected a whole row"));
    let lines: Vec<&[u8]> = second.split_inclusive(|byte| *byte == b'\n').collect();
    let short = lines[..lines.len() - 1].concat();
    assert!(merged(&[first, &short]).starts_with("deployment 9 is missing"));
    let foreign = csv(&other, whole, 0, 1);
    assert!(merged(&[first, &foreign]).contains("expected a row of grid"));
    assert!(merged(&[b"a,b\n"]).starts_with("0.csv:1: expected the header of a sweep"));
}

/// The lines of a CSV file, one of them changed.
fn changed(csv: &[u8], number: usize, change: impl Fn(&str) -> String) -> Vec<u8> {
    let lines = str::from_utf8(csv).expect("UTF-8").split_inclusive('\n').zip(1..);
    lines.map(|(line, of)| if of == number { change(line) } else { line.to_owned() }).collect::<String>().into_bytes()
}

/// The first two cells of a line, and a third.
fn torn(line: &str) -> String {
    line.split(',').take(2).chain(["x\n"]).collect::<Vec<_>>().join(",")
}

#[test]
fn a_row_with_a_wrong_cell_is_rejected_with_its_line_and_column() {
    let sweep = sweep(&[("tp", "1,3"), ("rate", "1..9:2")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    let columns = sweep.columns();
    let set = |name: &str, cell: &str| {
        let place = columns.iter().position(|column| column.0 == name).expect(name);
        changed(&whole, 3, |line| {
            let mut cells: Vec<&str> = line.split(',').collect();
            cells[place] = cell;
            cells.join(",")
        })
    };
    let resumed = |csv: &[u8]| earlier(csv, "x.csv", &sweep, Shard::WHOLE).map(|found| found.rows);
    let merged = |csv: &[u8]| merge([("x.csv".to_owned(), csv)], |_| Ok::<_, Error>(()));
    assert_eq!((resumed(&whole), merged(&whole)), (Ok(10), Ok(10)));
    let cells = columns.len();
    let in_text = |line: &str| format!("{}\n", line.split_once("expected a multiple").expect("an error").0);
    for (csv, message) in [
        (set("ttft_mean_ms", "x"), "3: ttft_mean_ms: expected a number, found \"x\"; remove this row"),
        (set("ttft_mean_ms", "inf"), "3: ttft_mean_ms: expected a number, found \"inf\""),
        (set("completed", "1.5"), "3: completed: expected a whole number, found \"1.5\""),
        (set("overloaded", "no"), "3: overloaded: expected true or false, found \"no\""),
        (set("schema_version", "x"), "3: schema_version: expected a whole number, found \"x\""),
        (set("ttft_mean_ms", "1,2"), &format!("3: expected {cells} cells, found {}", cells + 1)),
        (changed(&whole, 3, torn), &format!("3: expected {cells} cells, found 3")),
        (changed(&whole, 8, in_text), "8: expected a whole row, found a quote that does not end in its line"),
        (changed(&whole, 8, |line| in_text(line) + line), "8: expected a whole row, found a quote"),
    ] {
        let expected = format!("x.csv:{message}");
        for found in [resumed(&csv), merged(&csv)].map(|found| found.expect_err(message).to_string()) {
            assert!(found.starts_with(&expected), "{found}");
        }
    }
    // A value of the right kind is none that was written.
    for csv in [set("rate", "5.0"), set("tp", "3"), set("schema_version", "9999"), set("ttft_mean_ms", "")] {
        for found in [resumed(&csv), merged(&csv)].map(|found| found.expect_err("a changed row").to_string()) {
            assert!(found.starts_with("x.csv:3: checksum: expected "), "{found}");
            assert!(
                found.ends_with(
                    "the row was changed after it was written; remove this row and those below it, then resume"
                ),
                "{found}"
            );
        }
    }
    let longer = changed(&whole, 3, |line| "x".repeat(1 << 20) + line);
    for found in [resumed(&longer), merged(&longer)].map(|found| found.expect_err("too long").to_string()) {
        assert!(found.starts_with("x.csv:3: expected a line of at most 1 MiB, found a longer one"), "{found}");
    }
}

/// Replaces the last cell of a line by the CRC-32 of those before it.
fn summed(line: &str) -> String {
    let (cells, _) = line.rsplit_once(',').expect("cells");
    let shift = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let crc = cells.bytes().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(byte), shift));
    format!("{cells},{:08x}\n", !crc)
}

#[test]
fn a_row_with_a_wrong_cell_is_rejected_whatever_its_checksum() {
    let sweep = sweep(&[("tp", "1,3"), ("rate", "1..9:2")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    let columns = sweep.columns();
    let cells = columns.len();
    let set = |name: &str, cell: &str| {
        let place = columns.iter().position(|column| column.0 == name).expect(name);
        let with_cell = |line: &str| {
            let mut cells: Vec<&str> = line.split(',').collect();
            cells[place] = cell;
            summed(&cells.join(","))
        };
        changed(&whole, 3, with_cell)
    };
    let shorter = |line: &str| {
        let (cells, _) = line.rsplit_once(",,").expect("no error");
        summed(&format!("{cells},"))
    };
    let refused = |csv: &[u8]| {
        let header = sweep.csv_header().len();
        let resumed = earlier(csv, "x.csv", &sweep, Shard::WHOLE).expect_err("resumed").to_string();
        let merged = merge([("x.csv".to_owned(), csv)], |_| Ok::<_, Error>(())).expect_err("merged").to_string();
        let unit = sweep.check_csv(&csv[header..], 0).expect_err("a unit").to_string();
        [resumed, merged, unit]
    };
    for (csv, message) in [
        (set("ttft_mean_ms", "x"), "ttft_mean_ms: expected a number, found \"x\""),
        (set("completed", "1.5"), "completed: expected a whole number, found \"1.5\""),
        (changed(&whole, 3, shorter), &format!("expected {cells} cells, found {}", cells - 1)),
        (set("class", "a,b"), &format!("expected {cells} cells, found {}", cells + 1)),
        (
            set("class", "=HYPERLINK(http://evil)"),
            "class: expected text that no spreadsheet runs, found \"=HYPERLINK(http://evil)\"",
        ),
        (set("class", "\"=A1\""), "class: expected text that no spreadsheet runs, found \"=A1\""),
        // Spreadsheets find a cell `=A1` in each.
        (set("class", "a\",=A1\""), "expected quotes around cells and twice within them, found others"),
        (set("class", "a\r=A1"), "expected a row in a line, found a carriage return"),
    ] {
        let found = refused(&csv);
        for (found, start) in found.iter().zip(["x.csv:3: ", "x.csv:3: ", "row 1: "]) {
            assert!(found.starts_with(&format!("{start}{message}")), "{found}");
        }
    }
    // A header has no checksum.
    for header in ["=A1", "\"=A1\"", "a\r=A1"] {
        let csv = changed(&whole, 1, |line| line.replace("class", header));
        let merged =
            merge([("x.csv".to_owned(), csv.as_slice())], |_| Ok::<_, Error>(())).expect_err(header).to_string();
        assert!(merged.starts_with("x.csv:1: expected the header of a sweep"), "{merged}");
    }
}

#[test]
fn each_change_of_a_byte_of_a_row_is_found() {
    let sweep = sweep(&[("tp", "1,3")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    let header = sweep.csv_header().len();
    let last = whole.len() - 1;
    let mut csv = whole.clone();
    for place in header..whole.len() {
        let written = whole[place];
        // Separators of cells and rows, and each bit.
        let bits = (0..8).map(|bit| written ^ 1 << bit);
        for other in bits.chain([b',', b'\n', b'"']).filter(|other| *other != written) {
            csv[place] = other;
            let changed = format!("byte {place}, {written} to {other}");
            let resumed = earlier(csv.as_slice(), "x.csv", &sweep, Shard::WHOLE);
            match resumed {
                // Without its end the last row is part of one, which is written anew.
                Ok(found) => assert_eq!((place, found.rows), (last, 1), "{changed}"),
                Err(error) => assert!(error.line().is_some(), "{changed}: {error}"),
            }
            let merged = merge([("x.csv".to_owned(), csv.as_slice())], |_| Ok::<_, Error>(()));
            assert!(merged.is_err(), "{changed}");
            assert!(sweep.check_csv(&csv[header..], 0).is_err(), "{changed}");
        }
        csv[place] = written;
    }
    assert_eq!(csv, whole);
}

#[test]
fn rows_of_a_version_without_checksums_are_rejected() {
    let sweep = sweep(&[("tp", "1,3"), ("rate", "1,2")]).expect("a sweep");
    let whole = String::from_utf8(csv(&sweep, Shard::WHOLE, 0, 1)).expect("UTF-8");
    let lines = whole.lines().map(|line| format!("{}\n", line.rsplit_once(',').expect("a checksum").0));
    let before: String = lines.collect();
    let resumed = earlier(before.as_bytes(), "x.csv", &sweep, Shard::WHOLE).expect_err("another header").to_string();
    assert!(
        resumed.starts_with("x.csv:1: expected the header of this sweep, found that of other keys or another version"),
        "{resumed}"
    );
    let merged = merge([("x.csv".to_owned(), before.as_bytes())], |_| Ok::<_, Error>(()));
    let merged = merged.expect_err("no checksum").to_string();
    assert!(merged.contains("checksum, which earlier versions did not write"), "{merged}");
}

#[cfg(feature = "plot")]
#[test]
fn a_chart_names_the_line_and_column_of_a_wrong_cell() {
    let sweep = sweep(&[("tp", "1,2"), ("rate", "1..9:2")]).expect("a sweep");
    let whole = csv(&sweep, Shard::WHOLE, 0, 1);
    let plot: rooflut_sweep::Plot = "ttft_mean:rate".parse().expect("two columns");
    assert!(plot.draw(whole.as_slice()).is_ok());
    let place = sweep.columns().iter().position(|column| column.0 == "ttft_mean_ms").expect("a column");
    let set = |cell: &str| {
        changed(&whole, 3, |line| {
            let mut cells: Vec<&str> = line.split(',').collect();
            cells[place] = cell;
            cells.join(",")
        })
    };
    assert!(plot.draw(set("").as_slice()).is_ok());
    for (csv, message) in [
        (set("x"), "line 3: ttft_mean_ms: expected a number, found \"x\""),
        (changed(&whole, 3, torn), "line 3: expected "),
    ] {
        let found = plot.draw(csv.as_slice()).expect_err("a wrong cell").to_string();
        assert!(found.starts_with(message), "{found}");
    }
}

#[cfg(feature = "plot")]
#[test]
fn a_chart_takes_bounded_memory() {
    let plot: rooflut_sweep::Plot = "ttft_mean:rate".parse().expect("two columns");
    let header = "index,grid,schema_version,prompt,rate,gpus,ttft_mean_ms\n".to_owned();
    let row = |text: &str, rate| format!("0,x,1,{text},{rate},1,5\n");
    let draw = |rows: &mut dyn Iterator<Item = String>| {
        plot.draw([header.clone()].into_iter().chain(rows).collect::<String>().as_bytes())
    };
    let one = draw(&mut [row("a", 1)].into_iter()).expect("a chart");
    assert!(draw(&mut std::iter::repeat_n(row("a", 1), 5_000)).expect("equal points") == one);
    let long = "x".repeat(1 << 20);
    let error = draw(&mut (0..66).map(|place| row(&format!("{long}{place}"), 1))).expect_err("long lines").to_string();
    assert!(error.starts_with("expected at most 1_000_000 points, on lines of at most 64 MiB, found more"), "{error}");
}

#[test]
fn an_error_that_all_points_share_and_unknown_names_end_a_sweep_before_it_starts() {
    let refused = |lists: &[(&str, &str)]| sweep(lists).err().expect("no sweep").to_string();
    let message = refused(&[("model", "llama-3.1-8b,none"), ("rate", "1,2")]);
    assert_eq!(message, "no model none");
    let message = refused(&[("tp", "3,5"), ("rate", "1,2")]);
    assert!(message.contains("expected a multiple of tp (3)"), "{message}");
    let message = refused(&[("engine", "vllm-0.15.1,fastest"), ("rate", "1,2")]);
    assert!(message.contains("unknown engine \"fastest\""), "{message}");
    let points = [json!({"model": "llama-3.1-8b"}), json!({"model": "none"})];
    let message = listed(&points).err().expect("no sweep").to_string();
    assert_eq!(message, "point 2: no model none");
    let message = refused(&[("trace", "absent.csv"), ("tp", "1,2")]);
    assert!(message.contains("cannot read absent.csv"), "{message}");
}

#[test]
fn a_sweep_finds_names_once_and_no_lengths_before_its_rows() {
    let found = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&found);
    let find = move |scenario: &Scenario| {
        count.fetch_add(1, Ordering::Relaxed);
        named(scenario)
    };
    let points = (1..500).map(|length| Ok([json!(length), json!(length), json!(if length < 250 { 1 } else { 2 })]));
    let grid = Grid::of_points(&Scenario::default(), &["prompt", "output", "tp"], points, 500).expect("a grid");
    let sources = Sources { find: Arc::new(find), open: Arc::new(open) };
    let sweep = Sweep::try_new(grid, sources.clone(), "test").expect("a sweep");
    assert_eq!((sweep.grid().len(), found.swap(0, Ordering::Relaxed)), (499, 1));
    // A file among them is read.
    let lengths = ["9", "file:absent.txt"].map(|length| Ok([json!(length)]));
    let grid = Grid::of_points(&Scenario::default(), &["prompt"], lengths, 500).expect("a grid");
    let error = Sweep::try_new(grid, sources, "test").err().expect("no file").to_string();
    assert!(error.contains("absent.txt"), "{error}");
}
