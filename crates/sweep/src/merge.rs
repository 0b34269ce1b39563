//! Shards, joined to the file of one run.

use std::io::{BufRead, Write};

use rooflut_scenario::grouped;

use crate::error::SweepError;
use crate::resume::start;

/// Writes the rows of all shards of a sweep in the order of the grid: the bytes of a sweep without shards. Returns the
/// number of rows.
///
/// Each shard is its name, for errors, and its CSV, whose rows are sorted already. One row of each is in memory.
///
/// # Errors
/// Shards of several grids, a row that is missing, given twice or torn; input and output.
pub fn merge<R: BufRead>(
    shards: impl IntoIterator<Item = (String, R)>,
    mut out: impl Write,
) -> Result<u64, SweepError> {
    let shards = shards.into_iter();
    let opened = shards.map(|(file, csv)| Opened::try_new(file, csv));
    let mut shards = opened.collect::<Result<Vec<_>, _>>()?;
    let Some(first) = shards.first() else {
        return Err(SweepError::Shards(
            "expected at least one shard, found none".to_owned(),
        ));
    };
    let (header, named) = (first.header.clone(), first.file.clone());
    if let Some(other) = shards.iter().find(|shard| shard.header != header) {
        let problem = format!("expected the header of {named}, found another one; {OF_ONE_SWEEP}");
        return Err(other.refuse(problem));
    }
    shards.iter_mut().try_for_each(Opened::advance)?;
    let grid = shards.iter().find(|shard| shard.index.is_some());
    let grid = grid.map_or(String::new(), |shard| shard.grid.clone());
    out.write_all(&header)?;
    let mut next = 0;
    let has_row = |shard: &&mut Opened<R>| shard.index.is_some();
    while let Some(shard) = shards.iter_mut().filter(has_row).min_by_key(|it| it.index) {
        shard.check(&grid, next)?;
        out.write_all(&shard.line)?;
        next += 1;
        shard.advance()?;
    }
    let len = grid
        .split('-')
        .next()
        .and_then(|len| len.parse::<u64>().ok());
    match len.unwrap_or_default() {
        len if len > next => Err(missing(next, len - 1)),
        len if len == next && next > 0 => Ok(next),
        _ => Err(SweepError::Shards(format!(
            "expected all rows of a sweep, found {}; {OF_ONE_SWEEP}",
            grouped(next)
        ))),
    }
}

const OF_ONE_SWEEP: &str = "merge shards of one sweep";

fn missing(first: u64, last: u64) -> SweepError {
    let (first, last) = (grouped(first), grouped(last));
    let found = match first == last {
        true => format!("deployment {first} is missing"),
        false => format!("deployments {first} to {last} are missing, or some of them"),
    };
    SweepError::Shards(format!(
        "{found}; add the shard that has it, or resume it first"
    ))
}

/// A shard and its next row.
struct Opened<R> {
    file: String,
    csv: R,
    header: Vec<u8>,
    line: Vec<u8>,
    /// The number of this line, from 1.
    number: u64,
    /// The index of the row; `None` at the end.
    index: Option<u64>,
    grid: String,
}

impl<R: BufRead> Opened<R> {
    fn try_new(file: String, mut csv: R) -> Result<Opened<R>, SweepError> {
        let mut header = Vec::new();
        csv.read_until(b'\n', &mut header)?;
        let shard = Opened {
            file,
            csv,
            header,
            line: Vec::new(),
            number: 1,
            index: None,
            grid: String::new(),
        };
        if !shard.header.starts_with(b"index,grid,") {
            return Err(shard.refuse("expected the header of a sweep; name a file of one"));
        }
        Ok(shard)
    }

    /// Reads the next row.
    fn advance(&mut self) -> Result<(), SweepError> {
        self.line.clear();
        self.csv.read_until(b'\n', &mut self.line)?;
        self.number += 1;
        if self.line.is_empty() {
            self.index = None;
            return Ok(());
        }
        let whole = start(&self.line).filter(|_| self.line.last() == Some(&b'\n'));
        let Some((index, grid)) = whole else {
            return Err(self.refuse("expected a whole row; resume this shard first"));
        };
        self.index = Some(index);
        self.grid = grid.to_owned();
        Ok(())
    }

    /// Checks that the row is the one of index `next`.
    fn check(&self, grid: &str, next: u64) -> Result<(), SweepError> {
        if self.grid != grid {
            let found = &self.grid;
            let problem =
                format!("expected a row of grid {grid}, found one of {found}; {OF_ONE_SWEEP}");
            return Err(self.refuse(problem));
        }
        match self.index.unwrap_or_default() {
            index if index == next => Ok(()),
            index if index > next => Err(missing(next, index - 1)),
            index => Err(self.refuse(format!(
                "expected each deployment once and in order, found {index} after {}; name each shard once",
                next - 1
            ))),
        }
    }

    /// Refuses the line that was read last.
    fn refuse(&self, problem: impl Into<String>) -> SweepError {
        SweepError::Rows {
            file: self.file.clone(),
            line: self.number,
            problem: problem.into(),
        }
    }
}
