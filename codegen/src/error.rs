//! What can be wrong with a table set, told to the person who has to mend it.

use std::fmt;
use std::path::PathBuf;

/// The first thing that is missing, malformed or impossible in a set.
///
/// Files are named as `set/file.csv`, lines count from 1 (the header).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder without its `set.toml`.
    NoSetToml {
        /// The folder.
        dir: PathBuf,
    },
    /// A TOML file that does not parse, or lacks a key, or has one too many.
    Toml {
        /// The file.
        file: String,
        /// Parser's message, with line and column.
        message: String,
    },
    /// A set names a GPU that is not in `gpus.toml` and does not define one.
    UnknownGpu {
        /// The `set.toml`.
        file: String,
        /// The name found.
        found: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A set has no table at all, or a table no rows.
    Empty {
        /// Folder or file.
        file: String,
    },
    /// A set has a table but its `set.toml` no section for the operation.
    NoTiming {
        /// The `set.toml`.
        file: String,
        /// The missing section.
        operation: &'static str,
    },
    /// A file in the folder that is not part of a set.
    UnknownFile {
        /// The file.
        file: String,
        /// The file names of a set.
        expected: Vec<&'static str>,
    },
    /// A column is missing.
    MissingColumn {
        /// The CSV.
        file: String,
        /// The missing column.
        column: &'static str,
        /// The header found.
        found: Vec<String>,
    },
    /// A column that the table does not know, or one that stands twice.
    UnknownColumn {
        /// The CSV.
        file: String,
        /// The column found.
        found: String,
        /// The columns a table of this kind may have.
        expected: Vec<&'static str>,
    },
    /// A value that cannot be read or makes no sense.
    Value {
        /// The CSV.
        file: String,
        /// Its line.
        line: u64,
        /// The column.
        column: String,
        /// The text found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Two rows with one key.
    Duplicate {
        /// The CSV.
        file: String,
        /// The later line.
        line: u64,
        /// The earlier line.
        first: u64,
        /// The key that both have.
        key: String,
    },
    /// A row that is faster than the GPU can be.
    Impossible {
        /// The CSV.
        file: String,
        /// Its line.
        line: u64,
        /// What the row's latency implies, with its unit.
        found: String,
        /// The limit that it exceeds, with its unit.
        limit: String,
        /// What is probably wrong.
        hint: String,
    },
    /// An `mfu` column that does not follow from latency, FLOPs and peak.
    MfuDisagrees {
        /// The CSV.
        file: String,
        /// Its line.
        line: u64,
        /// The value found.
        found: String,
        /// The value that follows from the latency.
        expected: String,
    },
    /// More points on an axis than a resolved handle can hold.
    TooManyPoints {
        /// The CSV.
        file: String,
        /// The key whose axis is too long.
        key: String,
        /// Points found.
        found: usize,
        /// Points at most.
        limit: usize,
    },
    /// Two shapes that hash to one key (practically impossible; leave one out).
    KeyCollision {
        /// The CSV.
        file: String,
        /// One of the shapes.
        key: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Error::NoSetToml { dir } => write!(
                f,
                "{}: expected a set.toml beside the tables (GPU, engine stack, timing, t0, source, \
                 licence, date), found none; bench_data/README.md shows one",
                dir.display()
            ),
            Error::Toml { file, message } => write!(f, "{file}: {}", message.trim_end()),
            Error::UnknownGpu { file, found, known } => write!(
                f,
                "{file}: gpu: expected one of {}, found \"{found}\"; for another GPU give its data \
                 sheet in a [gpu] table",
                known.join(", ")
            ),
            Error::Empty { file } => write!(
                f,
                "{file}: expected at least one row of measurements, found none; leave the file out \
                 or fill it"
            ),
            Error::NoTiming { file, operation } => write!(
                f,
                "{file}: expected a section [{operation}] with t0_us (the operation's launch time in \
                 microseconds; its smallest measured latency is a good start), found none"
            ),
            Error::UnknownFile { file, expected } => write!(
                f,
                "{file}: not a file of a table set; expected {}",
                expected.join(", ")
            ),
            Error::MissingColumn {
                file,
                column,
                found,
            } => write!(
                f,
                "{file}:1: expected a column {column}, found {}; rename or add it",
                found.join(", ")
            ),
            Error::UnknownColumn {
                file,
                found,
                expected,
            } => write!(
                f,
                "{file}:1: expected the columns {} once each, found \"{found}\"; rename or remove it",
                expected.join(", ")
            ),
            Error::Value {
                file,
                line,
                column,
                found,
                expected,
            } => {
                write!(
                    f,
                    "{file}:{line}: {column}: expected {expected}, found \"{found}\""
                )
            }
            Error::Duplicate {
                file,
                line,
                first,
                key,
            } => write!(
                f,
                "{file}:{line}: expected each key once, found {key} again (first on line {first}); \
                 keep one of the two"
            ),
            Error::Impossible {
                file,
                line,
                found,
                limit,
                hint,
            } => {
                write!(
                    f,
                    "{file}:{line}: latency_us: implies {found}, above {limit}; {hint}"
                )
            }
            Error::MfuDisagrees {
                file,
                line,
                found,
                expected,
            } => write!(
                f,
                "{file}:{line}: mfu: expected {expected} (from latency_us, FLOPs and peak), found \
                 \"{found}\"; check dtype, peak and FLOP formula"
            ),
            Error::TooManyPoints {
                file,
                key,
                found,
                limit,
            } => write!(
                f,
                "{file}: expected at most {limit} points on an axis, found {found} for {key}; thin \
                 them out"
            ),
            Error::KeyCollision { file, key } => {
                write!(
                    f,
                    "{file}: {key} shares its hash key with another shape; leave one out"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
