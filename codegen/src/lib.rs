//! Reads measured kernel tables, checks them, and emits them as Rust.
//!
//! rooflut's `build.rs` (the built-in sets), `rooflut::tables!` (a user's sets, compiled in) and
//! `TableSet::try_load` (a user's sets, at run time) share this crate. A set is a folder:
//!
//! | file | contents |
//! |---|---|
//! | `set.toml` | the GPU, the engine stack, how the kernels were timed, and the source |
//! | `gemm.csv` | `dtype,k,n,m,latency_us` |
//! | `attention_prefill.csv` | `dtype,kv_dtype,q_heads,kv_heads,head_dim,batch,seq_len,latency_us` (and `tp`) |
//! | `attention_decode.csv` | `dtype,kv_dtype,q_heads,kv_heads,head_dim,tp,batch,kv_len,latency_us` |
//! | `allreduce.csv` | `ranks,bytes,latency_us` |
//! | `allgather.csv` | `ranks,gathered_bytes,latency_us` |
//! | `reducescatter.csv` | `ranks,scattered_bytes,latency_us` |
//! | `moe.csv` | `dtype,experts,top_k,hidden,intermediate,tp,tokens,latency_us`, optional `ep` and `matrices` |
//!
//! Each CSV is optional, may have an `mfu` column (checked, then ignored), and may list its rows in any
//! order. A value that cannot be true is refused with file, line and column; see [`ErrorKind`].
//!
//! A set may also be a single file: the output of `tail -n +1 set.toml *.csv` in its folder.
//!
//! [`read_rows`] reads one CSV without a set around it, to compare its rows with those of a set.
//!
//! The crate has two halves: `read` (files in, checked numbers out) and `emit` (checked numbers in, Rust
//! out). `emit` uses `read`; `read` does not know `emit`.

mod emit;
mod read;

pub use emit::{generate_builtin, generate_constants, generate_engines, generate_expression, generate_lookup_errors};
pub use read::{
    BUILT_IN, Error, ErrorKind, ExcludedRows, FILES, Fingerprint, Gpus, MeasuredRow, MeasuredRows, RecordLines,
    RefusedRow, StoredAxes, StoredEntry, StoredSet, StoredTable, TableRows, TableSet, data_sheet, fingerprints,
    fingerprints_csv, line_ends, own_gpu, read_any_set, read_own_set, read_rows, read_set, set_files,
};
pub use rooflut_roofline::{Dtype, MeasuredKernel, OperationKind};
