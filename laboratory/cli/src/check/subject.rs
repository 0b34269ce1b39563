//! The set to inspect: files, or a built-in set by name.

use std::path::Path;

use rooflut::table::TableSet;
use rooflut_error::{either, hint, nearest};
use rooflut_inspect::Inspection;

use crate::error::Error;
use crate::table_set::{self, names};

/// Finds the set that the argument or `--tables` names. A path on the disk takes precedence over a built-in
/// set of the same name, since its rows have lines.
pub(crate) fn subject(set: Option<&str>, tables: Option<&Path>) -> Result<Inspection, Error> {
    match (set, tables) {
        (Some(name), None) if is_path(name) => read(Path::new(name)),
        (Some(name), None) => built_in(name),
        (None, Some(path)) => read(path),
        (found, _) => Err(Error::new(format!(
            "expected either a set (a path or a name) or --tables PATH, found {}; see --help",
            if found.is_some() { "both" } else { "neither" }
        ))),
    }
}

/// Whether the path exists, or the text can only be a path.
fn is_path(name: &str) -> bool {
    let path = Path::new(name);
    path.exists() || path.components().count() > 1 || path.extension().is_some()
}

fn read(path: &Path) -> Result<Inspection, Error> {
    table_set::check_path(path)?;
    let (set, tables) = TableSet::try_load_rows(path)?;
    Ok(Inspection::of_files(&set, tables))
}

fn built_in(name: &str) -> Result<Inspection, Error> {
    let found = table_set::built_in(name).map(Inspection::of);
    found.ok_or_else(|| {
        Error::new(format!(
            "expected the path of a folder or file of measurements or {}, found \"{name}\"{}; check the \
             path, or use one of these names",
            either(&names()),
            hint(&nearest(name, names()))
        ))
    })
}
