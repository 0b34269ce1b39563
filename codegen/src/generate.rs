//! Sets in, Rust out.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use rooflut_roofline::OperationKind;

use crate::{Error, Gpus, TableSet, emit, read_own_set};

/// The Rust source of a module with every GPU of `gpus_toml` and the sets in `dirs`, in order of
/// their names, for rooflut itself. Sets keep the tables of the operations that are `wanted`.
///
/// Deterministic: the same files give the same bytes.
///
/// # Errors
/// As [`read_set`](crate::read_set); two sets of one name.
pub fn generate_builtin(
    gpus_toml: &Path,
    dirs: &[&Path],
    wanted: impl Fn(OperationKind) -> bool,
) -> Result<String, Error> {
    let text = std::fs::read_to_string(gpus_toml).map_err(|source| Error::Io {
        path: gpus_toml.to_owned(),
        source,
    })?;
    let gpus = Gpus::parse(&text)?;
    let mut sets = BTreeMap::<String, (&Path, TableSet)>::new();
    for dir in dirs {
        let set = TableSet::read(dir, &gpus, &[])?;
        match sets.entry(set.name().to_owned()) {
            Entry::Vacant(place) => {
                place.insert((dir, set));
            }
            Entry::Occupied(first) => {
                return Err(Error::SameName {
                    name: first.key().clone(),
                    first: first.get().0.to_owned(),
                    second: dir.to_path_buf(),
                });
            }
        }
    }
    let sets: Vec<_> = sets.into_values().map(|(_, set)| set).collect();
    Ok(emit::module(&gpus, &text, &sets, wanted))
}

/// A Rust block expression of type `&'static rooflut::table::TableSet` for the set at `path`; the set
/// names a GPU of `gpus_toml` or defines its own.
///
/// # Errors
/// As [`read_own_set`].
pub fn generate_expression(
    path: &Path,
    gpus_toml: &str,
) -> Result<proc_macro2::TokenStream, Error> {
    let set = read_own_set(path, &Gpus::parse(gpus_toml)?)?;
    Ok(emit::expression(&set))
}
