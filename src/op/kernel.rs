//! Resolved kernels of any operation.

use core::array;

use super::blend::{MAX_NEIGHBOURS, Neighbour};
use super::collective::AllReduce;
#[cfg(feature = "alloc")]
use super::collective::Gather;
#[cfg(feature = "alloc")]
use super::compressed::{CompressedDecode, CompressedPrefill};
use super::decode::DecodeAttention;
#[cfg(feature = "alloc")]
use super::delta::{DeltaDecode, DeltaPrefill};
use super::estimate::Estimate;
use super::gemm::Gemm;
#[cfg(feature = "alloc")]
use super::mla::{MlaDecode, MlaPrefill};
use super::moe::Moe;
#[cfg(feature = "alloc")]
use super::msa::{MsaDecode, MsaPrefill};
use super::prefill::PrefillAttention;
#[cfg(feature = "alloc")]
use super::streams::HyperConnection;
#[cfg(feature = "alloc")]
use super::window::{WindowDecode, WindowPrefill};
use crate::error::ResolveError;
use crate::hardware::OperationKind;
use crate::hardware::operation::Codes;
use crate::table::{Class, ErrorGroup, TableSet};

/// Declares how each operation is looked up: the function that resolves a shape, the arguments of a query, and whether
/// one measured shape answers or several.
macro_rules! kernels {
    ($(
        $(#[$feature:meta])*
        $kind:ident: $type:ident::$resolve:ident, at($first:ident $(, $second:ident)?), $matched:ident;
    )*) => {
        /// A resolved kernel of any operation, for programs that choose the operation at run time.
        ///
        /// ```
        /// use rooflut::hardware::{Dtype, GemmShape, OperationKind};
        /// use rooflut::op::{Argument, Kernel};
        /// use rooflut::table::{Class, sets};
        ///
        /// let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 };
        /// let kernel = Kernel::resolve(&sets::H100, OperationKind::Gemm, shape)?;
        /// assert_eq!(kernel.arguments(), [Argument::M]);
        /// assert_eq!(kernel.at(64, 1).provenance, Class::Measured.inside());
        /// # Ok::<(), rooflut::ResolveError>(())
        /// ```
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant)] // No box: a handle owns its points, without allocation.
        #[non_exhaustive]
        pub enum Kernel {
            $(
                $(#[$feature])*
                #[doc = concat!("A kernel of [`OperationKind::", stringify!($kind), "`].")]
                $kind($type),
            )*
        }

        impl Kernel {
            /// Looks up a shape in `set`, as `resolve` of the operation's type does. Latent attention with an indexer
            /// is looked up as sparse, even if the other operation is named.
            ///
            /// # Errors
            /// The errors of `resolve` of that type. A column that must be positive is zero.
            pub fn resolve(
                set: &TableSet,
                operation: OperationKind,
                shape: impl Into<Codes>,
            ) -> Result<Kernel, ResolveError> {
                let shape = shape.into();
                let kernel = match operation {
                    $(
                        $(#[$feature])*
                        OperationKind::$kind => $type::$resolve(set, shape.into()).map(Kernel::$kind),
                    )*
                    // Operations without a line above, or whose feature is off.
                    _ => Err(ResolveError::NoTable { set: set.clone(), operation: operation.name() }),
                }?;
                let mut columns = operation.declared().shape.iter().zip(shape);
                if columns.any(|(column, code)| column.is_positive() && code == 0) {
                    return Err(ResolveError::ZeroDimension { operation: operation.name() });
                }
                Ok(kernel)
            }

            /// Returns the operation.
            #[inline]
            pub fn operation(&self) -> OperationKind {
                match self {
                    $($(#[$feature])* Kernel::$kind(_) => OperationKind::$kind,)*
                }
            }

            /// Returns the time for values of the [`arguments`](Self::arguments); the second one of a kernel with one
            /// argument has no effect. Values outside of the range of an argument are treated as its nearest end.
            #[inline]
            pub fn at(&self, first: u64, second: u64) -> Estimate {
                match self {
                    $(
                        $(#[$feature])*
                        Kernel::$kind(kernel) => kernel.at(
                            Argument::$first.clamped(first)
                            $(, Argument::$second.clamped(second))?
                        ),
                    )*
                }
            }

            /// Returns the measured shapes that answer, with their shares.
            pub fn matched(&self) -> impl Iterator<Item = Neighbour<Codes>> {
                match self {
                    $($(#[$feature])* Kernel::$kind(kernel) => $matched(kernel.matched()),)*
                }
                .into_iter()
                .flatten()
            }

            /// Returns the errors of lookups like this one; see [`Estimate::interval`].
            pub fn errors(&self) -> ErrorGroup {
                match self {
                    $($(#[$feature])* Kernel::$kind(kernel) => kernel.errors(),)*
                }
            }

            /// Returns the best class that an answer can have.
            pub fn class(&self) -> Class {
                match self {
                    $($(#[$feature])* Kernel::$kind(kernel) => kernel.class(),)*
                }
            }
        }

        impl Argument {
            /// Returns the arguments of a query of this operation: one or two.
            pub const fn of(operation: OperationKind) -> &'static [Argument] {
                match operation {
                    $(
                        $(#[$feature])*
                        OperationKind::$kind => &[Argument::$first $(, Argument::$second)?],
                    )*
                    _ => &[],
                }
            }
        }
    };
}

kernels! {
    Gemm: Gemm::resolve, at(M), all;
    Prefill: PrefillAttention::resolve, at(Batch, SeqLen), all;
    Decode: DecodeAttention::resolve, at(Batch, KvTokens), one;
    AllReduce: AllReduce::resolve, at(Bytes), one;
    Moe: Moe::resolve, at(Tokens), all;
    #[cfg(feature = "alloc")]
    WindowPrefill: WindowPrefill::resolve, at(Batch, SeqLen), one;
    #[cfg(feature = "alloc")]
    WindowDecode: WindowDecode::resolve, at(Batch, KvLen), one;
    #[cfg(feature = "alloc")]
    MlaPrefill: MlaPrefill::resolve, at(Batch, SeqLen), all;
    #[cfg(feature = "alloc")]
    MlaDecode: MlaDecode::resolve, at(Batch, KvTokens), all;
    #[cfg(feature = "alloc")]
    DsaPrefill: MlaPrefill::resolve, at(Batch, SeqLen), all;
    #[cfg(feature = "alloc")]
    DsaDecode: MlaDecode::resolve, at(Batch, KvTokens), all;
    #[cfg(feature = "alloc")]
    AllGather: Gather::all_gather, at(Bytes), one;
    #[cfg(feature = "alloc")]
    ReduceScatter: Gather::reduce_scatter, at(Bytes), one;
    #[cfg(feature = "alloc")]
    DeltaPrefill: DeltaPrefill::resolve, at(Batch, SeqLen), one;
    #[cfg(feature = "alloc")]
    DeltaDecode: DeltaDecode::resolve, at(Batch), one;
    #[cfg(feature = "alloc")]
    CompressedPrefill: CompressedPrefill::resolve, at(Batch, SeqLen), all;
    #[cfg(feature = "alloc")]
    CompressedDecode: CompressedDecode::resolve, at(Batch, KvTokens), all;
    #[cfg(feature = "alloc")]
    MsaPrefill: MsaPrefill::resolve, at(Batch, SeqLen), all;
    #[cfg(feature = "alloc")]
    MsaDecode: MsaDecode::resolve, at(Batch, KvTokens), all;
    #[cfg(feature = "alloc")]
    HyperConnection: HyperConnection::resolve, at(Tokens), one;
}

impl Kernel {
    /// Returns the arguments of a query.
    #[inline]
    pub fn arguments(&self) -> &'static [Argument] {
        Argument::of(self.operation())
    }

    /// Returns the time at a point of the axes of the operation's tables: requests of one length each.
    pub fn at_point(&self, [first, second]: [u64; 2]) -> Estimate {
        match self.arguments() {
            [_, Argument::KvTokens] => self.at(first, first.saturating_mul(second)),
            _ => self.at(first, second),
        }
    }
}

/// An argument of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// Rows of a GEMM.
    M,
    /// Tokens of a layer of experts.
    Tokens,
    /// Size of the message of a collective.
    Bytes,
    /// Number of requests.
    Batch,
    /// Length of each prompt.
    SeqLen,
    /// KV length of each request.
    KvLen,
    /// Sum of the KV lengths.
    KvTokens,
}

impl Argument {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Argument::M => "m",
            Argument::Tokens => "tokens",
            Argument::Bytes => "bytes",
            Argument::Batch => "batch",
            Argument::SeqLen => "seq_len",
            Argument::KvLen => "kv_len",
            Argument::KvTokens => "kv_tokens",
        }
    }

    /// Returns its meaning.
    pub const fn meaning(self) -> &'static str {
        match self {
            Argument::M => "Rows (tokens)",
            Argument::Tokens => "Tokens, of all ranks that share the experts",
            Argument::Bytes => {
                "Size of the whole message: the data on each GPU after an all-gather, or before the other collectives"
            }
            Argument::Batch => "Requests",
            Argument::SeqLen => "Tokens of each prompt",
            Argument::KvLen => "KV length of each request, its new token included",
            Argument::KvTokens => "KV lengths of all requests together, new tokens included",
        }
    }

    /// Returns its largest value; the smallest one is 1.
    pub const fn max(self) -> u64 {
        match self {
            Argument::Bytes | Argument::KvTokens => u64::MAX,
            _ => u32::MAX as u64,
        }
    }

    /// Returns the argument of the same query for requests of one length each.
    pub const fn of_one_length(self) -> Argument {
        match self {
            Argument::KvTokens => Argument::KvLen,
            argument => argument,
        }
    }

    /// Returns the nearest value in the range of the argument, which is that of `T`.
    #[inline]
    fn clamped<T: TryFrom<u64> + Default>(self, value: u64) -> T {
        T::try_from(value.min(self.max())).unwrap_or_default()
    }
}

/// The neighbours of a kernel that one measured shape answers for.
fn one<S: Into<Codes>>(shape: S) -> [Option<Neighbour<Codes>>; MAX_NEIGHBOURS] {
    all([Neighbour { shape, share: 1.0 }].into_iter())
}

/// The neighbours of a kernel that several measured shapes may answer for.
fn all<S: Into<Codes>>(neighbours: impl Iterator<Item = Neighbour<S>>) -> [Option<Neighbour<Codes>>; MAX_NEIGHBOURS] {
    let mut neighbours = neighbours.map(|Neighbour { shape, share }| Neighbour { shape: shape.into(), share });
    array::from_fn(|_| neighbours.next())
}
