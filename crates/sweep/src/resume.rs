//! Rows of an earlier sweep.

use std::io::BufRead;
use std::path::Path;

use rooflut_scenario::{Error, Kind};

use crate::cells::{REMOVE, check_row, read_line};
use crate::keys::shown;
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

/// Returns the rows of an earlier sweep of the same grid and shard, from its CSV. `file` names the CSV in errors. Each row
/// must have values of the kinds of its columns, no text that a spreadsheet runs, and their checksum.
///
/// # Errors
/// Rows of another grid or shard, rows that were changed, and files that no sweep of this version wrote.
pub fn earlier(mut csv: impl BufRead, file: &str, sweep: &Sweep<'_>, shard: Shard) -> Result<Earlier, Error> {
    const NAME_ANOTHER: &str = "name another file";
    let refuse = |number, problem: &str, advice| wrong_row(file, number, format!("{problem}; {advice}"));
    let header = sweep.csv_header();
    let line = read_line(&mut csv, file, 1)?;
    if line != header {
        let problem = "expected the header of this sweep, found that of other keys or another version, or none";
        let is_part = header.starts_with(&line);
        return if is_part { Ok(Earlier::default()) } else { Err(refuse(1, problem, NAME_ANOTHER)) };
    }
    let mut found = Earlier { rows: 0, bytes: line.len() as u64 };
    loop {
        let number = found.rows + 2;
        let line = read_line(&mut csv, file, number)?;
        if !line.ends_with(b"\n") {
            return Ok(found);
        }
        check_row(&line, sweep.columns()).map_err(|problem| refuse(number, &problem, REMOVE))?;
        start(&line)
            .and_then(|row| check(row, found.rows, sweep, shard))
            .map_err(|problem| refuse(number, &problem, NAME_ANOTHER))?;
        found.rows += 1;
        found.bytes += line.len() as u64;
    }
}

impl Sweep<'_> {
    /// Checks that lines of CSV are whole rows of this grid, from that of index `first` on, and returns their number.
    ///
    /// # Errors
    /// Another row, a part of one, or one that was changed.
    pub fn check_csv(&self, csv: &[u8], first: u64) -> Result<u64, Error> {
        let mut next = first;
        for line in csv.split_inclusive(|byte| *byte == b'\n') {
            let torn = "expected a whole row, found a part of one";
            let checked = if line.ends_with(b"\n") { check_row(line, self.columns()) } else { Err(torn.to_owned()) };
            checked
                .and_then(|()| check(start(line)?, next, self, Shard::WHOLE))
                .map_err(|problem| Error::new(Kind::Contents, format!("row {next}: {problem}; simulate it again")))?;
            next += 1;
        }
        Ok(next - first)
    }
}

/// A row of a file that is of no sweep, of another grid or shard, or changed.
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
            "expected a row of this grid, {expected}, found one of {} (another grid, other files or another version)",
            shown(grid)
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
///
/// # Errors
/// The problem of another line.
pub(crate) fn start(line: &[u8]) -> Result<(u64, &str), String> {
    let mut cells = line.split(|byte| *byte == b',').map(|cell| str::from_utf8(cell).ok());
    let index = cells.next().flatten().and_then(|index| index.parse().ok());
    let row = index.zip(cells.next().flatten());
    row.ok_or_else(|| "expected a row that begins with its index and grid".to_owned())
}
