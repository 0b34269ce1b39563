//! Shards, joined to the rows of one run.

use std::io::BufRead;
use std::path::Path;

use rooflut_scenario::{Error, Kind, grouped};

use crate::cells::{Named, REMOVE, check_row, columns, is_sweep, read_line};
use crate::keys::shown;
use crate::resume::{start, wrong_row};

/// Passes on the lines of all shards of a sweep in the order of the grid: the bytes of a sweep without shards. Returns the
/// number of rows.
///
/// Each shard is a name, for errors, and a CSV with sorted rows. One row of each shard is in memory.
///
/// # Errors
/// Shards of several grids; a missing, repeated, torn or changed row; a shard that cannot be read; errors of `write`.
pub fn merge<R: BufRead, E: From<Error>>(
    shards: impl IntoIterator<Item = (String, R)>,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let shards = shards.into_iter();
    let opened = shards.map(|(file, csv)| CsvShard::try_new(file, csv));
    let shards = opened.collect::<Result<Vec<_>, _>>()?;
    if let Some(first) = shards.first() {
        if let Some(other) = shards.iter().find(|shard| shard.header != first.header) {
            let problem = format!("expected the header of {}, found another one; {OF_ONE_SWEEP}", first.file);
            return Err(other.refuse(problem).into());
        }
        write(&first.header)?;
    }
    joined(shards, write)
}

/// Passes on the rows of all shards in the order of the grid, and returns their number.
fn joined<R: BufRead, E: From<Error>>(
    shards: Vec<CsvShard<R>>,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    if shards.is_empty() {
        return Err(incomplete("expected at least one shard, found none").into());
    }
    let mut waiting = Vec::new();
    for mut shard in shards {
        if let Some(row) = shard.next()? {
            waiting.push((row, shard));
        }
    }
    let grid = waiting.first().map_or(String::new(), |((_, grid, _), _)| grid.clone());
    let mut next = 0;
    let least = |waiting: &[((u64, _, _), _)]| {
        let places = waiting.iter().enumerate();
        places.min_by_key(|(_, ((index, ..), _))| *index).map(|(place, _)| place)
    };
    while let Some(place) = least(&waiting) {
        let ((index, of, row), mut shard) = waiting.swap_remove(place);
        check(index, &of, next, &grid).map_err(|problem| match problem {
            Problem::Missing => missing(next, index - 1),
            Problem::Other(problem) => shard.refuse(problem),
        })?;
        write(&row)?;
        next += 1;
        if let Some(row) = shard.next()? {
            waiting.push((row, shard));
        }
    }
    let len = grid.split('-').next().and_then(|len| len.parse::<u64>().ok());
    match len.unwrap_or_default() {
        len if len > next => Err(missing(next, len - 1).into()),
        len if len == next && next > 0 => Ok(next),
        _ => {
            let found = grouped(next);
            Err(incomplete(format!("expected all rows of a sweep, found {found}; {OF_ONE_SWEEP}")).into())
        }
    }
}

const OF_ONE_SWEEP: &str = "merge shards of one sweep";

enum Problem {
    /// Rows before this one.
    Missing,
    Other(String),
}

/// Checks that a row of the grid `of` is that of index `next` of `grid`.
fn check(index: u64, of: &str, next: u64, grid: &str) -> Result<(), Problem> {
    if of != grid {
        let (grid, of) = (shown(grid), shown(of));
        return Err(Problem::Other(format!("expected a row of grid {grid}, found one of {of}; {OF_ONE_SWEEP}")));
    }
    match index {
        index if index == next => Ok(()),
        index if index > next => Err(Problem::Missing),
        index => Err(Problem::Other(format!(
            "expected each deployment once and in order, found {index} after {}; name each shard once",
            next - 1
        ))),
    }
}

fn missing(first: u64, last: u64) -> Error {
    let (first, last) = (grouped(first), grouped(last));
    let found = if first == last {
        format!("deployment {first} is missing")
    } else {
        format!("some or all of the deployments {first} to {last} are missing")
    };
    incomplete(format!("{found}; add the missing shard, or resume it first"))
}

/// Shards that do not make a whole.
fn incomplete(problem: impl Into<String>) -> Error {
    Error::new(Kind::Contents, problem)
}

/// A shard as CSV.
struct CsvShard<R> {
    file: String,
    csv: R,
    header: Vec<u8>,
    columns: Vec<Named>,
    /// The number of the line that was read last, from 1.
    number: u64,
}

impl<R: BufRead> CsvShard<R> {
    fn try_new(file: String, mut csv: R) -> Result<CsvShard<R>, Error> {
        let header = read_line(&mut csv, &file, 1)?;
        let columns = columns(&header).map_err(|error| error.in_file(Path::new(&file)))?;
        let shard = CsvShard { file, csv, header, columns, number: 1 };
        if is_sweep(&shard.columns) {
            return Ok(shard);
        }
        let problem = "expected the header of a sweep, from index and grid to checksum, which earlier versions did not write; \
                       name a file of one";
        Err(shard.refuse(problem.to_owned()))
    }

    /// Returns the index and the grid of the next row, and its line; `None` at the end.
    fn next(&mut self) -> Result<Option<(u64, String, Vec<u8>)>, Error> {
        self.number += 1;
        let line = read_line(&mut self.csv, &self.file, self.number)?;
        if line.is_empty() {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return Err(self.refuse("expected a whole row; resume this shard first".to_owned()));
        }
        let checked = check_row(&line, &self.columns).and_then(|()| start(&line));
        let (index, grid) = checked.map_err(|problem| self.refuse(format!("{problem}; {REMOVE}")))?;
        let grid = grid.to_owned();
        Ok(Some((index, grid, line)))
    }

    /// Refuses the row that was read last.
    fn refuse(&self, problem: String) -> Error {
        wrong_row(&self.file, self.number, problem)
    }
}
