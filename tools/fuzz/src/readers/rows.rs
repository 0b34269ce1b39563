//! Rows of sweeps, at `--resume` and `--merge`.

use std::sync::{Arc, OnceLock};

use rooflut::model;
use rooflut::table::sets;
use rooflut_scenario::{Error, Model, Scenario};
use rooflut_sweep::{Axis, Front, Grid, Kind, Named, Shard, Sources, Sweep, earlier, merge};

use super::{check_error, check_message, files};

/// The keys of the sweep and their values.
const AXES: [(&str, &str); 3] = [("tp", "1,2"), ("rate", "2,9"), ("output", "9,uniform:1..40")];

/// Reads the first file as the rows of an earlier sweep, and all as its shards. A line `@3` is the fourth row of the
/// sweep, `@3,5,x` that row with `x` in place of its sixth cell, `#3,5,x` that one with its checksum, and `@H` the header.
pub(super) fn rows(bytes: &[u8]) {
    let files: Vec<Vec<u8>> = files(bytes).into_iter().map(expanded).collect();
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    for (place, shard) in [Shard::WHOLE, "1/2".parse().unwrap(), "2/2".parse().unwrap()].into_iter().enumerate() {
        match earlier(files[0], "rows.csv", sweep(), shard) {
            Ok(found) => {
                let kept = &files[0][..found.bytes as usize];
                assert_eq!(lines(kept), found.rows + u64::from(found.bytes > 0));
                assert!(found.rows <= shard.len(sweep().grid().len()));
                check_sums(kept);
                check_cells(kept, sweep().columns());
            }
            Err(error) if place == 0 => check_error(files[0], &error),
            Err(_) => (),
        }
    }
    // As a chart reads them, and as the rows of a unit.
    if let Err(error) = Front::of(files[0]) {
        check_error(files[0], &error);
    }
    match sweep().check_csv(files[0], 0) {
        Ok(rows) => assert_eq!(rows, lines(files[0])),
        Err(error) => check_message(&error.to_string()),
    }
    let mut merged = Vec::new();
    let shards = files.iter().map(|bytes| ("rows.csv".to_owned(), *bytes));
    let joined = merge(shards, |line| {
        merged.extend_from_slice(line);
        Ok::<_, Error>(())
    });
    match joined {
        Ok(rows) => {
            assert_eq!(lines(&merged), rows + 1);
            assert!(merged.len() <= files.iter().map(|file| file.len()).sum());
            check_sums(&merged);
            // Other headers have other columns.
            if merged.starts_with(&sweep().csv_header()) {
                check_cells(&merged, &of_any_keys());
            }
        }
        Err(error) => check_message(&error.to_string()),
    }
    for line in files[0].split_inclusive(|byte| *byte == b'\n') {
        if let Ok(row) = sweep().row_of_csv(line) {
            let csv = row.csv();
            check_cells(&[b"\n", csv.as_slice()].concat(), sweep().columns());
            assert_eq!(sweep().row_of_csv(&csv).unwrap(), row);
        }
    }
    #[cfg(feature = "parquet")]
    super::parts::parts(&files);
}

fn expanded(bytes: &[u8]) -> Vec<u8> {
    bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|line| expanded_line(line).unwrap_or(line.to_vec())).collect()
}

fn expanded_line(line: &[u8]) -> Option<Vec<u8>> {
    let line = str::from_utf8(line).ok()?;
    let is_summed = line.starts_with('#');
    let line = line.strip_prefix(['@', '#'])?;
    let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
    let mut parts = line.splitn(3, ',');
    let row = match parts.next()? {
        "H" => sweep().csv_header(),
        row => written().get(row.parse::<usize>().ok()?)?.clone(),
    };
    let row = String::from_utf8(row).unwrap();
    let mut cells: Vec<&str> = row.trim_end().split(',').collect();
    if let Some((cell, text)) = parts.next().zip(parts.next()) {
        *cells.get_mut(cell.parse::<usize>().ok()?)? = text;
    }
    let sum = checksum(&cells.split_last()?.1.join(","));
    if is_summed {
        *cells.last_mut()? = &sum;
    }
    Some((cells.join(",") + end).into_bytes())
}

/// The rows of the sweep.
fn written() -> &'static [Vec<u8>] {
    static ROWS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let rows = (0..sweep().grid().len()).map(|index| sweep().row(index).unwrap().csv());
        rows.collect()
    })
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Asserts that the last cell of each row is the CRC-32 of the line before it.
fn check_sums(csv: &[u8]) {
    for line in str::from_utf8(csv).unwrap().lines().skip(1) {
        let (cells, found) = line.rsplit_once(',').unwrap();
        assert_eq!(found, checksum(cells), "{line}");
    }
}

/// Returns the CRC-32 of a row's cells.
fn checksum(cells: &str) -> String {
    let shift = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let crc = cells.bytes().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(byte), shift));
    format!("{:08x}", !crc)
}

/// The columns of the sweep as a merge knows them: keys may have any values.
fn of_any_keys() -> Vec<(String, Kind)> {
    let is_key = |name: &str| AXES.iter().any(|(key, _)| *key == name);
    let columns = sweep().columns().iter().cloned();
    columns.map(|(name, kind)| if is_key(&name) { (name, Kind::Text) } else { (name, kind) }).collect()
}

/// Asserts that each row has a value of the right kind in each column, and no text that a spreadsheet runs. Commas in texts
/// are in quotes.
pub(super) fn check_cells(csv: &[u8], columns: &[(String, Kind)]) {
    for line in str::from_utf8(csv).unwrap().lines().skip(1) {
        let mut is_quoted = false;
        let cells: Vec<&str> = line
            .split(|c| {
                is_quoted ^= c == '"';
                c == ',' && !is_quoted
            })
            .collect();
        assert_eq!(cells.len(), columns.len(), "{line}");
        for (cell, (name, kind)) in cells.iter().zip(columns).filter(|(cell, _)| !cell.is_empty()) {
            let quoted = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
            let cell = quoted.map_or((*cell).to_owned(), |cell| cell.replace("\"\"", "\""));
            let is_of_kind = match kind {
                Kind::Integer => cell.parse::<i64>().is_ok(),
                Kind::Number => cell.parse::<f64>().is_ok_and(f64::is_finite),
                Kind::Truth => cell.parse::<bool>().is_ok(),
                _ => !cell.starts_with(['=', '+', '-', '@']) || cell.parse::<f64>().is_ok(),
            };
            assert!(is_of_kind, "{name}: {cell}");
        }
    }
}

/// Eight deployments.
pub(super) fn sweep() -> &'static Sweep<'static> {
    static SWEEP: OnceLock<Sweep<'static>> = OnceLock::new();
    SWEEP.get_or_init(|| {
        let mut base = Scenario::default();
        base.workload.requests = Some(3);
        let axes = AXES.iter().map(|(key, text)| Axis::read(key, [*text])).collect::<Result<_, _>>();
        let grid = Grid::try_new(&base, axes.unwrap()).unwrap();
        Sweep::try_new(grid, Sources { find: Arc::new(named), open: Arc::new(super::open) }, "fuzz").unwrap()
    })
}

fn named(scenario: &Scenario) -> Result<Named, Error> {
    let entry = model::find(scenario.target.model()).unwrap();
    Ok(Named { model: Model::new(entry.name, entry.spec), draft_model: None, tables: sets::H100.clone() })
}
