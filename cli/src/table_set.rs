//! The table set that `--gpu` or `--tables` names.

use std::path::Path;

use rooflut::table::{TableSet, sets};
use rooflut_nearest::{hint, nearest};

use crate::error::Error;
use crate::output::either;

/// Which table set is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WhichSet<'a> {
    /// A compiled-in set, by its name in any case of letters.
    Named(&'a str),
    /// Measurements in a folder or a single file, whose name is none of the compiled-in sets.
    At(&'a Path),
}

impl<'a> WhichSet<'a> {
    /// The set that the flags name, none where neither is given. (clap does not see that they exclude each
    /// other where one stands before a subcommand and the other behind it.)
    pub(crate) fn chosen(
        gpu: Option<&'a str>,
        tables: Option<&'a Path>,
    ) -> Result<Option<WhichSet<'a>>, Error> {
        match (gpu, tables) {
            (Some(_), Some(_)) => Err(Error::new(
                "expected either --gpu NAME or --tables PATH, found both; see --help",
            )),
            (gpu, tables) => Ok(gpu.map(WhichSet::Named).or(tables.map(WhichSet::At))),
        }
    }
}

/// Finds the set, or reads it.
pub(crate) fn find(which: WhichSet<'_>) -> Result<TableSet, Error> {
    match which {
        WhichSet::Named(name) => named(name).cloned(),
        WhichSet::At(path) => Ok(TableSet::try_load(path)?),
    }
}

fn named(name: &str) -> Result<&'static TableSet, Error> {
    let found = sets::ALL
        .into_iter()
        .find(|set| set.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let own_tables = match Path::new(name).exists() {
            true => format!(", or --tables {name} for measurements of your own"),
            false => String::new(),
        };
        let message = format!(
            "unknown table set \"{name}\"{}; use --gpu {}{own_tables}",
            hint(&nearest(name, names())),
            either(&names().collect::<Vec<_>>())
        );
        Error::about(&["gpu"], message)
    })
}

fn names() -> impl Iterator<Item = &'static str> {
    sets::ALL.into_iter().map(|set| set.name())
}
