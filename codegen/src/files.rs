//! The files of a set: in a folder, or one after the other in a single file.

use std::path::Path;

use rooflut_roofline::OperationKind;

use crate::Error;

/// The files of a set; all but the first are optional.
pub const FILES: [&str; 1 + OperationKind::ALL.len()] = files();

#[allow(clippy::indexing_slicing)] // Runs in the compiler only, where iterators cannot.
const fn files() -> [&'static str; 1 + OperationKind::ALL.len()] {
    let mut files = [SET_TOML; 1 + OperationKind::ALL.len()];
    let mut place = 0;
    while place < OperationKind::ALL.len() {
        files[place + 1] = OperationKind::ALL[place].declared().file;
        place += 1;
    }
    files
}

const SET_TOML: &str = "set.toml";

/// What a set is read from.
pub(crate) struct Files {
    /// The set as messages call it: the name of the folder or of the single file.
    name: String,
    header: Part,
    /// By the names that they have in [`FILES`].
    tables: Vec<(&'static str, Part)>,
}

/// A file of a set.
pub(crate) struct Part {
    /// The file as messages call it.
    pub(crate) name: String,
    /// What stands in it.
    pub(crate) bytes: Vec<u8>,
    /// Lines before its first in the file that `name` names.
    pub(crate) lines_before: u64,
}

impl Files {
    /// The files at `path`, a folder or a single file.
    ///
    /// # Errors
    /// Nothing is there, or it cannot be read; there is no `set.toml`; a file that no set has.
    pub(crate) fn read(path: &Path) -> Result<Files, Error> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let parts = if path.is_dir() {
            of_folder(path, &name)?
        } else if matches!(path.try_exists(), Ok(false)) {
            return Err(Error::NotFound {
                path: path.to_owned(),
            });
        } else {
            of_single_file(&name, utf8(&name, &read(path)?, 0)?)?
        };
        let (headers, tables): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(file, _)| *file == SET_TOML);
        let header = headers.into_iter().next();
        let (_, header) = header.ok_or_else(|| Error::NoSetToml {
            path: path.to_owned(),
        })?;
        Ok(Files {
            name,
            header,
            tables,
        })
    }

    /// The set as messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its `set.toml`.
    pub(crate) fn header(&self) -> &Part {
        &self.header
    }

    /// Whether there is nothing but the `set.toml`.
    pub(crate) fn has_no_table(&self) -> bool {
        self.tables.is_empty()
    }

    /// The table called `file`, if the set has it.
    pub(crate) fn table(&self, file: &str) -> Option<&Part> {
        let mut tables = self.tables.iter();
        tables.find(|(name, _)| *name == file).map(|(_, part)| part)
    }
}

impl Part {
    /// A file by itself; messages call it by its path.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn alone(path: &Path) -> Result<Part, Error> {
        Ok(Part {
            name: path.display().to_string(),
            bytes: read(path)?,
            lines_before: 0,
        })
    }

    /// Its text.
    ///
    /// # Errors
    /// [`Error::Value`] with the line that is no UTF-8.
    pub(crate) fn text(&self) -> Result<&str, Error> {
        utf8(&self.name, &self.bytes, self.lines_before)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })
}

fn of_folder(dir: &Path, name: &str) -> Result<Vec<(&'static str, Part)>, Error> {
    // Before the check of the others: a folder of anything else has not got one.
    if matches!(dir.join(SET_TOML).try_exists(), Ok(false)) {
        return Err(Error::NoSetToml {
            path: dir.to_owned(),
        });
    }
    check_files(dir, name)?;
    let part = |file: &'static str| {
        let path = dir.join(file);
        // Whatever else keeps the file from being read is an error, not a missing table.
        if matches!(path.try_exists(), Ok(false)) {
            return None;
        }
        let part = |bytes| Part {
            name: format!("{name}/{file}"),
            bytes,
            lines_before: 0,
        };
        Some(read(&path).map(|bytes| (file, part(bytes))))
    };
    FILES.into_iter().filter_map(part).collect()
}

/// A misspelt file would be left out in silence: refuse CSV files that no operation reads.
fn check_files(dir: &Path, folder: &str) -> Result<(), Error> {
    let io = |source| Error::Io {
        path: dir.to_owned(),
        source,
    };
    let mut names = std::fs::read_dir(dir)
        .map_err(io)?
        .map(|entry| {
            Ok(entry
                .map_err(io)?
                .file_name()
                .to_string_lossy()
                .into_owned())
        })
        .collect::<Result<Vec<String>, Error>>()?;
    names.sort();
    let unknown = names.into_iter().find(|name| {
        // Hidden files belong to editors and file managers.
        name.to_ascii_lowercase().ends_with(".csv")
            && !name.starts_with('.')
            && !FILES.contains(&name.as_str())
    });
    match unknown {
        Some(name) => Err(Error::UnknownFile {
            file: format!("{folder}/{name}"),
            expected: FILES.iter().copied().skip(1).collect(),
        }),
        None => Ok(()),
    }
}

/// The files in a text that `tail -n +1 set.toml *.csv` could have printed: before each a line
/// `==> gemm.csv <==`, and an empty one behind it.
fn of_single_file(name: &str, text: &str) -> Result<Vec<(&'static str, Part)>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parts = Vec::<(&'static str, Part)>::new();
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let refuse = |expected: String, hint| Error::Part {
            file: name.to_owned(),
            line: number,
            expected,
            found: line.trim().to_owned(),
            hint,
        };
        if let Some(title) = title(line) {
            // A path may stand before the name.
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
            let part = Part {
                name: name.to_owned(),
                bytes: Vec::new(),
                lines_before: number,
            };
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

/// Bytes as text; `lines_before` them stand others in the file.
fn utf8<'a>(file: &str, bytes: &'a [u8], lines_before: u64) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        let newlines = valid.iter().filter(|byte| **byte == b'\n').count();
        let before = valid.rsplit(|byte| *byte == b'\n').next();
        let after = rest.split(|byte| *byte == b'\n').next();
        let found = [before.unwrap_or_default(), after.unwrap_or_default()].concat();
        Error::Value {
            file: file.to_owned(),
            line: lines_before + newlines as u64 + 1,
            column: "row",
            found: String::from_utf8_lossy(&found).trim_end().to_owned(),
            expected: "UTF-8 text".to_owned(),
            hint: "save the file as UTF-8",
        }
    })
}
