//! Errors of kernel lookups.

use core::fmt;

use crate::hardware::{CompressedShape, Dtype, GemmShape, Indexer, MsaShape, OperationKind, Reference};
use crate::table::{Table, TableSet};

/// The error of a table set that cannot answer for a kernel.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ResolveError {
    /// The set has no table of the operation.
    NoTable {
        /// The set.
        set: TableSet,
        /// Name of the operation.
        operation: &'static str,
    },
    /// The set has no GEMM of this dtype.
    NoGemmDtype {
        /// The set.
        set: TableSet,
        /// The requested shape.
        shape: GemmShape,
    },
    /// The set has no attention with these formats.
    NoAttentionDtype {
        /// The set.
        set: TableSet,
        /// The operation: `prefill` or `decode`.
        operation: &'static str,
        /// The requested format of the math.
        dtype: Dtype,
        /// The requested format of the KV entries.
        kv_dtype: Dtype,
    },
    /// The set has no attention with these heads.
    NoHeads {
        /// The set.
        set: TableSet,
        /// Name of the operation.
        operation: &'static str,
        /// Query heads of one rank.
        q_heads: u32,
        /// KV heads of one rank.
        kv_heads: u32,
        /// Dimension of a head.
        head_dim: u32,
    },
    /// The set has no latent attention with these formats and dimensions of heads.
    NoLatentAttention {
        /// The set.
        set: TableSet,
        /// Name of the operation.
        operation: &'static str,
        /// The requested format of the projections.
        dtype: Dtype,
        /// The requested format of the KV entries.
        kv_dtype: Dtype,
        /// Rank of the latent vector.
        kv_rank: u32,
        /// Dimensions of a head: without and with rotary embedding, and of the values.
        head_dims: [u32; 3],
        /// The requested indexer, for sparse attention.
        indexer: Option<Indexer>,
    },
    /// The set has no block-sparse attention with these formats and this dimension of heads.
    NoBlockSparseAttention {
        /// The set.
        set: TableSet,
        /// Name of the operation.
        operation: &'static str,
        /// The shape.
        shape: MsaShape,
    },
    /// The set has no attention over compressed keys with this format and these dimensions of heads.
    NoCompressedKeys {
        /// The set.
        set: TableSet,
        /// Name of the operation.
        operation: &'static str,
        /// The requested layer.
        shape: CompressedShape,
    },
    /// The set has no such collective over this many ranks or more.
    TooManyRanks {
        /// The set.
        set: TableSet,
        /// Name of the operation.
        operation: &'static str,
        /// The requested number of ranks.
        ranks: u32,
        /// Maximum measured number of ranks.
        most: u32,
    },
    /// A collective needs at least two ranks.
    TooFewRanks {
        /// Name of the operation.
        operation: &'static str,
        /// The requested number of ranks.
        ranks: u32,
    },
    /// The GPU does not support this dtype.
    NoPeak {
        /// The set.
        set: TableSet,
        /// The dtype.
        dtype: Dtype,
    },
    /// A dimension of the shape is zero.
    ZeroDimension {
        /// The operation.
        operation: &'static str,
    },
    /// Heads that do not divide each other or cannot be divided among the ranks.
    UnevenHeads {
        /// The operation.
        operation: &'static str,
        /// Query heads.
        q_heads: u32,
        /// KV heads.
        kv_heads: u32,
        /// Tensor parallelism.
        tp: u32,
    },
}

impl TableSet {
    /// Returns the table of an operation.
    ///
    /// # Errors
    /// The set lacks it.
    #[inline]
    pub(crate) fn required(&self, operation: OperationKind) -> Result<Table<'_>, ResolveError> {
        self.table(operation).ok_or_else(|| ResolveError::NoTable { set: self.clone(), operation: operation.name() })
    }

    /// Returns the reference of kernels of `dtype` in one of the tables.
    ///
    /// # Errors
    /// The GPU has no peak for the dtype.
    #[inline]
    pub(crate) fn reference(&self, table: &Table<'_>, dtype: Dtype) -> Result<Reference, ResolveError> {
        let reference = table.reference(dtype);
        reference.ok_or_else(|| ResolveError::NoPeak { set: self.clone(), dtype })
    }
}

