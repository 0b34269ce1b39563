//! What can be wrong with a table set, told to the person who has to mend it.

use std::fmt;
use std::path::PathBuf;

use rooflut_roofline::OperationKind;

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
    /// There is nothing at the path of a set.
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// A set without its `set.toml`.
    NoSetToml {
        /// The folder or the single file.
        path: PathBuf,
    },
    /// A single file that is not one after the other of the files of a set.
    Part {
        /// The single file.
        file: String,
        /// Its line.
        line: u64,
        /// What was expected there.
        expected: String,
        /// What was found.
        found: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A TOML file that does not parse, lacks a key, has one too many, or one that makes no sense.
    Toml {
        /// The file.
        file: String,
        /// Its line.
        line: u64,
        /// What was expected and found.
        message: String,
    },
    /// Two sets of one name in one module.
    SameName {
        /// The name.
        name: String,
        /// The folder that came first.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// A set names a GPU that is not in `gpus.toml` and does not define one.
    UnknownGpu {
        /// The `set.toml`.
        file: String,
        /// Its line.
        line: u64,
        /// The name found.
        found: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A table has no rows.
    Empty {
        /// The CSV.
        file: String,
        /// The line of its header.
        line: u64,
    },
    /// A set has no table at all.
    NoTable {
        /// The folder.
        file: String,
        /// The file names of tables.
        expected: Vec<&'static str>,
    },
    /// A set has a table but its `set.toml` no section for the operation.
    NoTiming {
        /// The `set.toml`.
        file: String,
        /// The missing section.
        operation: &'static str,
    },
    /// A `set.toml` has a section for an operation whose table is not there.
    EmptySection {
        /// The `set.toml`.
        file: String,
        /// The section.
        operation: &'static str,
        /// The file that is missing.
        table: &'static str,
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
        /// The line of the header.
        line: u64,
        /// The missing column.
        column: &'static str,
        /// The header found.
        found: Vec<String>,
    },
    /// A column that the table does not know, or one that stands twice.
    UnknownColumn {
        /// The CSV.
        file: String,
        /// The line of the header.
        line: u64,
        /// The column found.
        found: String,
        /// The columns a table of this kind may have.
        expected: Vec<&'static str>,
    },
    /// A header with the columns of no operation, or of more than one.
    NoOperation {
        /// The CSV.
        file: String,
        /// The line of the header.
        line: u64,
        /// The header found.
        found: Vec<String>,
    },
    /// A CSV of another operation than was asked for.
    OtherOperation {
        /// The CSV.
        file: String,
        /// The line of the header.
        line: u64,
        /// The header found.
        found: Vec<String>,
        /// What was asked for.
        asked: OperationKind,
        /// The operation whose columns these are.
        fits: OperationKind,
    },
    /// A value that cannot be read or makes no sense.
    Value {
        /// The CSV.
        file: String,
        /// Its line.
        line: u64,
        /// The column.
        column: &'static str,
        /// The text found.
        found: String,
        /// What was expected.
        expected: String,
        /// What to do about it.
        hint: &'static str,
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
        /// The latency and the rate that it implies, with its unit.
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
    /// A row that its column `warmup` marks.
    WarmUp {
        /// The CSV.
        file: String,
        /// Its line.
        line: u64,
    },
    /// More points on an axis than a resolved handle can hold.
    TooManyPoints {
        /// The CSV.
        file: String,
        /// The column of the axis.
        axis: &'static str,
        /// The shape whose axis is too long.
        key: String,
        /// Points found.
        found: usize,
        /// Points at most.
        limit: usize,
    },
    /// More shapes than an index can number.
    TooManyShapes {
        /// The CSV.
        file: String,
        /// Shapes found.
        found: usize,
        /// Shapes at most.
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
            Error::Io { path, source } => write!(
                f,
                "{}: {source}; check that the file is there and readable",
                path.display()
            ),
            Error::NotFound { path } => write!(
                f,
                "{}: expected a table set (a folder with a set.toml, or one file made of it), found \
                 nothing there; check the path",
                path.display()
            ),
            Error::NoSetToml { path } => write!(
                f,
                "{}: expected a set.toml beside the tables (GPU, engine stack, timing, t0, source, \
                 licence, date), found none; rooflut's bench_data/README.md shows one",
                path.display()
            ),
            Error::Part {
                file,
                line,
                expected,
                found,
                hint,
            } => write!(
                f,
                "{file}:{line}: expected {expected}, found {}; {hint}",
                Quoted(found)
            ),
            Error::Toml {
                file,
                line,
                message,
            } => write!(f, "{file}:{line}: {message}"),
            Error::SameName {
                name,
                first,
                second,
            } => write!(
                f,
                "{}: name: expected another name than \"{name}\", which {} has; rename one of the \
                 two sets",
                second.display(),
                first.display()
            ),
            Error::UnknownGpu {
                file,
                line,
                found,
                known,
            } => write!(
                f,
                "{file}:{line}: gpu: expected one of {}, found {}; for another GPU give its data \
                 sheet in a [gpu] table",
                known.join(", "),
                Quoted(found)
            ),
            Error::Empty { file, line } => write!(
                f,
                "{file}:{line}: expected at least one row of measurements, found none; add some or \
                 leave the file out"
            ),
            Error::NoTable { file, expected } => write!(
                f,
                "{file}: expected at least one table beside set.toml ({}), found none; add one",
                expected.join(", ")
            ),
            Error::NoTiming { file, operation } => write!(
                f,
                "{file}: expected a section [{operation}] with t0_us (the operation's launch time in \
                 microseconds; its smallest measured latency is a good start), found none; add it"
            ),
            Error::EmptySection {
                file,
                operation,
                table,
            } => write!(
                f,
                "{file}: section [{operation}] expects {table} beside it, found none; add the table, or \
                 remove the section"
            ),
            Error::UnknownFile { file, expected } => write!(
                f,
                "{file}: expected one of {}, found another CSV file; rename it or move it away",
                expected.join(", ")
            ),
            Error::MissingColumn {
                file,
                line,
                column,
                found,
            } => write!(
                f,
                "{file}:{line}: {column}: expected a column of that name, found {}; {}",
                Quoted(&found.join(",")),
                unseparated(found).unwrap_or("add it, or rename the column that is meant")
            ),
            Error::NoOperation { file, line, found } => {
                let operations = OperationKind::ALL
                    .map(|kind| format!("{kind}: {}", columns(kind)))
                    .join("; ");
                write!(
                    f,
                    "{file}:{line}: expected the columns of one operation ({operations}), found {}; \
                     {}",
                    Quoted(&found.join(",")),
                    unseparated(found).unwrap_or("rename the columns or name another file")
                )
            }
            Error::OtherOperation {
                file,
                line,
                found,
                asked,
                fits,
            } => write!(
                f,
                "{file}:{line}: expected the columns of {asked} ({}), found {}, which are those of \
                 {fits}; name {fits} or another file",
                columns(*asked),
                Quoted(&found.join(","))
            ),
            Error::UnknownColumn {
                file,
                line,
                found,
                expected,
            } => write!(
                f,
                "{file}:{line}: expected the columns {} once each, found {}; rename or remove it",
                expected.join(","),
                Quoted(found)
            ),
            Error::Value {
                file,
                line,
                column,
                found,
                expected,
                hint,
            } => write!(
                f,
                "{file}:{line}: {column}: expected {expected}, found {}; {hint}",
                Quoted(found)
            ),
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
            } => write!(
                f,
                "{file}:{line}: latency_us: expected at most {limit}, found {found}; {hint}"
            ),
            Error::MfuDisagrees {
                file,
                line,
                found,
                expected,
            } => write!(
                f,
                "{file}:{line}: mfu: expected {expected} (from latency_us, FLOPs and peak), found \
                 {}; check dtype, peak and FLOP formula, or remove the column",
                Quoted(found)
            ),
            Error::WarmUp { file, line } => write!(
                f,
                "{file}:{line}: warmup: expected a run of a warm GPU, found one that warms it up; \
                 leave it out"
            ),
            Error::TooManyPoints {
                file,
                axis,
                key,
                found,
                limit,
            } => write!(
                f,
                "{file}: {axis}: expected at most {limit} different values, found {found} for \
                 {key}; thin them out"
            ),
            Error::TooManyShapes { file, found, limit } => write!(
                f,
                "{file}: expected at most {limit} different shapes, found {found}; split the set"
            ),
            Error::KeyCollision { file, key } => write!(
                f,
                "{file}: expected different hash keys, found that of another shape for {key}; leave \
                 one of the two out"
            ),
        }
    }
}

/// The columns of an operation as its CSV writes them.
fn columns(operation: OperationKind) -> String {
    operation.declared().columns().collect::<Vec<_>>().join(",")
}

/// What to do about a header that other separators than commas made one column.
fn unseparated(header: &[String]) -> Option<&'static str> {
    match header {
        [one] if one.contains([';', '\t']) => Some("separate the columns by commas"),
        _ => None,
    }
}

/// Text from a file on one line, in quotes and not too long: build scripts report single lines.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        f.write_str("\"")?;
        for character in self.0.chars().take(LONGEST) {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        let cut = self.0.chars().nth(LONGEST).is_some();
        f.write_str(if cut { "...\"" } else { "\"" })
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
