//! A checked set of tables.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rooflut_roofline::OperationKind;

use super::error::{Error, ErrorKind, Found, Location};
use super::files::{FILES, Files, SET_TOML, table_files};
use super::gpus::Gpus;
use super::header::{self, Header};
use super::table::{Table, TableRows};
use super::toml_file::TomlFile;

/// The names of rooflut's own sets: folders of `bench_data/`, which are features of rooflut. A user's set must have
/// another name, so a name in an output is unambiguous.
pub const BUILT_IN: [&str; 10] =
    ["a100", "b200", "b300", "gb200", "gb300", "h100", "h200", "l40s", "l40s-p2p", "rtx-pro-6000"];

/// A checked table set.
pub struct TableSet {
    pub(super) header: Header,
    /// In order of their operations.
    pub(super) tables: Vec<Table>,
    /// The set with the rows of other engine versions, by the names of their folders.
    pub(super) versions: Vec<(String, TableSet)>,
}

/// Reads and checks the set at `path`, whatever its name; its GPU is one of `gpus_toml` or defined by
/// the set itself.
///
/// # Errors
/// The first thing in the files that is missing, malformed or impossible; see [`ErrorKind`].
pub fn read_set(path: &Path, gpus_toml: &str) -> Result<TableSet, Error> {
    read_any_set(path, &Gpus::parse(gpus_toml)?)
}

/// As [`read_set`], with GPUs that were read before.
///
/// # Errors
/// As [`read_set`].
pub fn read_any_set(path: &Path, gpus: &Gpus) -> Result<TableSet, Error> {
    read(path, gpus, &[])
}

/// Reads and checks a user's set; its GPU is one of `gpus` or defined by the set itself.
///
/// # Errors
/// As [`read_set`]; the set has a name of [`BUILT_IN`].
pub fn read_own_set(path: &Path, gpus: &Gpus) -> Result<TableSet, Error> {
    read(path, gpus, &BUILT_IN)
}

fn read(path: &Path, gpus: &Gpus, taken: &[&str]) -> Result<TableSet, Error> {
    let mut set = read_one(path, gpus, taken)?;
    set.versions = versions(path, gpus, &set)?;
    Ok(set)
}

/// Reads the set at `path` without its folders of other engine versions.
fn read_one(path: &Path, gpus: &Gpus, taken: &[&str]) -> Result<TableSet, Error> {
    let files = Files::read(path)?;
    let header = Header::parse(&TomlFile::of(files.header())?, gpus, taken)?;
    if files.has_no_table() {
        return Err(Error::new(
            ErrorKind::Set,
            Location::file(files.name()),
            format!("at least one table beside set.toml ({})", table_files()),
            Found::NONE,
            "add one",
        ));
    }
    let mut tables = Vec::new();
    for kind in OperationKind::ALL {
        tables.extend(Table::read(kind, &files, &header)?);
    }
    if let Some(inherited) = &header.inherits {
        let base = base(&path.with_file_name(&inherited.0), gpus, &header, inherited)?;
        let is_new = |table: &Table| header.sections.contains_key(&table.operation);
        tables.extend(base.tables.into_iter().filter(|table| !is_new(table)));
        tables.sort_by_key(|table| table.operation);
    }
    Ok(TableSet { header, tables, versions: Vec::new() })
}

/// Reads the folders in `path` that have the rows of other engine versions than `set`, in order of their names.
fn versions(path: &Path, gpus: &Gpus, set: &TableSet) -> Result<Vec<(String, TableSet)>, Error> {
    let folders = version_folders(path).map_err(|source| Error::io(path, source))?;
    let version = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut version = read_one(folder, gpus, &[])?;
        let Header { name: own, gpu, inherits, .. } = &version.header;
        if (own, gpu) != (&set.header.name, &set.header.gpu) || inherits.is_some() {
            return Err(Error::new(
                ErrorKind::Set,
                Location::file(format!("{name}/{SET_TOML}")),
                format!("{:?} on the same GPU and without inherits, as the folder around it", set.header.name),
                Found::text(own),
                "correct it, or move the folder",
            ));
        }
        version.complete(&set.tables);
        Ok((name, version))
    };
    folders.iter().map(version).collect()
}

/// Returns the folders in `path` that have the rows of other engine versions, in order of their names.
fn version_folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut folders: Vec<_> = entries?;
    folders.retain(|folder| folder.join(SET_TOML).exists());
    folders.sort();
    Ok(folders)
}

/// Returns the paths of the files that the set at `path` is read from: its own, those of other engine versions, and those of
/// the set that it inherits from. Of a set that cannot be read it returns those that are found.
pub fn set_files(path: &Path) -> Vec<PathBuf> {
    let with_versions = |path: &Path| {
        let folders = version_folders(path).unwrap_or_default();
        let all = [path.to_owned()].into_iter().chain(folders);
        all.flat_map(|path| own_files(&path)).collect()
    };
    let mut files: Vec<PathBuf> = with_versions(path);
    if let Some(base) = base_of(path) {
        files.extend(with_versions(&base));
    }
    files
}

/// Returns the files of a folder that a set is read from, or the path of a single file.
fn own_files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let files = FILES.iter().map(|file| path.join(file));
        files.filter(|file| file.exists()).collect()
    } else {
        vec![path.to_owned()]
    }
}

/// Returns the path of the set that the one at `path` inherits from.
fn base_of(path: &Path) -> Option<PathBuf> {
    let files = Files::read(path).ok()?;
    let toml = TomlFile::of(files.header()).ok()?;
    let entries = toml.parse().ok()?;
    let (name, _) = header::inherited(&toml.table(&entries).optional("inherits")?).ok()?;
    Some(path.with_file_name(name))
}

/// Reads the set `name` at `path`, from which the set of `header` inherits, as `location` says.
fn base(path: &Path, gpus: &Gpus, header: &Header, (name, location): &(String, Location)) -> Result<TableSet, Error> {
    let refuse = |expected: &'static str| {
        Error::new(ErrorKind::Set, location.clone(), expected, Found::text(name), "inherit from another")
    };
    if !path.exists() {
        return Err(refuse("a set beside this one"));
    }
    let files = Files::read(path)?;
    let base = Header::parse(&TomlFile::of(files.header())?, gpus, &[])?;
    if base.inherits.is_some() {
        return Err(refuse("a set that inherits from no other"));
    }
    if base.gpu != header.gpu {
        return Err(refuse("a set of the same GPU"));
    }
    read(path, gpus, &[])
}

impl TableSet {
    /// Adds the tables that this set lacks, and the formats that a table of it lacks.
    fn complete(&mut self, tables: &[Table]) {
        for table in tables {
            match self.tables.iter_mut().find(|own| own.operation == table.operation) {
                Some(own) => own.complete(table),
                None => self.tables.push(table.clone()),
            }
        }
        self.tables.sort_by_key(|table| table.operation);
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.header.name
    }

    /// One sentence on the set: engine, GPU and timing.
    pub(crate) fn about(&self) -> String {
        let Header { name, gpu, engine, timing, .. } = &self.header;
        format!("`{name}`: {engine} on {}, {timing}.", gpu.description)
    }

    /// The rows of its tables with their lines in the files.
    pub fn rows(&self) -> Vec<TableRows> {
        self.tables.iter().map(Table::measured).collect()
    }
}
