//! The files of a set: in a folder, or concatenated in a single file.

use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::Path;

use rooflut_roofline::OperationKind;

use super::error::{Error, ErrorKind, Found, Location};

/// The files of a set; all but the first are optional.
pub const FILES: [&str; 1 + OperationKind::ALL.len()] = files();

#[allow(clippy::indexing_slicing)] // Runs in the compiler only, where iterators cannot.
const fn files() -> [&'static str; 1 + OperationKind::ALL.len()] {
    let mut files = [SET_TOML; 1 + OperationKind::ALL.len()];
    let mut index = 0;
    while index < OperationKind::ALL.len() {
        files[index + 1] = OperationKind::ALL[index].declared().file;
        index += 1;
    }
    files
}

/// Size of the largest file, bytes.
const MAX_BYTES: u64 = 256 << 20;

pub(super) const SET_TOML: &str = "set.toml";

/// The names of the CSV files of a set, for messages.
pub(crate) fn table_files() -> String {
    OperationKind::ALL.map(|kind| kind.declared().file).join(", ")
}

/// The files that a set is read from.
pub(crate) struct Files {
    /// Name of the set in messages: that of the folder or of the single file.
    name: String,
    header: Part,
    /// By their names in [`FILES`].
    tables: Vec<(&'static str, Part)>,
}

/// A file of a set.
pub(crate) struct Part {
    /// Name of the file in messages.
    pub(crate) name: String,
    /// Its contents.
    pub(crate) bytes: Vec<u8>,
    /// Number of lines of the file `name` that precede this part.
    pub(crate) lines_before: u64,
}

impl Files {
    /// Reads the files at `path`, a folder or a single file.
    ///
    /// # Errors
    /// The path does not exist or cannot be read; there is no `set.toml`, or a file that no set has.
    pub(crate) fn read(path: &Path) -> Result<Files, Error> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let parts = if path.is_dir() {
            of_folder(path, &name)?
        } else if matches!(path.try_exists(), Ok(false)) {
            let expected = "a table set (a folder with a set.toml, or one file made of it)";
            return Err(Error::new(
                ErrorKind::NotFound,
                Location::file(path.display().to_string()),
                expected,
                Found::words("nothing there"),
                "check the path",
            ));
        } else {
            of_single_file(&name, utf8(&name, &read(path)?, 0)?)?
        };
        let (headers, tables): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(file, _)| *file == SET_TOML);
        let header = headers.into_iter().next();
        let (_, header) = header.ok_or_else(|| no_set_toml(path))?;
        Ok(Files { name, header, tables })
    }

    /// The name of the set in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its `set.toml`.
    pub(crate) fn header(&self) -> &Part {
        &self.header
    }

    /// Whether the set consists of its `set.toml` alone.
    pub(crate) fn has_no_table(&self) -> bool {
        self.tables.is_empty()
    }

    /// The table in `file`, or `None` where the set lacks that file.
    pub(crate) fn table(&self, file: &str) -> Option<&Part> {
        let mut tables = self.tables.iter();
        tables.find(|(name, _)| *name == file).map(|(_, part)| part)
    }
}

impl Part {
    /// Reads a file outside of a set; messages name it by its path.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn alone(path: &Path) -> Result<Part, Error> {
        Ok(Part { name: path.display().to_string(), bytes: read(path)?, lines_before: 0 })
    }

    /// A line of this part, from 1, as a location in its file.
    pub(crate) fn line(&self, line: u64) -> Location {
        Location::file(self.name.clone()).line(self.lines_before + line)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] with the first line that is not UTF-8.
    pub(crate) fn text(&self) -> Result<&str, Error> {
        utf8(&self.name, &self.bytes, self.lines_before)
    }
}

/// Reads a file of at most [`MAX_BYTES`]; pipes and devices might never end.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let refuse = |kind, expected, found, hint| {
        Err(Error::new(kind, Location::file(path.display().to_string()), expected, found, hint))
    };
    let io = |source| Error::io(path, source);
    let kind = std::fs::metadata(path).map_err(io)?;
    if !kind.is_file() && !kind.is_dir() {
        return refuse(ErrorKind::Set, "a file", Found::words("a pipe or a device"), "copy it to a file");
    }
    let mut bytes = Vec::new();
    if kind.len() <= MAX_BYTES {
        let file = File::open(path).map_err(io)?;
        // The file may grow.
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    }
    let length = kind.len().max(bytes.len() as u64);
    if length > MAX_BYTES {
        let found = Found::words(format!("{} MiB", length.div_ceil(1 << 20)));
        return refuse(ErrorKind::TooLarge, "at most 256 MiB", found, "is it a table?");
    }
    Ok(bytes)
}

