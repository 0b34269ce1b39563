//! Sweeps whose rows are simulated in units, by several processes.

use std::ffi::OsString;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use rooflut_scenario::Stop;
use rooflut_sweep::{Shard, Sweep};

use crate::args::{self, Command, SweepArgs};
use crate::destination::is_stdout;
use crate::error::Error;
use crate::parser::Invocation;

use super::grid::FileKeys;
use super::out::SweepOut;
use super::{Rows, found, grid, plots, shared_files};

/// A sweep whose rows are simulated in units: ranges of indices. A unit depends on nothing but the arguments and its
/// range, so any process can simulate it.
///
/// ```
/// use rooflut_cli::SweepUnits;
/// use rooflut_scenario::Stop;
/// let units = SweepUnits::try_new(["rooflut", "sweep", "--requests=20", "--rate=2,4,6"].map(Into::into), None)?;
/// let rows = units.rows(1..3, 1, &Stop::default())?;
/// assert_eq!((units.points(), rows.csv.iter().filter(|byte| **byte == b'\n').count()), (3, 2));
/// # Ok::<(), rooflut_cli::Error>(())
/// ```
pub struct SweepUnits {
    args: Box<SweepArgs>,
    keys: FileKeys,
    sweep: Sweep<'static>,
}

/// The rows of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnitRows {
    /// Lines of CSV.
    pub csv: Vec<u8>,
    /// Rows with an error.
    pub failed: u64,
    /// Remarks on keys of the scenario file that change nothing, and on the servers so far, as of [`Sweep::remarks`].
    pub remarks: Vec<String>,
}

impl SweepUnits {
    /// Reads the arguments of `rooflut sweep`, the name of the program first, and finds what they name. Flags that divide
    /// the grid, merge, draw or submit have no effect. `points` are the lines of the file of `--points`, which is then not
    /// read.
    ///
    /// # Errors
    /// Each error of the command before its first row, and files that are no files, such as standard input.
    pub fn try_new(arguments: impl IntoIterator<Item = OsString>, points: Option<&[u8]>) -> Result<SweepUnits, Error> {
        let Invocation::Command(Command::Sweep(args)) = args::parse(arguments.into_iter().collect())? else {
            return Err(Error::new("expected the arguments of a sweep, found another command"));
        };
        let (grid, keys) = grid::grid(&args, points)?;
        let sweep = found(grid).map_err(|error| keys.place(error))?;
        shared_files(&args, &sweep)?;
        Ok(SweepUnits { args: args.0, keys, sweep })
    }

    /// Number of points of the grid.
    pub fn points(&self) -> u64 {
        self.sweep.grid().len()
    }

    /// Checks that there are at most `max_points` points. The error of a larger grid, whose keys are those of a file, has its
    /// hours on so many workers, and its gigabytes.
    ///
    /// # Errors
    /// A larger grid.
    pub fn check_size(&self, max_points: u64, workers: usize) -> Result<(), Error> {
        Ok(self.sweep.check_size(Shard::WHOLE, max_points, (workers, "worker"))?)
    }

    /// The text that identifies grid, files, version and tables in each row.
    pub fn fingerprint(&self) -> &str {
        self.sweep.fingerprint()
    }

    /// Returns the header as a line of CSV.
    pub fn csv_header(&self) -> Vec<u8> {
        self.sweep.csv_header()
    }

    /// Simulates the points with these indices on `threads` threads; `stop` ends this call alone.
    ///
    /// # Errors
    /// No thread can be started, or the call was stopped.
    pub fn rows(&self, indices: Range<u64>, threads: usize, stop: &Stop) -> Result<UnitRows, Error> {
        let (mut csv, mut failed) = (Vec::new(), 0);
        self.sweep.rows_of(indices, threads, stop, |row| {
            failed += u64::from(row.has_error());
            csv.extend(row.csv());
            Ok::<_, Error>(())
        })?;
        let remarks = self.keys.remarks().into_iter().chain(self.sweep.remarks());
        Ok(UnitRows { csv, failed, remarks: remarks.collect() })
    }

    /// Checks that lines of CSV are whole rows, from that of index `first` on, and returns their number.
    ///
    /// # Errors
    /// Another row, a part of one, or one that was changed.
    pub fn check(&self, csv: &[u8], first: u64) -> Result<u64, Error> {
        Ok(self.sweep.check_csv(csv, first)?)
    }

    /// Opens the output of `--out`, with `--resume` behind its rows.
    ///
    /// # Errors
    /// An output that exists, that another sweep writes, or that has rows of another grid.
    pub fn open(&self) -> Result<UnitsOut, Error> {
        if self.args.out.as_deref().is_none_or(is_stdout) {
            return Err(Error::new("--out: expected a file or NAME.parquet, found none; name one"));
        }
        // It has no size, so nothing leaks.
        let nowhere = Box::leak(Box::new(io::sink()));
        let out = SweepOut::open(&self.args, &self.sweep, nowhere)?;
        Ok(UnitsOut { rows: out.done(), out })
    }
}

/// The output of a sweep, which takes its units in the order of the grid.
pub struct UnitsOut {
    out: SweepOut<'static>,
    rows: u64,
}

impl UnitsOut {
    /// Rows of the output: the index of the next unit.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds the rows of a unit of `units`, and returns their number.
    ///
    /// # Errors
    /// Rows that are not the next ones, and outputs that cannot be written.
    pub fn push(&mut self, units: &SweepUnits, csv: &[u8]) -> Result<u64, Error> {
        let added = units.check(csv, self.rows)?;
        self.out.push_csv(&units.sweep, csv)?;
        self.rows += added;
        Ok(added)
    }

    /// Writes rows that are in memory alone.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.out.finish()
    }
}

/// Returns the rows of a sweep, a CSV file or a folder of Parquet files, as CSV.
///
/// # Errors
/// A file that cannot be read.
pub fn sweep_csv(out: &Path) -> Result<String, Error> {
    let mut csv = String::new();
    plots::csv(Rows { name: out, at: out })?.read_to_string(&mut csv).map_err(Error::reading(out))?;
    Ok(csv)
}
