//! Table sets: those of rooflut, and InferSim's figures.

use rooflut::table::TableSet;
pub(crate) use rooflut_cli::table_set::{WhichSet, check_path};
use rooflut_predecessors::H100_INFERSIM;

use crate::error::Error;

/// Finds a set by name, or reads one.
pub(crate) fn find(which: WhichSet<'_>) -> Result<TableSet, Error> {
    match which {
        WhichSet::Named(name) if is_infersim(name) => Ok(H100_INFERSIM.clone()),
        which => rooflut_cli::table_set::find(which),
    }
}

/// Finds a set that is compiled in; the case of its name does not matter.
pub(crate) fn built_in(name: &str) -> Option<&'static TableSet> {
    if is_infersim(name) { Some(H100_INFERSIM) } else { rooflut_cli::table_set::built_in(name) }
}

/// The names of the sets that are compiled in.
pub(crate) fn names() -> Vec<&'static str> {
    let own = rooflut_cli::table_set::names().into_iter();
    own.chain([H100_INFERSIM.name()]).collect()
}

fn is_infersim(name: &str) -> bool {
    H100_INFERSIM.name().eq_ignore_ascii_case(name)
}
