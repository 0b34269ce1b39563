//! Sets of rooflut's own, and those of a user's crate.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use rooflut_roofline::{Dtype, OperationKind};

use super::set::{gpu_literal, set_literal};
use super::{constant_name, doc};
use crate::read::{Error, ErrorKind, Found, Gpus, Location, TableSet, read_any_set, read_own_set};

/// Returns the Rust source of rooflut's own tables: a module with a constant per GPU of `gpus_toml`, one
/// with a static per set in `dirs`, in order of their names, and a macro that hands the text of `gpus_toml`
/// to the procedural macro behind `tables!`. Sets keep the shapes of the operations and formats that are `wanted`.
///
/// The output is deterministic: equal files give equal bytes.
///
/// # Errors
/// As [`read_set`](crate::read_set); two sets have the same name.
pub fn generate_builtin(
    gpus_toml: &Path,
    dirs: &[&Path],
    wanted: impl Fn(OperationKind, Dtype) -> bool,
) -> Result<String, Error> {
    let text = std::fs::read_to_string(gpus_toml).map_err(|source| Error::io(gpus_toml, source))?;
    let gpus = Gpus::parse(&text)?;
    let mut sets = BTreeMap::<String, (&Path, TableSet)>::new();
    for dir in dirs {
        let set = read_any_set(dir, &gpus)?;
        match sets.entry(set.name().to_owned()) {
            Entry::Vacant(slot) => {
                slot.insert((dir, set));
            }
            Entry::Occupied(first) => {
                let (other, _) = first.get();
                let found = format!("{:?}, the name of {}", first.key(), other.display());
                return Err(Error::new(
                    ErrorKind::Set,
                    Location::file(dir.display().to_string()).field("name"),
                    "a name that no other set has",
                    Found::words(found),
                    "rename one of the two sets",
                ));
            }
        }
    }
    Ok(module(&gpus, &text, sets.values().map(|(_, set)| set), wanted))
}

/// Returns a Rust block expression of type `&'static rooflut::table::TableSet` for the set at `path`, which
/// names a GPU of `gpus_toml` or defines its own.
///
/// # Errors
/// As [`read_own_set`].
pub fn generate_expression(path: &Path, gpus_toml: &str) -> Result<String, Error> {
    let set = read_own_set(path, &Gpus::parse(gpus_toml)?)?;
    let set = set_literal(&set, "::rooflut", |_, _| true);
    Ok(format!(
        "{{
    #[allow(clippy::unreadable_literal, clippy::excessive_precision)]
    #[allow(clippy::approx_constant)] // Measured numbers may look like one.
    static SET: ::rooflut::table::TableSet = ::rooflut::table::TableSet::from_generated({set});
    &SET
}}"
    ))
}

fn module<'s>(
    gpus: &Gpus,
    gpus_toml: &str,
    sets: impl Iterator<Item = &'s TableSet>,
    wanted: impl Fn(OperationKind, Dtype) -> bool,
) -> String {
    let (mut gpu_items, mut gpu_names) = (String::new(), Vec::new());
    for gpu in gpus.iter() {
        let (name, doc) = (constant_name(&gpu.name), doc(&gpu.description));
        let value = gpu_literal(gpu, "crate");
        gpu_items += &format!("    {doc}\n    pub const {name}: crate::hardware::Gpu = {value};\n");
        gpu_names.push(name);
    }
    let mut items = BTreeMap::new();
    for set in sets {
        let (name, doc) = (constant_name(set.name()), doc(&set.about()));
        let value = set_literal(set, "crate", &wanted);
        let item = format!(
            "    #[allow(clippy::approx_constant)] // Measured numbers may look like one.
    {doc}
    pub static {name}: crate::table::TableSet = crate::table::TableSet::from_generated({value});\n"
        );
        items.insert(name, item);
    }
    let set_names: Vec<_> = items.keys().map(|name| format!("&{name}")).collect();
    let (gpu_count, set_count) = (gpu_names.len(), set_names.len());
    let (gpu_names, set_names) = (gpu_names.join(", "), set_names.join(", "));
    let set_items: String = items.into_values().collect();
    format!(
        "/// Data sheets of `bench_data/gpus.toml`.
pub mod gpus {{
{gpu_items}    /// All of them, in order of their names.
    pub const ALL: [crate::hardware::Gpu; {gpu_count}] = [{gpu_names}];
}}
/// Table sets of `bench_data/` whose features are on.
pub mod sets {{
{set_items}    /// All of them, in order of their names.
    pub static ALL: [&crate::table::TableSet; {set_count}] = [{set_names}];
}}
/// The second step of `tables!`: adds the text of `bench_data/gpus.toml`.
#[cfg(feature = \"macros\")]
#[doc(hidden)]
#[macro_export]
macro_rules! __tables_with_gpus {{
    ($dir:tt) => {{
        $crate::__private::tables_with_gpus!($dir, {gpus_toml:?})
    }};
}}
"
    )
}
