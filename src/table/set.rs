//! A set of tables: everything measured on one GPU with one engine stack.

use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, MoeShape, Reference,
};

use super::{Curve, Grid, Index};

/// Measured tables of one GPU and engine stack.
///
/// Built-in sets are statics ([`crate::table::sets`]). From a user's own measurements
#[cfg_attr(feature = "macros", doc = "[`tables!`](crate::tables)")]
#[cfg_attr(not(feature = "macros"), doc = "`tables!` (feature `macros`)")]
/// makes one at compile time and
#[cfg_attr(feature = "runtime-tables", doc = "[`try_load`](TableSet::try_load)")]
#[cfg_attr(
    not(feature = "runtime-tables"),
    doc = "`try_load` (feature `runtime-tables`)"
)]
/// one at run time. A set may lack an operation.
#[derive(Debug)]
pub struct TableSet {
    /// Name of the set, `h100`.
    pub name: &'static str,
    /// The GPU that was measured.
    pub gpu: Gpu,
    /// Where the measurements come from.
    pub origin: Origin,
    /// GEMMs by (dtype, k, n) over m.
    pub gemm: Option<KernelTable<GemmShape, Curve<'static>>>,
    /// Prefill attention by shape over (prompts, prompt length).
    pub prefill: Option<KernelTable<AttentionShape, Grid<'static>>>,
    /// Decode attention by shape over (requests, KV length).
    pub decode: Option<KernelTable<AttentionShape, Grid<'static>>>,
    /// All-reduce by ranks over message bytes.
    pub allreduce: Option<KernelTable<AllReduceShape, Curve<'static>>>,
    /// Fused MoE layers by shape over tokens.
    pub moe: Option<KernelTable<MoeShape, Curve<'static>>>,
}

/// Who measured a set, how, and under which licence it may be used.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Engine stack and kernels.
    pub engine: &'static str,
    /// How a kernel was timed.
    pub timing: &'static str,
    /// Where the figures were published.
    pub source: &'static str,
    /// Licence of the figures.
    pub license: &'static str,
    /// The day they were taken over or measured, ISO 8601.
    pub date: &'static str,
}

/// All measured shapes of one operation.
pub struct KernelTable<S: 'static, P: 'static> {
    /// Time of the operation that neither FLOPs nor bytes explain (launch, ramp-up), microseconds.
    pub t0_us: f64,
    /// Time of the smallest call, microseconds.
    pub floor_us: f64,
    /// Time of a byte found in the L2 cache relative to one from memory, as the benchmark saw it.
    pub hot_read: f64,
    /// Reference of the operation by dtype.
    #[doc(hidden)]
    pub references: [Option<Reference>; Dtype::ALL.len()],
    /// Measured points by shape, in ascending order of the shape.
    pub entries: &'static [Entry<S, P>],
    /// Key of a shape to its place in `entries`.
    #[doc(hidden)]
    pub index: Index,
}

/// The measured points of one shape.
#[derive(Debug, Clone, Copy)]
pub struct Entry<S, P> {
    /// What was measured.
    pub shape: S,
    /// Latencies over the axes of the operation.
    pub points: P,
}

/// A kernel shape that tables are keyed by.
pub trait Shape: Copy + PartialEq {
    /// The shape as one integer, for perfect hashing.
    fn key(&self) -> u64;
}

macro_rules! shapes {
    ($($shape:ty),*) => {$(
        impl Shape for $shape {
            fn key(&self) -> u64 {
                <$shape>::key(self)
            }
        }
    )*};
}
shapes!(GemmShape, AttentionShape, AllReduceShape, MoeShape);

impl<S: Shape, P> KernelTable<S, P> {
    /// The reference of a kernel of `dtype`, `None` where the GPU has no peak for it.
    pub(crate) fn reference(&self, dtype: Dtype) -> Option<&Reference> {
        self.references.get(dtype as usize)?.as_ref()
    }

    /// The measured points of exactly this shape: one perfect-hash lookup; in tables that were read at
    /// run time a binary search.
    pub fn find(&self, shape: &S) -> Option<&'static Entry<S, P>> {
        let place = self.index.place(shape.key())?;
        self.entries
            .get(usize::from(place))
            .filter(|entry| entry.shape == *shape)
    }
}

impl<S: core::fmt::Debug, P> core::fmt::Debug for KernelTable<S, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KernelTable")
            .field("t0_us", &self.t0_us)
            .field("shapes", &self.entries.len())
            .finish()
    }
}
