//! Reads measured kernel tables, checks them, and emits them as Rust.
//!
//! One implementation behind rooflut's `build.rs` (the built-in sets) and `rooflut::tables!` (a
//! user's own). A set is a folder:
//!
//! | file | one row is |
//! |---|---|
//! | `set.toml` | the GPU, the engine stack, how and by whom it was measured |
//! | `gemm.csv` | `dtype,k,n,m,latency_us` |
//! | `attention_prefill.csv` | `dtype,kv_dtype,q_heads,kv_heads,head_dim,batch,seq_len,latency_us` (and `tp`) |
//! | `attention_decode.csv` | `dtype,kv_dtype,q_heads,kv_heads,head_dim,tp,batch,kv_len,latency_us` |
//! | `allreduce.csv` | `ranks,bytes,latency_us` |
//! | `moe.csv` | `dtype,experts,top_k,hidden,intermediate,tp,tokens,latency_us` |
//!
//! Each CSV is optional, each may have an `mfu` column (checked, not used), rows may come in any
//! order. What cannot be true is refused with its file, line and column: [`Error`] lists the cases.
//!
//! [`read_rows`] reads one such CSV without a set around it, to compare its rows with a set.

mod check;
mod emit;
mod engines;
mod error;
mod fingerprint;
mod gpus;
mod header;
mod measured;
mod operation;
mod rows;
mod set;
mod table;
mod toml_file;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

pub use engines::generate_engines;
pub use error::Error;
pub use fingerprint::{Fingerprint, fingerprints, fingerprints_csv};
pub use measured::{
    MeasuredKernel, MeasuredRow, MeasuredRows, OperationKind, RefusedRow, read_rows,
};
pub use set::{FILES, TableSet};

/// Reads and checks the set in `dir`, whose GPU is one of `gpus_toml` or defined by the set itself.
///
/// # Errors
/// The first thing in the files that is missing, malformed or impossible; see [`Error`].
pub fn read_set(dir: &Path, gpus_toml: &str) -> Result<TableSet, Error> {
    TableSet::read(dir, &gpus::Gpus::parse(gpus_toml)?)
}

/// The Rust source of a module with every GPU of `gpus_toml` and the sets in `dirs`, in order of
/// their names, for rooflut itself.
///
/// Deterministic: the same files give the same bytes.
///
/// # Errors
/// As [`read_set`]; two sets of one name.
pub fn generate_builtin(gpus_toml: &Path, dirs: &[&Path]) -> Result<String, Error> {
    let text = std::fs::read_to_string(gpus_toml).map_err(|source| Error::Io {
        path: gpus_toml.to_owned(),
        source,
    })?;
    let gpus = gpus::Gpus::parse(&text)?;
    let mut sets = BTreeMap::<String, (&Path, TableSet)>::new();
    for dir in dirs {
        let set = TableSet::read(dir, &gpus)?;
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
    Ok(emit::module(&gpus, &text, &sets))
}

/// A Rust block expression of type `&'static rooflut::table::TableSet` for the set in `dir`; the set
/// names a GPU of `gpus_toml` or defines its own.
///
/// # Errors
/// As [`read_set`].
pub fn generate_expression(dir: &Path, gpus_toml: &str) -> Result<proc_macro2::TokenStream, Error> {
    Ok(emit::expression(&read_set(dir, gpus_toml)?))
}
