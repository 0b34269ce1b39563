//! Reads measured kernel tables, checks them, and emits them as Rust.
//!
//! One implementation behind rooflut's `build.rs` (the built-in sets), `rooflut::tables!` (a user's
//! own) and `TableSet::try_load` (a user's own, at run time). A set is a folder:
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
//! A set may also be a single file: what `tail -n +1 set.toml *.csv` prints in its folder.
//!
//! [`read_rows`] reads one such CSV without a set around it, to compare its rows with a set.

mod check;
#[cfg(feature = "emit")]
mod emit;
mod error;
mod files;
mod fingerprint;
#[cfg(feature = "emit")]
mod generate;
mod gpus;
mod header;
mod measured;
mod rows;
mod set;
mod stored;
mod table;
mod toml_file;

use std::path::Path;

#[cfg(feature = "emit")]
pub use emit::{generate_constants, generate_engines};
pub use error::Error;
pub use files::FILES;
pub use fingerprint::{Fingerprint, fingerprints, fingerprints_csv};
#[cfg(feature = "emit")]
pub use generate::{generate_builtin, generate_expression};
pub use gpus::{Gpus, own_gpu};
pub use measured::{MeasuredRow, MeasuredRows, RefusedRow, TableRows, read_rows};
pub use rooflut_roofline::{MeasuredKernel, OperationKind};
pub use set::TableSet;
pub use stored::{StoredAxes, StoredEntry, StoredSet, StoredTable};

/// The names of rooflut's own sets, which no other may have: an output that names one means it.
pub const BUILT_IN: [&str; 6] = ["a100", "b200", "h100", "h100-infersim", "h200", "l40s"];

/// Reads and checks the set at `path`, whatever its name; its GPU is one of `gpus_toml` or defined by
/// the set itself.
///
/// # Errors
/// The first thing in the files that is missing, malformed or impossible; see [`Error`].
pub fn read_set(path: &Path, gpus_toml: &str) -> Result<TableSet, Error> {
    TableSet::read(path, &Gpus::parse(gpus_toml)?, &[])
}

/// As [`read_set`], with GPUs that were read already.
///
/// # Errors
/// As [`read_set`].
pub fn read_any_set(path: &Path, gpus: &Gpus) -> Result<TableSet, Error> {
    TableSet::read(path, gpus, &[])
}

/// Reads and checks a set that is not one of rooflut's; its GPU is one of `gpus` or defined by the set
/// itself.
///
/// # Errors
/// As [`read_set`]; a name of [`BUILT_IN`].
pub fn read_own_set(path: &Path, gpus: &Gpus) -> Result<TableSet, Error> {
    TableSet::read(path, gpus, &BUILT_IN)
}
