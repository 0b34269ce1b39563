//! Shards, joined to the rows of one run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::BufRead;
use std::path::Path;

use rooflut_scenario::{Error, Kind, grouped};

use crate::cells::{Named, REMOVE, check_row, columns, is_sweep, read_line};
use crate::keys::shown;
use crate::resume::{start, wrong_row};
use crate::sweep::header;

/// Passes on the lines of all shards of a sweep in the order of the grid: the bytes of a sweep without shards. Returns the
/// number of rows.
///
/// Each shard is a name, for errors, and a CSV with sorted rows. The next row of each shard is in memory, beside what its
/// CSV has there. A row costs time that grows with the logarithm of the number of shards.
///
/// # Errors
/// Shards of several grids; a missing, repeated, torn or changed row; a shard that cannot be read; errors of `write`.
pub fn merge<R: BufRead, E: From<Error>>(
    shards: impl IntoIterator<Item = (String, R)>,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut shards: Vec<CsvShard<R>> =
        shards.into_iter().map(|(file, csv)| CsvShard { file, csv, number: 0 }).collect();
    let mut whole = Whole::of(&mut shards)?;
    write(&whole.header)?;
    let mut waiting = BinaryHeap::new();
    for (place, shard) in shards.iter_mut().enumerate() {
        waiting.extend(shard.next(&mut whole)?.map(|(index, row)| Reverse((index, place, row))));
    }
    let mut next = 0;
    while let Some(Reverse((index, place, row))) = waiting.pop() {
        let Some(shard) = shards.get_mut(place) else {
            break;
        };
        if index > next {
            return Err(missing(next, index - 1).into());
        }
        if index < next {
            let problem = format!(
                "expected each deployment once and in order, found {index} after {}; name each shard once",
                next - 1
            );
            return Err(shard.refuse(problem).into());
        }
        write(&row)?;
        next += 1;
        waiting.extend(shard.next(&mut whole)?.map(|(index, row)| Reverse((index, place, row))));
    }
    whole.check(next)?;
    Ok(next)
}

/// The properties of all shards.
struct Whole {
    header: Vec<u8>,
    columns: Vec<Named>,
    /// The grid of the first row that is read.
    grid: Option<String>,
}

impl Whole {
    /// Reads the headers of all shards.
    fn of<R: BufRead>(shards: &mut [CsvShard<R>]) -> Result<Whole, Error> {
        let Some((first, others)) = shards.split_first_mut() else {
            return Err(incomplete("expected at least one shard, found none"));
        };
        let header = first.line()?;
        let columns = first.columns(&header)?;
        for other in others {
            let line = other.line()?;
            if line != header {
                other.columns(&line)?;
                let problem = format!("expected the header of {}, found another one; {OF_ONE_SWEEP}", first.file);
                return Err(other.refuse(problem));
            }
        }
        Ok(Whole { header, columns, grid: None })
    }

    /// Checks that so many rows are all.
    fn check(&self, rows: u64) -> Result<(), Error> {
        let len = self.grid.as_deref().and_then(|grid| grid.split('-').next()?.parse::<u64>().ok());
        match len.unwrap_or_default() {
            len if len > rows => Err(missing(rows, len - 1)),
            len if len == rows && rows > 0 => Ok(()),
            _ => {
                let found = grouped(rows);
                Err(incomplete(format!("expected all rows of a sweep, found {found}; {OF_ONE_SWEEP}")))
            }
        }
    }
}

const OF_ONE_SWEEP: &str = "merge shards of one sweep";

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
    /// The number of the line that was read last, from 1.
    number: u64,
}

impl<R: BufRead> CsvShard<R> {
    /// Reads the next line.
    fn line(&mut self) -> Result<Vec<u8>, Error> {
        self.number += 1;
        read_line(&mut self.csv, &self.file, self.number)
    }

    /// Returns the columns of a header.
    fn columns(&self, line: &[u8]) -> Result<Vec<Named>, Error> {
        let columns = columns(line).map_err(|error| error.in_file(Path::new(&self.file)))?;
        // Names are cells of the rows to come, too.
        if is_sweep(&columns) && header(&columns) == line {
            return Ok(columns);
        }
        let problem = "expected the header of a sweep, from index and grid to checksum, which earlier versions did not write; \
                       name a file of one";
        Err(self.refuse(problem))
    }

    /// Returns the index of the next row, and its line; `None` at the end.
    fn next(&mut self, whole: &mut Whole) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let line = self.line()?;
        if line.is_empty() {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return Err(self.refuse("expected a whole row; resume this shard first"));
        }
        let checked = check_row(&line, &whole.columns).and_then(|()| start(&line));
        let (index, of) = checked.map_err(|problem| self.refuse(format!("{problem}; {REMOVE}")))?;
        let grid = whole.grid.get_or_insert_with(|| of.to_owned());
        if of != grid {
            let (grid, of) = (shown(grid), shown(of));
            return Err(self.refuse(format!("expected a row of grid {grid}, found one of {of}; {OF_ONE_SWEEP}")));
        }
        Ok(Some((index, line)))
    }

    /// Refuses the line that was read last.
    fn refuse(&self, problem: impl Into<String>) -> Error {
        wrong_row(&self.file, self.number, problem)
    }
}
