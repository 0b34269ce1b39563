//! Why an import fails.

use std::fmt;
use std::path::PathBuf;

/// Why an import fails, beyond what cannot be read or written.
#[derive(Debug)]
pub(crate) enum ImportError {
    /// The files do not make a set.
    Files(rooflut_import::Error),
    /// A file that stands for another, in Git LFS.
    LfsPointer { path: PathBuf },
    /// A file that this program was built without a reader for.
    #[cfg_attr(feature = "parquet", expect(dead_code, reason = "there is a reader"))]
    NoParquet { path: PathBuf },
    /// A parquet file that cannot be read.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "there is no reader")
    )]
    Parquet { path: PathBuf, problem: String },
    /// A destination that must not be written.
    Destination {
        path: PathBuf,
        problem: &'static str,
    },
    /// The set breaks a rule of table sets.
    Refused(rooflut_codegen::Error),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Files(error) => error.fmt(f),
            ImportError::LfsPointer { path } => write!(
                f,
                "{}: expected a table, found a pointer of Git LFS that stands for it; fetch the table with \
                 `git lfs pull` in its repository",
                path.display()
            ),
            ImportError::NoParquet { path } => write!(
                f,
                "{}: this rooflut was built without a reader of parquet; build it with `cargo install \
                 --path cli --features parquet`, or convert the file to CSV",
                path.display()
            ),
            ImportError::Parquet { path, problem } => {
                write!(f, "{}: expected a parquet table: {problem}", path.display())
            }
            ImportError::Destination { path, problem } => {
                write!(f, "{}: {problem}", path.display())
            }
            ImportError::Refused(error) => error.fmt(f),
        }
    }
}