fn no_set_toml(path: &Path) -> Error {
    Error::new(
        ErrorKind::NoSetToml,
        Location::file(path.display().to_string()),
        "a set.toml beside the tables (GPU, engine stack, timing, t0, source, licence, date)",
        Found::NONE,
        "add one as rooflut's bench_data/README.md describes",
    )
}

fn of_folder(dir: &Path, name: &str) -> Result<Vec<(&'static str, Part)>, Error> {
    // Checked first: a folder without this file is probably not a set at all.
    if matches!(dir.join(SET_TOML).try_exists(), Ok(false)) {
        return Err(no_set_toml(dir));
    }
    check_files(dir, name)?;
    let part = |file: &'static str| {
        let path = dir.join(file);
        // A file that exists but cannot be read is an error, not a missing table.
        if matches!(path.try_exists(), Ok(false)) {
            return None;
        }
        let part = |bytes| Part { name: format!("{name}/{file}"), bytes, lines_before: 0 };
        Some(read(&path).map(|bytes| (file, part(bytes))))
    };
    FILES.into_iter().filter_map(part).collect()
}

/// Refuses CSV files that no operation reads: a misspelt one would be ignored silently.
fn check_files(dir: &Path, folder: &str) -> Result<(), Error> {
    let mut names = std::fs::read_dir(dir)
        .and_then(|entries| {
            let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
            entries.map(|entry| entry.map(name)).collect::<Result<Vec<_>, _>>()
        })
        .map_err(|source| Error::io(dir, source))?;
    names.sort();
    let unknown = names.into_iter().find(|name| {
        // Hidden files belong to editors and file managers.
        name.to_ascii_lowercase().ends_with(".csv") && !name.starts_with('.') && !FILES.contains(&name.as_str())
    });
    match unknown {
        Some(name) => Err(Error::new(
            ErrorKind::Set,
            Location::file(format!("{folder}/{name}")),
            format!("one of {}", table_files()),
            Found::words("another CSV file"),
            "rename it or move it away",
        )),
        None => Ok(()),
    }
}

/// Splits a text as `tail -n +1 set.toml *.csv` prints it: each file after a line `==> gemm.csv <==` and
/// before an empty one.
fn of_single_file(name: &str, text: &str) -> Result<Vec<(&'static str, Part)>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parts = Vec::<(&'static str, Part)>::new();
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let refuse = |expected: String, hint: &'static str| {
            let (location, found) = (Location::file(name).line(number), Found::text(line.trim()));
            Error::new(ErrorKind::Set, location, expected, found, hint)
        };
        if let Some(title) = title(line) {
            // The name may follow a path.
            let last = title.rsplit(['/', '\\']).next();
            let file = FILES.into_iter().find(|file| last == Some(*file));
            let file = file.ok_or_else(|| {
                let expected = format!("the title of one of {}", FILES.join(", "));
                refuse(expected, "rename it or leave the file out")
            })?;
            if parts.iter().any(|(other, _)| *other == file) {
                let expected = format!("{file} once");
                return Err(refuse(expected, "keep one of the two"));
            }
            let part = Part { name: name.to_owned(), bytes: Vec::new(), lines_before: number };
            parts.push((file, part));
        } else if let Some((_, part)) = parts.last_mut() {
            part.bytes.extend_from_slice(line.as_bytes());
        } else if !line.trim().is_empty() {
            let expected = format!("the title of a file of a set, ==> {SET_TOML} <==");
            let hint = "name the folder of the set, or make one file of it: \
                        tail -n +1 set.toml *.csv > my-set.tables";
            return Err(refuse(expected, hint));
        }
    }
    Ok(parts)
}

/// The name in a line `==> name <==`.
fn title(line: &str) -> Option<&str> {
    let name = line.trim_end().strip_prefix("==> ")?;
    name.strip_suffix(" <==")
}

/// Bytes as text; `lines_before` lines of the file precede them.
fn utf8<'a>(file: &str, bytes: &'a [u8], lines_before: u64) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        let newlines = valid.iter().filter(|byte| **byte == b'\n').count();
        let before = valid.rsplit(|byte| *byte == b'\n').next();
        let after = rest.split(|byte| *byte == b'\n').next();
        let found = [before.unwrap_or_default(), after.unwrap_or_default()].concat();
        let found = String::from_utf8_lossy(&found);
        let location = Location::file(file).line(lines_before + newlines as u64 + 1);
        Error::new(
            ErrorKind::Row,
            location.field("row"),
            "UTF-8 text",
            Found::text(found.trim_end()),
            "save the file as UTF-8",
        )
    })
}