/// Further advice where a table or a format is missing.
const ADVICE: &str = if cfg!(feature = "alloc") { "" } else { ", or turn on the feature alloc of rooflut" };

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResolveError::NoTable { set, operation } => {
                write!(
                    f,
                    "table set {}: expected a table for {operation}, found none; use a set that has one \
                     (`rooflut tables` lists them)",
                    set.name()
                )?;
                f.write_str(ADVICE)
            }
            ResolveError::NoGemmDtype { set, shape } => {
                write!(f, "table set {}: gemm: expected one of ", set.name())?;
                let entries = set.gemm().into_iter().flat_map(|table| table.entries());
                write_distinct(f, entries.map(|entry| entry.shape.dtype.name()))?;
                write!(f, ", found {}; use one of these or another set{ADVICE}", shape.dtype)
            }
            ResolveError::NoAttentionDtype { set, operation, dtype, kv_dtype } => write!(
                f,
                "table set {}: {operation}: no rows of {dtype} with {kv_dtype} KV; use another \
                 dtype or another set (`rooflut tables` lists what each has)",
                set.name()
            ),
            ResolveError::NoHeads { set, operation, q_heads, kv_heads, head_dim } => write!(
                f,
                "table set {}: {operation}: no rows of {q_heads} query and {kv_heads} KV heads of \
                 {head_dim} in these formats; use heads or formats that were measured",
                set.name()
            ),
            ResolveError::NoLatentAttention {
                set,
                operation,
                dtype,
                kv_dtype,
                kv_rank,
                head_dims: [nope, rope, v],
                indexer,
            } => {
                write!(
                    f,
                    "table set {}: {operation}: no rows of {dtype} projections with {kv_dtype} KV, a latent rank of \
                     {kv_rank} and heads of {nope}, {rope} and {v}",
                    set.name()
                )?;
                match indexer {
                    Some(Indexer { heads: 0, top_k, .. }) => {
                        write!(f, ", and {top_k} keys that an earlier layer selected")?
                    }
                    Some(Indexer { heads, head_dim, top_k }) => {
                        write!(f, ", {heads} heads of {head_dim} that select {top_k} keys")?;
                    }
                    None => {}
                }
                f.write_str("; use formats and dimensions that were measured (`rooflut tables` lists them)")
            }
            ResolveError::NoBlockSparseAttention {
                set,
                operation,
                shape: MsaShape { dtype, kv_dtype, head_dim, .. },
            } => {
                write!(
                    f,
                    "table set {}: {operation}: no rows of {dtype} projections with {kv_dtype} KV and heads of {head_dim}; \
                     use formats and dimensions that were measured (`rooflut tables` lists them)",
                    set.name()
                )
            }
            ResolveError::NoCompressedKeys { set, operation, shape } => {
                let CompressedShape { dtype, head_dim, window, ratio, group_heads, o_rank, .. } = shape;
                write!(
                    f,
                    "table set {}: {operation}: no rows of {dtype} projections with heads of {head_dim} in groups of \
                     {group_heads} with an output rank of {o_rank}, a window of {window} and a key for {ratio} tokens",
                    set.name()
                )?;
                if shape.index_heads > 0 {
                    write!(f, ", {} index heads of {}", shape.index_heads, shape.index_dim)?;
                }
                f.write_str("; use formats and dimensions that were measured (`rooflut tables` lists them)")
            }
            ResolveError::TooManyRanks { set, operation, ranks, most } => write!(
                f,
                "table set {}: {operation}: expected at most {most} ranks, found {ranks}; use a \
                 smaller {} parallelism",
                set.name(),
                if *operation == OperationKind::AllReduce.name() { "tensor" } else { "data" }
            ),
            ResolveError::TooFewRanks { operation, ranks } => {
                write!(f, "{operation}: expected at least 2 ranks, found {ranks}; one GPU has nothing to exchange")
            }
            ResolveError::NoPeak { set, dtype } => {
                write!(f, "GPU {}: no peak for {dtype} in its data sheet; use another dtype", set.gpu().name)
            }
            ResolveError::ZeroDimension { operation } => {
                write!(f, "{operation}: expected positive dimensions, found 0")
            }
            ResolveError::UnevenHeads { operation, q_heads, kv_heads, tp } => write!(
                f,
                "{operation}: expected {q_heads} query heads to divide by {kv_heads} KV heads and by \
                 tp {tp}, and one of KV heads and tp by the other; use another tp"
            ),
        }
    }
}

impl core::error::Error for ResolveError {}

/// Writes the names, dropping consecutive duplicates.
fn write_distinct<'n>(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'n str>) -> fmt::Result {
    let mut last = "";
    for name in names {
        if name != last {
            let separator = if last.is_empty() { "" } else { ", " };
            write!(f, "{separator}{name}")?;
            last = name;
        }
    }
    Ok(())
}
