//! Rows of sweeps as Parquet, at `--resume` and `--merge`.

use std::fs::{self, File};
use std::iter::once;

use rooflut_scenario::Error;
use rooflut_sweep::{Part, Shard, earlier_parts, merge_parts};

use super::rows::{check_cells, sweep};
use super::{check_message, folder};

/// Reads the rows of each CSV as a part, the first as an earlier one and all as shards. A line `!900,5` changes the byte
/// 900 of the part.
pub(super) fn parts(files: &[&[u8]]) {
    let Some(parts) = files.iter().map(|csv| part(csv)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let folder = folder("parts");
    let read = |number: usize, bytes: &[u8]| {
        let path = folder.join(number.to_string());
        fs::write(&path, bytes).unwrap();
        Part::read(File::open(&path).unwrap(), "a.parquet").map(|part| ("a.parquet".to_owned(), part))
    };
    match earlier_parts(1, |_| read(0, &parts[0]), 1, sweep(), Shard::WHOLE) {
        Ok(found) => {
            assert_eq!(found.rows, found.last.rows().len() as u64);
            let rows = found.last.rows().iter().map(|row| row.csv());
            check_cells(&once(b"\n".to_vec()).chain(rows).flatten().collect::<Vec<u8>>(), sweep().columns());
        }
        Err(error) => check_message(&error.to_string()),
    }
    let mut merged = 0;
    let shards = parts.iter().enumerate();
    let shards = shards.map(|(number, bytes)| ("rows.parquet".to_owned(), once(read(number, bytes))));
    let joined = merge_parts(shards, |part| {
        merged += part.rows().len() as u64;
        Ok::<_, Error>(())
    });
    match joined {
        Ok(rows) => assert_eq!(rows, merged),
        Err(error) => check_message(&error.to_string()),
    }
}

/// The Parquet file of the rows of a CSV, if it has nothing else.
fn part(csv: &[u8]) -> Option<Vec<u8>> {
    let mut part = Part::of(sweep());
    let mut changes = Vec::new();
    let header = sweep().csv_header();
    for line in csv.strip_prefix(header.as_slice()).unwrap_or(csv).split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"!") {
            Some(change) => {
                let (place, value) = str::from_utf8(change).ok()?.trim_end().split_once(',')?;
                changes.push((place.parse::<usize>().ok()?, value.parse::<u8>().ok()?));
            }
            None => part.push(sweep().row_of_csv(line).ok()?),
        }
    }
    let mut bytes = Vec::new();
    part.write(&mut bytes).unwrap();
    for (place, value) in changes {
        *bytes.get_mut(place)? = value;
    }
    Some(bytes)
}
