//! Table sets.

use std::ffi::c_char;
use std::path::Path;

use rooflut::table::{TableSet, sets};
use rooflut_error::{hint, nearest};
use serde_json::json;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::text;
use crate::registry::REGISTRY;
use crate::text::{json as json_text, list, returning};

/// Returns a built-in table set by its name; case does not matter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_tables_find(
    name: *const c_char,
    name_length: usize,
    tables: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, name_length, "name") }?;
        REGISTRY.tables.insert(find(name)?.clone())
    };
    // SAFETY: the caller's promise.
    unsafe { returning((tables, "tables"), error, make) }
}

/// Reads a table set from a folder, or from one file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_tables_load(
    path: *const c_char,
    path_length: usize,
    tables: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let path = unsafe { text(path, path_length, "path") }?;
        let set =
            TableSet::try_load(Path::new(path)).map_err(|error| Failure::refused(format_args!("path: {error}")))?;
        REGISTRY.tables.insert(set)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((tables, "tables"), error, make) }
}

/// Returns name, GPU, source and measured operations of a table set as a text of JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_tables_describe(tables: Handle, description: *mut Handle, error: *mut Error) -> u32 {
    let make = || {
        REGISTRY.tables.read(tables, |set| {
            let operations = set.tables().map(|table| table.operation().name());
            json_text(&json!({
                "name": set.name(),
                "gpu": set.gpu(),
                "engine": set.origin().engine.as_str(),
                "source": set.origin().source.as_str(),
                "operations": operations.collect::<Vec<_>>(),
            }))
        })
    };
    // SAFETY: the caller's promise.
    unsafe { returning((description, "description"), error, make) }
}

/// Returns the names of the built-in table sets as a text of JSON, a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_tables_names(names: *mut Handle, error: *mut Error) -> u32 {
    let make = || list(&sets::ALL.map(TableSet::name));
    // SAFETY: the caller's promise.
    unsafe { returning((names, "names"), error, make) }
}

/// Finds a built-in table set.
pub(crate) fn find(name: &str) -> Result<&'static TableSet, Failure> {
    let found = sets::ALL.into_iter().find(|set| set.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let hint = hint(&nearest(name, sets::ALL.map(TableSet::name)));
        Failure::refused(format_args!(
            "tables: expected a built-in set, found {name:?}{hint}; list them with rooflut_tables_names, or load your own"
        ))
    })
}
