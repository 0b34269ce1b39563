//! Rows of an earlier sweep.

use std::io::BufRead;
use std::path::Path;

use csv::StringRecord;
use rooflut_scenario::{Error, Kind};

use crate::cells::{Named, REMOVE, cells, read_line, wrong};
use crate::shard::Shard;
use crate::sweep::Sweep;

/// The rows that an earlier sweep has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Earlier {
    /// Whole rows.
    pub rows: u64,
    /// Bytes of the header and of these rows; 0 without a whole header. The bytes after these are part of a row.
    pub bytes: u64,
}

/// Returns the rows of an earlier sweep of the same grid and shard, from its CSV. `file` names the CSV in errors.
///
/// # Errors
/// Rows of another grid or shard, rows with a cell that no sweep writes there, and files that no sweep wrote.
pub fn earlier(mut csv: impl BufRead, file: &str, sweep: &Sweep<'_>, shard: Shard) -> Result<Earlier, Error> {
    let refuse = |line, problem: &str| Err(wrong_row(file, line, format!("{problem}; name another file")));
    const ANOTHER: &str = "expected the header of this sweep, found another one or none";
    let header = sweep.csv_header()?;
    let line = read_line(&mut csv, file, 1)?;
    if line != header {
        return if header.starts_with(&line) { Ok(Earlier::default()) } else { refuse(1, ANOTHER) };
    }
    let columns: Vec<Named> = sweep.columns().into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    let mut found = Earlier { rows: 0, bytes: line.len() as u64 };
    loop {
        let number = found.rows + 2;
        let line = read_line(&mut csv, file, number)?;
        if line.last() != Some(&b'\n') {
            return Ok(found);
        }
        let start = start(&line);
        let Some((index, grid)) = start else {
            return refuse(number, "expected a row of a sweep");
        };
        if let Err(problem) = check((index, grid), found.rows, sweep, shard) {
            return refuse(number, &problem);
        }
        let checked = cells(&line, &columns).and_then(|cells| check_known(&cells, &columns, sweep.known_cells(index)));
        checked.map_err(|problem| wrong_row(file, number, format!("{problem}; {REMOVE}")))?;
        found.rows += 1;
        found.bytes += line.len() as u64;
    }
}

impl Sweep<'_> {
    /// Checks that lines of CSV are whole rows of this grid, from that of index `first` on, and returns their number.
    ///
    /// # Errors
    /// Another row, or a part of one.
    pub fn check_csv(&self, csv: &[u8], first: u64) -> Result<u64, Error> {
        let wrong = |found: &str| {
            let text = format!("expected the rows of a sweep from {first} on, found {found}; simulate them again");
            Error::new(Kind::Contents, text)
        };
        let mut next = first;
        for line in csv.split_inclusive(|byte| *byte == b'\n') {
            let whole = start(line).filter(|_| line.ends_with(b"\n"));
            let row = whole.ok_or_else(|| wrong("a part of one"))?;
            check(row, next, self, Shard::WHOLE).map_err(|_| wrong(&format!("row {} of grid {}", row.0, row.1)))?;
            next += 1;
        }
        Ok(next - first)
    }
}

/// Checks that a row begins with the cells that are known.
fn check_known(cells: &StringRecord, columns: &[Named], known: impl Iterator<Item = String>) -> Result<(), String> {
    let mut begin = columns.iter().zip(cells).zip(known);
    match begin.find(|((_, cell), known)| cell != known) {
        Some((((name, _), cell), known)) => Err(wrong(name, &format!("{known:?}"), cell)),
        None => Ok(()),
    }
}

/// A row of a file that is of no sweep, or of another grid or shard.
pub(crate) fn wrong_row(file: &str, line: u64, problem: impl Into<String>) -> Error {
    Error::new(Kind::Contents, problem).at_line(line).in_file(Path::new(file))
}

/// Checks that a row with this index and grid is the one at `place` of a shard.
///
/// # Errors
/// The problem: expected and found.
pub(crate) fn check((index, grid): (u64, &str), place: u64, sweep: &Sweep<'_>, shard: Shard) -> Result<(), String> {
    let expected = sweep.fingerprint();
    if grid != expected {
        return Err(format!(
            "expected a row of this grid, {expected}, found one of {grid} (another grid, other files or another version)"
        ));
    }
    let is_there = place < shard.len(sweep.grid().len()) && index == shard.index(place);
    if is_there {
        Ok(())
    } else {
        Err(format!("expected row {} of shard {shard}, found deployment {index}", place + 1))
    }
}

/// Returns the index and the grid of a row.
pub(crate) fn start(line: &[u8]) -> Option<(u64, &str)> {
    let mut cells = line.split(|byte| *byte == b',');
    let index = str::from_utf8(cells.next()?).ok()?.parse().ok()?;
    Some((index, str::from_utf8(cells.next()?).ok()?))
}
