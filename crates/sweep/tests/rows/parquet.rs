//! Rows as Parquet are those of the CSV.

use std::io::Read;

use rooflut_sweep::{Part, csv_of_parts, earlier_parts, merge_parts};

use super::*;

/// The files of a shard.
fn parts(sweep: &Sweep<'_>, shard: Shard) -> Vec<Vec<u8>> {
    let (mut part, mut files) = (Part::of(sweep), Vec::new());
    let mut write = |part: &mut Part| {
        let mut file = Vec::new();
        part.write(&mut file).expect("a file");
        files.push(file);
        part.clear();
    };
    let rows = sweep.rows(shard, 0, 2, |row| {
        part.push(row);
        if part.is_full() {
            write(&mut part);
        }
        Ok::<_, Error>(())
    });
    rows.expect("rows");
    if !part.rows().is_empty() {
        write(&mut part);
    }
    files
}

fn part(number: usize, file: &[u8]) -> Result<(String, Part), Error> {
    let named = format!("part {number}");
    let part = Part::read(bytes::Bytes::from(file.to_vec()), &named)?;
    Ok((named, part))
}

fn read(files: &[Vec<u8>]) -> impl ExactSizeIterator<Item = Result<(String, Part), Error>> {
    files.iter().enumerate().map(|(number, file)| part(number, file))
}

#[test]
fn parts_of_rows_from_csv_are_those_of_the_rows() {
    for lists in [
        [("tp", "1,3"), ("rate", "1..9:0.7"), ("requests", "2,3")],
        [("engine", "vllm-0.11.0,vllm-0.15.1"), ("seed", "1,18446744073709551615"), ("expert_parallel", "true,false")],
    ] {
        let sweep = sweep(&lists).expect("a sweep");
        let whole = csv(&sweep, Shard::WHOLE, 0, 2);
        let mut part = Part::of(&sweep);
        for line in whole.split_inclusive(|byte| *byte == b'\n').skip(1) {
            part.push(sweep.row_of_csv(line).expect("a row"));
        }
        let mut file = Vec::new();
        part.write(&mut file).expect("a file");
        assert_eq!(parts(&sweep, Shard::WHOLE), [file]);
        for wrong in ["0,grid\n", "", "a,b,c,d\n"] {
            let error = sweep.row_of_csv(wrong.as_bytes()).expect_err("no row").to_string();
            assert!(error.starts_with("a row of a sweep: expected "), "{error}");
        }
    }
}

#[test]
fn parts_have_the_rows_of_the_csv() {
    let lists = [("tp", "1,3"), ("rate", "1..700:1"), ("requests", "2")];
    let sweep = sweep(&lists).expect("a sweep");
    let files = parts(&sweep, Shard::WHOLE);
    assert_eq!(files.len(), 2);
    let mut text = Vec::new();
    csv_of_parts(read(&files)).read_to_end(&mut text).expect("CSV");
    assert_eq!(text, csv(&sweep, Shard::WHOLE, 0, 2));
    // A part without rows, which no sweep writes, is not the end.
    let (mut empty, mut again) = (Vec::new(), Vec::new());
    Part::of(&sweep).write(&mut empty).expect("a file");
    let with_empty = [files[0].clone(), empty, files[1].clone()];
    csv_of_parts(read(&with_empty)).read_to_end(&mut again).expect("CSV");
    assert_eq!(again, text);
    assert_eq!(parts(&sweep, Shard::WHOLE), files);
    let earlier = |files: &[Vec<u8>]| {
        let read = |number| part(number as usize, &files[number as usize]);
        earlier_parts(files.len() as u64, read, 2, &sweep, Shard::WHOLE)
    };
    let whole = earlier(&files).expect("rows");
    assert_eq!((whole.rows, whole.full), (1_400, 1));
    assert_eq!(whole.last.rows().len(), 400);
    let first = earlier(&files[..1]).expect("rows");
    assert_eq!((first.rows, first.full), (1_000, 1));
    assert_eq!(first.last, Part::of(&sweep));
    let refused = |files: &[Vec<u8>]| earlier(files).expect_err("refused").to_string();
    // The second part is no first one.
    let message = refused(&files[1..]);
    assert!(message.contains("expected row 1 of shard 1/1"), "{message}");
    let message = refused(&[&files[..], &files[1..]].concat());
    assert!(message.contains("expected only full parts before the last one"), "{message}");
    let changed = |number: usize, column: &str, cell: &str| {
        let mut part = Part::of(&sweep);
        let place = sweep.columns().iter().position(|of| of.0 == column).expect(column);
        let text = String::from_utf8(text.clone()).expect("UTF-8");
        for (line, of) in text.lines().skip(1).take(1_000).zip(1..) {
            let mut cells: Vec<&str> = line.split(',').collect();
            if of == number {
                cells[place] = cell;
            }
            part.push(sweep.row_of_csv(cells.join(",").as_bytes()).expect("a row"));
        }
        let mut file = Vec::new();
        part.write(&mut file).expect("a file");
        file
    };
    for (number, column, cell) in [(7, "completed", "1"), (1000, "rate", "8.0"), (1, "model", "x"), (2, "error", "x")] {
        let files = [changed(number, column, cell)];
        let merged = merge_parts([("shard".to_owned(), read(&files))], |_| Ok::<_, Error>(()));
        for message in [refused(&files), merged.expect_err("a changed row").to_string()] {
            assert!(message.starts_with(&format!("part 0:{number}: checksum: expected ")), "{message}");
            assert!(message.ends_with("; remove this file and those behind it, then resume"), "{message}");
        }
    }
    let message = refused(&[b"CSV".to_vec()]);
    assert!(message.contains("expected a part of a sweep"), "{message}");
    // Shards of several parts.
    let shards = ["1/3", "2/3", "3/3"].map(|shard| shard.parse().expect("a shard")).map(|shard| parts(&sweep, shard));
    let mut merged = Vec::new();
    let named = || shards.iter().map(|files| (String::from("shard"), read(files)));
    let rows = merge_parts(named(), |part| {
        let mut file = Vec::new();
        part.write(&mut file)?;
        merged.push(file);
        Ok::<_, Error>(())
    });
    assert_eq!(rows.expect("rows"), 1_400);
    assert!(merged == files);
    let error = merge_parts(named().take(2), |_| Ok::<_, Error>(())).expect_err("missing");
    assert!(error.to_string().contains("deployment 2 is missing"), "{error}");
}
