//! Errors in the files of a set.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

use rooflut_error::printable;

/// The first thing that is missing, malformed or impossible in the files of a set.
///
/// A message says where, what was expected and found, and what to do:
/// `h100/gemm.csv:17: latency_us: expected a positive number, found "-"; correct it or leave the row out`.
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: ErrorKind,
    location: Location,
    expected: Cow<'static, str>,
    found: Found,
    hint: Cow<'static, str>,
}

/// Kind of an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read.
    Io(io::Error),
    /// There is nothing at the path of a set.
    NotFound,
    /// A set has no `set.toml`.
    NoSetToml,
    /// A set has no table, a table without its section in `set.toml` (or the reverse), a file that no
    /// operation reads, or the name of another set; a single file is not made of the files of a set.
    Set,
    /// A TOML file does not parse, or a key is missing, unknown or has a value that makes no sense.
    Toml,
    /// The columns of a CSV do not match its operation, or match no operation.
    Columns,
    /// A table has no rows.
    Empty,
    /// A row has more or fewer fields than the header, or is not UTF-8.
    Row,
    /// A cell cannot be read or makes no sense.
    Value,
    /// Two rows have the same key.
    Duplicate,
    /// A row is faster than the GPU can be.
    Impossible {
        /// The rate that the row exceeds, `the bandwidth of h100 (3.350 TB/s)`.
        limit: String,
    },
    /// The `mfu` column does not follow from latency, FLOPs and peak.
    MfuDisagrees,
    /// The column `warmup` marks the row.
    WarmUp,
    /// A file is too large, or a table has more points or shapes than the library can index.
    TooLarge,
}

/// Where in the files something is wrong.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    file: String,
    line: Option<u64>,
    field: Cow<'static, str>,
}

/// The text or thing found in place of the expected.
#[derive(Debug)]
pub(crate) enum Found {
    /// Text of the file, shown in quotes.
    Text(String),
    /// A description.
    Words(Cow<'static, str>),
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        location: Location,
        expected: impl Into<Cow<'static, str>>,
        found: Found,
        hint: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error(Box::new(Parts { kind, location, expected: expected.into(), found, hint: hint.into() }))
    }

    /// Names the file with its whole path, where `set` is the path of its set; without this, names begin with the
    /// folder of the set.
    #[must_use]
    pub fn in_set_at(mut self, set: &Path) -> Error {
        let file = &mut self.0.location.file;
        let folder = set.parent();
        if let Some(folder) = folder.filter(|folder| !Path::new(file).starts_with(folder)) {
            *file = folder.join(&file).display().to_string();
        }
        self
    }

    /// A file that cannot be read.
    pub(crate) fn io(path: &Path, source: io::Error) -> Error {
        let found = Found::words(source.to_string());
        let location = Location::file(path.display().to_string());
        let hint = "check that the file is there and readable";
        Error::new(ErrorKind::Io(source), location, "a readable file", found, hint)
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the line in the file, from 1 (the header of a CSV).
    pub fn line(&self) -> Option<u64> {
        self.0.location.line
    }

    /// Returns the column of the CSV or the key of the TOML file; empty if it is not a single one.
    pub fn field(&self) -> &str {
        &self.0.location.field
    }

    /// Returns a description of the expected value.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }

    /// Returns the found text of the file, unquoted, or a description.
    pub fn found(&self) -> &str {
        match &self.0.found {
            Found::Text(text) => text,
            Found::Words(words) => words,
        }
    }

    /// Returns advice on how to correct the error.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// Sets the name of the file.
    #[must_use]
    pub fn in_file(mut self, name: impl Into<String>) -> Error {
        self.0.location.file = name.into();
        self
    }
}

impl Location {
    /// A whole file, by its name in messages.
    pub(crate) fn file(name: impl Into<String>) -> Location {
        Location { file: name.into(), line: None, field: Cow::Borrowed("") }
    }

    /// A line of the file.
    pub(crate) fn line(self, line: u64) -> Location {
        Location { line: Some(line), ..self }
    }

    /// A column or key.
    pub(crate) fn field(self, field: impl Into<Cow<'static, str>>) -> Location {
        Location { field: field.into(), ..self }
    }
}

impl Found {
    pub(crate) const NONE: Found = Found::Words(Cow::Borrowed("none"));

    pub(crate) fn text(text: impl Into<String>) -> Found {
        Found::Text(text.into())
    }

    pub(crate) fn words(words: impl Into<Cow<'static, str>>) -> Found {
        Found::Words(words.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { location, expected, found, hint, .. } = &*self.0;
        f.write_str(&printable(format!("{location}: expected {expected}, found {found}; {hint}")))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        Ok(())
    }
}

/// Not too long: cargo reports single lines of build scripts.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        let text = match self {
            Found::Words(words) => return f.write_str(words),
            Found::Text(text) => text,
        };
        let mut rest = text.chars();
        let shown: String = rest.by_ref().take(LONGEST).collect();
        write!(f, "\"{shown}{}\"", if rest.next().is_some() { "..." } else { "" })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(source) => Some(source),
            _ => None,
        }
    }
}
