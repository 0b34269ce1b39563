//! Where the rows of a sweep go: a CSV file, or a folder of Parquet files.

use std::io::{self, Write};
use std::path::Path;

use rooflut_sweep::{Row, Sweep};

use crate::args::SweepArgs;
use crate::error::Error;

use super::file::SweepFile;
#[cfg(feature = "parquet")]
use super::folder::SweepFolder;

/// Advice for an output that exists.
pub(super) const CONTINUE: &str = "continue it with --resume, or name another path";

/// Why a sweep ended early.
pub(super) enum Ended {
    /// The reader of standard output has seen enough, as `head` has.
    ReaderLeft,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Failed(error)
    }
}

impl From<rooflut_sweep::Error> for Ended {
    fn from(error: rooflut_sweep::Error) -> Ended {
        Ended::Failed(error.into())
    }
}

/// Where the rows of a sweep go.
pub(super) enum SweepOut<'o> {
    Csv(SweepFile<'o>),
    #[cfg(feature = "parquet")]
    Parquet(SweepFolder),
}

impl<'o> SweepOut<'o> {
    /// Opens the output of the arguments, behind the rows of the same sweep.
    pub(super) fn open(
        args: &SweepArgs,
        sweep: &Sweep<'_>,
        stdout: &'o mut (dyn Write + Send),
    ) -> Result<SweepOut<'o>, Error> {
        match args.out.as_deref().filter(|path| is_parquet(path)) {
            None => SweepFile::open(args, sweep, stdout).map(SweepOut::Csv),
            #[cfg(feature = "parquet")]
            Some(path) => SweepFolder::open(path, args, sweep).map(SweepOut::Parquet),
            #[cfg(not(feature = "parquet"))]
            Some(_) => Err(no_parquet()),
        }
    }

    /// Rows of an earlier sweep.
    pub(super) fn done(&self) -> u64 {
        match self {
            SweepOut::Csv(file) => file.done(),
            #[cfg(feature = "parquet")]
            SweepOut::Parquet(folder) => folder.done(),
        }
    }

    pub(super) fn push(&mut self, row: Row) -> Result<(), Ended> {
        match self {
            SweepOut::Csv(file) => file.write(&row.csv()).map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe => Ended::ReaderLeft,
                _ => Ended::Failed(file.writing(error)),
            }),
            #[cfg(feature = "parquet")]
            SweepOut::Parquet(folder) => Ok(folder.push(row)?),
        }
    }

    /// Adds rows as lines of CSV.
    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "lines are written as they are"))]
    pub(super) fn push_csv(&mut self, sweep: &Sweep<'_>, csv: &[u8]) -> Result<(), Error> {
        match self {
            SweepOut::Csv(file) => file.write(csv).map_err(|error| file.writing(error)),
            #[cfg(feature = "parquet")]
            SweepOut::Parquet(folder) => {
                let mut lines = csv.split_inclusive(|byte| *byte == b'\n');
                lines.try_for_each(|line| folder.push(sweep.row_of_csv(line)?))
            }
        }
    }

    /// Rows that are in memory alone.
    pub(super) fn unsaved(&self) -> u64 {
        match self {
            SweepOut::Csv(_) => 0,
            #[cfg(feature = "parquet")]
            SweepOut::Parquet(folder) => folder.unsaved(),
        }
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        #[cfg(feature = "parquet")]
        if let SweepOut::Parquet(folder) = self {
            folder.finish()?;
        }
        self.check()
    }

    /// Checks that the rows are at the path of the output.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            SweepOut::Csv(file) => file.check(),
            #[cfg(feature = "parquet")]
            SweepOut::Parquet(folder) => folder.check(),
        }
    }
}

/// Whether an output is a folder of Parquet files.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

/// The error of a build without Parquet.
#[cfg(not(feature = "parquet"))]
pub(super) fn no_parquet() -> Error {
    Error::new(
        "--out: this program was built without Parquet; build it with `cargo install --path cli --features parquet`, or \
         name a CSV file",
    )
}
