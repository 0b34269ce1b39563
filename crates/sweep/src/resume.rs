//! Rows of an earlier sweep.

use std::io::BufRead;
use std::path::Path;

use csv::StringRecord;
use rooflut_scenario::{Error, Kind};

use crate::cells::{Named, REMOVE, cells, read_line, shown, wrong};
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
/// Each row has the cells that a sweep writes there. The first, the 10th, the 100th and so on, and the last are simulated
/// again and must be the same.
///
/// # Errors
/// Rows of another grid or shard, rows with a cell that no sweep writes there, rows that are simulated as others, and
/// files that no sweep wrote.
pub fn earlier(mut csv: impl BufRead, file: &str, sweep: &Sweep<'_>, shard: Shard) -> Result<Earlier, Error> {
    const ANOTHER: &str = "expected the header of this sweep, found another one or none";
    let header = sweep.csv_header()?;
    let line = read_line(&mut csv, file, 1)?;
    if line != header {
        return match header.starts_with(&line) {
            true => Ok(Earlier::default()),
            false => Err(wrong_row(file, 1, format!("{ANOTHER}; {NAME_ANOTHER}"))),
        };
    }
    let mut bytes = line.len() as u64;
    let mut found = EarlierRows::new(sweep, shard);
    loop {
        let number = found.rows + 2;
        let line = read_line(&mut csv, file, number)?;
        if line.last() != Some(&b'\n') {
            let rows = found.rows;
            found.finish()?.map_err(|problem| problem.at(file, rows + 1, NAME_ANOTHER, REMOVE))?;
            return Ok(Earlier { rows, bytes });
        }
        bytes += line.len() as u64;
        found.next(line)?.map_err(|problem| problem.at(file, number, NAME_ANOTHER, REMOVE))?;
    }
}

/// Advice for a file of another sweep.
const NAME_ANOTHER: &str = "name another file";

/// The problem of a row.
pub(crate) enum Problem {
    /// It is of another sweep.
    Another(String),
    /// It has a cell that no sweep writes there.
    Cell(String),
}

impl Problem {
    /// Returns the error of a row, with the advice on each kind of problem.
    pub(crate) fn at(&self, file: &str, line: u64, another: &str, cell: &str) -> Error {
        let (problem, advice) = match self {
            Problem::Another(problem) => (problem, another),
            Problem::Cell(problem) => (problem, cell),
        };
        wrong_row(file, line, format!("{problem}; {advice}"))
    }
}

/// Rows of an earlier sweep that are checked one after the other.
pub(crate) struct EarlierRows<'s> {
    sweep: &'s Sweep<'s>,
    shard: Shard,
    columns: Vec<Named>,
    /// Rows so far.
    pub(crate) rows: u64,
    /// The last row, its index and its line, unless it was simulated again.
    last: Option<(u64, Vec<u8>)>,
}

impl<'s> EarlierRows<'s> {
    pub(crate) fn new(sweep: &'s Sweep<'_>, shard: Shard) -> EarlierRows<'s> {
        let columns = sweep.columns().into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
        EarlierRows { sweep, shard, columns, rows: 0, last: None }
    }

    /// Checks the next row, a line of CSV.
    ///
    /// # Errors
    /// A sweep that was stopped.
    pub(crate) fn next(&mut self, line: Vec<u8>) -> Result<Result<(), Problem>, Error> {
        let checked = start(&line)
            .ok_or_else(|| "expected a row of a sweep".to_owned())
            .and_then(|row| check(row, self.rows, self.sweep, self.shard).map(|()| row.0));
        let index = match checked {
            Ok(index) => index,
            Err(problem) => return Ok(Err(Problem::Another(problem))),
        };
        let known = cells(&line, &self.columns)
            .and_then(|cells| check_known(&cells, &self.columns, self.sweep.known_cells(index)));
        if let Err(problem) = known {
            return Ok(Err(Problem::Cell(problem)));
        }
        self.rows += 1;
        let is_simulated = self.rows == 10_u64.pow(self.rows.ilog10());
        self.last = Some((index, line));
        if is_simulated { self.simulate_last() } else { Ok(Ok(())) }
    }

    /// Checks the last row as far as it is not checked.
    ///
    /// # Errors
    /// A sweep that was stopped.
    pub(crate) fn finish(mut self) -> Result<Result<(), Problem>, Error> {
        self.simulate_last()
    }

    /// Simulates the last row again.
    fn simulate_last(&mut self) -> Result<Result<(), Problem>, Error> {
        let Some((index, line)) = self.last.take() else {
            return Ok(Ok(()));
        };
        let again = self.sweep.row(index)?.csv()?;
        let compare = || -> Result<(), String> {
            let [cells, again] = [&line, &again].map(|line| cells(line, &self.columns));
            check_known(&cells?, &self.columns, again?.iter().map(str::to_owned))
        };
        let changed = |problem| Problem::Another(format!("{problem}: this row was changed, others may be, too"));
        Ok(compare().map_err(changed))
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
            check(row, next, self, Shard::WHOLE)
                .map_err(|_| wrong(&format!("row {} of grid {}", row.0, shown(row.1))))?;
            next += 1;
        }
        Ok(next - first)
    }
}

/// Checks that a row begins with the values of cells that are known.
fn check_known(cells: &StringRecord, columns: &[Named], known: impl Iterator<Item = String>) -> Result<(), String> {
    let mut begin = columns.iter().zip(cells).zip(known);
    // Parquet has `5.0` for `5`.
    match begin.find(|(((_, kind), cell), known)| cell != known && kind.value(cell) != kind.value(known)) {
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
pub(crate) fn start(line: &[u8]) -> Option<(u64, &str)> {
    let mut cells = line.split(|byte| *byte == b',');
    let index = str::from_utf8(cells.next()?).ok()?.parse().ok()?;
    Some((index, str::from_utf8(cells.next()?).ok()?))
}
