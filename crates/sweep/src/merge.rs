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
    let header = first.header.clone();
    let named = first.file.clone();
    if let Some(other) = shards.iter().find(|shard| shard.header != header) {
        return Err(other.refuse(
            1,
            &format!("expected the header of {named}, found another one"),
        ));
    }
    let rows = shards.iter().filter(|shard| shard.index.is_some());
    let grid = rows
        .map(|shard| shard.grid.clone())
        .next()
        .unwrap_or_default();
    out.write_all(&header)?;
    let mut next = 0;
    loop {
        let of_another = shards
            .iter()
            .find(|it| it.index.is_some() && it.grid != grid);
        if let Some(other) = of_another {
            let found = format!("expected a row of grid {grid}, found one of {}", other.grid);
            return Err(other.refuse(other.number, &found));
        }
        let with_row = shards.iter_mut().filter(|shard| shard.index.is_some());
        let Some(least) = with_row.min_by_key(|shard| shard.index) else {
            break;
        };
        let index = least.index.unwrap_or_default();
        if index < next {
            return Err(least.refuse(
                least.number,
                &format!(
                    "expected each deployment once and in order, found {index} after {}",
                    next - 1
                ),
            ));
        }
        if index > next {
            return Err(missing(next, index - 1));
        }
        out.write_all(&least.line)?;
        next += 1;
        least.advance()?;
    }
    let len = grid.split('-').next().and_then(|len| len.parse().ok());
    match len.filter(|len: &u64| *len != next) {
        Some(len) if len > next => Err(missing(next, len - 1)),
        None if next > 0 => Ok(next),
        _ => Err(SweepError::Shards(format!(
            "expected all rows of a sweep, found {}",
            grouped(next)
        ))),
    }
}

fn missing(first: u64, last: u64) -> SweepError {
    let (first, last) = (grouped(first), grouped(last));
    let found = match first == last {
        true => format!("deployment {first} is missing"),
        false => format!("deployments {first} to {last} are missing, or some of them"),
    };
    SweepError::Shards(format!(
        "{found}; add the shard that has it, or go on with it by --resume"
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
        let mut shard = Opened {
            file,
            csv,
            header,
            line: Vec::new(),
            number: 1,
            index: None,
            grid: String::new(),
        };
        if !shard.header.starts_with(b"index,grid,") {
            return Err(shard.refuse(1, "expected the header of a sweep"));
        }
        shard.advance()?;
        Ok(shard)
    }

    /// Reads the next row.
    fn advance(&mut self) -> Result<(), SweepError> {
        self.line.clear();
        self.number += 1;
        self.csv.read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            self.index = None;
            return Ok(());
        }
        let whole = start(&self.line).filter(|_| self.line.last() == Some(&b'\n'));
        let Some((index, grid)) = whole else {
            return Err(self.refuse(
                self.number,
                "expected a whole row; go on with it by --resume",
            ));
        };
        self.index = Some(index);
        self.grid = grid.to_owned();
        Ok(())
    }

    fn refuse(&self, line: u64, problem: &str) -> SweepError {
        SweepError::Rows {
            file: self.file.clone(),
            line,
            problem: problem.to_owned(),
        }
    }
}
