//! The table set that `--gpu` or `--tables` names.

use std::path::Path;

use rooflut::table::{TableSet, sets};
use rooflut_error::{Whole, either, hint, nearest, setting};
use rooflut_scenario::{Kind, Target, names_file, tables_of};

use crate::error::Error;
use crate::input;

#[derive(Debug, Clone, Copy)]
pub enum WhichSet<'a> {
    /// A built-in set; the case of its name does not matter.
    Named(&'a str),
    /// Measurements in a folder or a file.
    At(&'a Path),
    /// The data sheet of a GPU that was not measured, and the set whose efficiencies it takes.
    Sheet { path: &'a Path, base: Option<&'a str> },
}

impl<'a> WhichSet<'a> {
    /// Returns the set that the flags name, or `None` without a flag. (clap does not see the conflict if one flag comes
    /// before a subcommand and the other after it.)
    pub fn chosen(gpu: Option<&'a str>, tables: Option<&'a Path>) -> Result<Option<WhichSet<'a>>, Error> {
        match (gpu, tables) {
            (Some(_), Some(_)) => {
                Err(Error::new("expected either --gpu NAME or --tables PATH, found both; see --help"))
            }
            (gpu, tables) => Ok(gpu.map(WhichSet::Named).or(tables.map(WhichSet::At))),
        }
    }
}

/// Returns the set that a target names.
pub(crate) fn of(target: &Target) -> WhichSet<'_> {
    match &target.tables {
        Some(path) => WhichSet::At(path),
        None => of_gpu(target.gpu(), target),
    }
}

/// Returns the set that the value of `--gpu` names.
pub(crate) fn of_gpu<'a>(gpu: &'a str, target: &'a Target) -> WhichSet<'a> {
    if names_file(gpu) {
        WhichSet::Sheet { path: Path::new(gpu), base: target.base.as_deref() }
    } else {
        WhichSet::Named(gpu)
    }
}

/// Finds a built-in set, or reads one.
pub fn find(which: WhichSet<'_>) -> Result<TableSet, Error> {
    match which {
        WhichSet::Named(name) => named(name).cloned().map_err(|error| with_sheet(name, error)),
        WhichSet::At(path) => {
            check_path(path)?;
            let kind = if path.exists() { Kind::Contents } else { Kind::Io };
            TableSet::try_load(path).map_err(|error| Error::of(kind, error).about("tables"))
        }
        WhichSet::Sheet { path, base } => {
            if path.is_dir() {
                let tables = setting("tables", path.display());
                let text = format!(
                    "{}: expected the data sheet of a GPU, found a folder; use {tables} for \
                                    measurements",
                    path.display()
                );
                return Err(rooflut_scenario::Error::new(Kind::Contents, text).about(["gpu"]).into());
            }
            let sheet = input::read(path, Whole::DataSheet)
                .map_err(Error::reading(path))
                .map_err(|error| error.about("gpu"))?;
            Ok(tables_of(path, &sheet, base)?)
        }
    }
}

/// Adds to the error of an unknown name that a data sheet describes other GPUs.
fn with_sheet(name: &str, error: Error) -> Error {
    let error = rooflut_scenario::Error::from(error);
    match error.kind() {
        Kind::UnknownName if !name.contains(',') => error.map(|text| {
            format!("{text}; for another GPU, give its data sheet, as in {}", setting("gpu", "my-gpu.toml"))
        }),
        _ => error,
    }
    .into()
}

/// Checks that the path of a set is not a pipe or a device: reading these might never end.
///
/// # Errors
/// The path is a pipe or a device.
pub fn check_path(path: &Path) -> Result<(), Error> {
    match path.metadata() {
        Ok(kind) if !kind.is_file() && !kind.is_dir() => Err(Error::new(format!(
            "{}: expected a folder or a file of measurements, found a pipe or a device; copy it to a file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// The name of a set that only `rooflut-lab` has.
const LABORATORY: &str = "h100-infersim";

fn named(name: &str) -> Result<&'static TableSet, Error> {
    if names_file(name) {
        return Err(Error::new(format!(
            "{name}: expected the name of a table set, found a data sheet, of which this command shows no rows; use \
             rooflut step --gpu {name}"
        )));
    }
    if name.eq_ignore_ascii_case(LABORATORY) {
        return Err(Error::new(format!(
            "{LABORATORY} is a table set of rooflut-lab; run rooflut-lab step or rooflut-lab tables (from source: cargo \
             run --release -p rooflut-lab -- step)"
        )));
    }
    if name.contains(',') {
        let text = format!(
            "{}: expected one table set; `rooflut sweep`, `plan` and `fits` take several",
            setting("gpu", name)
        );
        return Err(rooflut_scenario::Error::new(Kind::UnknownName, text).into());
    }
    built_in(name).ok_or_else(|| {
        let own = Path::new(name).exists().then(|| {
            let tables = setting("tables", name);
            format!(", or {tables} for measurements of your own")
        });
        let text = format!(
            "unknown table set \"{name}\"{}; use {}{}",
            hint(&nearest(name, names())),
            setting("gpu", either(&names())),
            own.unwrap_or_default()
        );
        rooflut_scenario::Error::new(Kind::UnknownName, text).into()
    })
}

/// Finds a built-in set; the case of its name does not matter.
pub fn built_in(name: &str) -> Option<&'static TableSet> {
    let mut sets = sets::ALL.into_iter();
    sets.find(|set| set.name().eq_ignore_ascii_case(name))
}

/// The names of the built-in sets.
pub fn names() -> [&'static str; sets::ALL.len()] {
    sets::ALL.map(|set| set.name())
}
