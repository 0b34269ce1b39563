//! The measured operations: the contents of their tables and the work of their kernels.
//!
//! An operation is declared once, as an [`Operation`] in a file of this module and a line in the list below. All code
//! that reads, checks, stores, emits or lists tables iterates over that list.

mod allreduce;
mod attention;
mod column;
mod compressed;
mod delta;
mod gather;
mod gemm;
mod indexer;
mod kernel;
mod mla;
mod moe;
mod msa;
mod streams;
mod window;

use core::fmt;

use crate::{Dtype, Reference, Work};

pub use allreduce::ALL_REDUCE;
pub use attention::{DECODE, PREFILL, PrefillPace, Prompts, RankAttention};
pub use column::{Column, ColumnKind, Contradiction, Expected, Usual};
pub use compressed::{Attended, COMPRESSED_DECODE, COMPRESSED_PREFILL, vector_bytes};
pub use delta::{DELTA_DECODE, DELTA_PREFILL};
pub use gather::{ALL_GATHER, REDUCE_SCATTER};
pub use gemm::{GEMM, GemmPace};
pub use kernel::MeasuredKernel;
pub use mla::{DSA_DECODE, DSA_PREFILL, MLA_DECODE, MLA_PREFILL, MlaLoad};
pub use moe::MOE;
pub use msa::{MSA_DECODE, MSA_PREFILL};
pub use shapes::*;
pub use streams::HYPER_CONNECTION;
pub use window::{WINDOW_DECODE, WINDOW_PREFILL};

/// Shapes of kernels, and the types of their parts.
pub mod shapes {
    pub use super::allreduce::AllReduceShape;
    pub use super::attention::AttentionShape;
    pub use super::compressed::CompressedShape;
    pub use super::delta::{DeltaKernel, DeltaShape};
    pub use super::gather::GatherShape;
    pub use super::gemm::GemmShape;
    pub use super::indexer::Indexer;
    pub use super::mla::MlaShape;
    pub use super::moe::MoeShape;
    pub use super::msa::MsaShape;
    pub use super::streams::{Side, StreamsShape};
    pub use super::window::WindowShape;
}

/// Maximum number of columns of a shape.
pub const MAX_COLUMNS: usize = 13;

/// A kernel shape as plain numbers in the order of [`Operation::shape`], padded with zeros. A dtype is stored as its
/// [`code`](Dtype::code), a name as its place, every other column as its value.
pub type Codes = [u32; MAX_COLUMNS];

/// Implements the conversions between a shape and its [`Codes`]: formats and numbers, and zeros beyond.
macro_rules! codes {
    ($shape:ident [$($dtype:ident)*] [$($number:ident)*]) => {
        impl From<$crate::operation::Codes> for $shape {
            #[inline]
            fn from([$($dtype,)* $($number,)* ..]: $crate::operation::Codes) -> $shape {
                $shape {
                    $($dtype: $crate::Dtype::from_code($dtype),)*
                    $($number,)*
                }
            }
        }

        impl From<$shape> for $crate::operation::Codes {
            #[inline]
            fn from(shape: $shape) -> $crate::operation::Codes {
                let mut codes = $crate::operation::Codes::default();
                let own = [$(shape.$dtype.code(),)* $(shape.$number,)*];
                codes.iter_mut().zip(own).for_each(|(code, own)| *code = own);
                codes
            }
        }
    };
}

use codes;

/// Maximum number of points on an axis of a resolved lookup.
pub const MAX_POINTS: usize = 32;

/// Declares the list of operations: the names of [`OperationKind`], where each is declared, and the type of its shapes.
macro_rules! operations {
    ($($kind:ident = $operation:path, $shape:ty;)*) => {
        /// An operation with measured tables.
        ///
        /// Listings and the files of a set use this order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum OperationKind {
            $(
                #[doc = concat!("Declared as [`", stringify!($operation), "`].")]
                $kind,
            )*
        }

        impl OperationKind {
            /// All operations, in order.
            pub const ALL: [OperationKind; [$(OperationKind::$kind),*].len()] =
                [$(OperationKind::$kind),*];

            /// Returns the declaration of the operation.
            pub const fn declared(self) -> &'static Operation {
                match self {
                    $(OperationKind::$kind => &$operation,)*
                }
            }

            /// Returns the name of its section in `set.toml`.
            ///
            /// The strings are separate from the declarations, so a program that only names operations does not link
            /// their functions.
            pub const fn name(self) -> &'static str {
                match self {
                    $(OperationKind::$kind => const { $operation.name },)*
                }
            }

            /// Returns the number of columns of its shape.
            #[inline]
            pub const fn shape_columns(self) -> usize {
                match self {
                    $(OperationKind::$kind => const { $operation.shape.len() },)*
                }
            }
        }

        /// Reads a shape as its type does.
        #[cfg(feature = "serde")]
        impl<'de> serde::de::DeserializeSeed<'de> for OperationKind {
            type Value = Codes;

            fn deserialize<D: serde::Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Codes, D::Error> {
                match self {
                    $(OperationKind::$kind => {
                        <$shape as serde::Deserialize>::deserialize(deserializer).map(Codes::from)
                    })*
                }
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for OperationKind {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<OperationKind, D::Error> {
                crate::deserialize_name(deserializer)
            }
        }

        impl core::str::FromStr for OperationKind {
            type Err = crate::UnknownName;

            fn from_str(name: &str) -> Result<OperationKind, crate::UnknownName> {
                const NAMES: &[&str] = &[$($operation.name),*];
                OperationKind::from_name(name).ok_or(crate::UnknownName::new(NAMES))
            }
        }
    };
}

operations! {
    Gemm = GEMM, GemmShape;
    Prefill = PREFILL, AttentionShape;
    Decode = DECODE, AttentionShape;
    AllReduce = ALL_REDUCE, AllReduceShape;
    Moe = MOE, MoeShape;
    WindowPrefill = WINDOW_PREFILL, WindowShape;
    WindowDecode = WINDOW_DECODE, WindowShape;
    MlaPrefill = MLA_PREFILL, MlaShape;
    MlaDecode = MLA_DECODE, MlaShape;
    DsaPrefill = DSA_PREFILL, MlaShape;
    DsaDecode = DSA_DECODE, MlaShape;
    AllGather = ALL_GATHER, GatherShape;
    ReduceScatter = REDUCE_SCATTER, GatherShape;
    DeltaPrefill = DELTA_PREFILL, DeltaShape;
    DeltaDecode = DELTA_DECODE, DeltaShape;
    CompressedPrefill = COMPRESSED_PREFILL, CompressedShape;
    CompressedDecode = COMPRESSED_DECODE, CompressedShape;
    MsaPrefill = MSA_PREFILL, MsaShape;
    MsaDecode = MSA_DECODE, MsaShape;
    HyperConnection = HYPER_CONNECTION, StreamsShape;
}

/// The declaration of an operation: its file, its columns and the work of its kernels.
///
/// The functions take the [`Codes`] of a shape and a point. The point has one coordinate per column of
/// [`axes`](Self::axes); the second is 1 if there is only one axis.
#[derive(Debug)]
#[non_exhaustive]
pub struct Operation {
    /// Name of the section in `set.toml`.
    pub name: &'static str,
    /// Name of the CSV file.
    pub file: &'static str,
    /// Short description of the operation.
    pub description: &'static str,
    /// Columns of the shape. The shape is the key of a table.
    pub shape: &'static [Column],
    /// Columns of the measured axes: one (a curve) or two (a grid).
    pub axes: &'static [&'static str],
    /// Further columns that a file may have.
    pub optional: &'static [&'static str],
    /// Rejects contradictory shapes.
    pub check: fn(&Codes) -> Result<(), Contradiction>,
    /// Returns the format whose peak applies.
    pub dtype: fn(&Codes) -> Dtype,
    /// Returns the compulsory work.
    pub work: fn(&Codes, [u32; 2]) -> Work,
    /// Returns the reference time that latencies are divided by, seconds.
    pub reference_s: fn(&Codes, [u32; 2], &Reference) -> f64,
    /// Writes the shape as the `Debug` of its Rust type.
    pub debug: fn(&Codes, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl Operation {
    /// Returns the columns that its CSV must have, in order.
    ///
    /// ```
    /// use rooflut_roofline::operation::GEMM;
    /// assert!(GEMM.columns().eq(["dtype", "k", "n", "m", "latency_us"]));
    /// ```
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        let required = self.shape.iter().filter(|column| column.is_required());
        let named = required.map(|column| column.name);
        named.chain(self.axes.iter().copied()).chain(["latency_us"])
    }

    /// Returns the optional columns of its CSV.
    pub fn optional_columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        let optional = self.shape.iter().filter(|column| !column.is_required());
        let named = optional.map(|column| column.name);
        named.chain(self.optional.iter().copied())
    }

    /// Returns the number in `column` of a shape, or `None` if the operation has no such column.
    ///
    /// ```
    /// use rooflut_roofline::{AllReduceShape, operation::ALL_REDUCE};
    /// let shape = AllReduceShape { ranks: 4 }.into();
    /// assert_eq!(ALL_REDUCE.code(&shape, "ranks"), Some(4));
    /// assert_eq!(ALL_REDUCE.code(&shape, "head_dim"), None);
    /// ```
    pub fn code(&self, shape: &Codes, column: &str) -> Option<u32> {
        let mut columns = self.shape.iter().zip(shape);
        let found = columns.find(|(declared, _)| declared.name == column);
        found.map(|(_, code)| *code)
    }
}

impl OperationKind {
    /// Returns the operation with the given [`name`](Self::name).
    ///
    /// ```
    /// use rooflut_roofline::OperationKind;
    /// assert_eq!(OperationKind::from_name("decode"), Some(OperationKind::Decode));
    /// assert_eq!(OperationKind::from_name("softmax"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<OperationKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the first codes of a shape as one integer, for perfect hashing. Keys are distinct within a table (the code
/// generator checks it) but not among all shapes, so a lookup also compares the shape.
#[inline]
pub fn key(codes: &[u32]) -> u64 {
    codes
        .iter()
        .fold(0, |seed: u64, code| (seed.rotate_left(23) ^ u64::from(*code)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Implements [`Operation::debug`] for a shape of type `S`.
fn debug<S: fmt::Debug + From<Codes>>(codes: &Codes, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    S::from(*codes).fmt(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_files_and_columns_of_operations_are_distinct() {
        for (place, kind) in OperationKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            assert_eq!(OperationKind::from_name(kind.name()), Some(kind));
            let operation = kind.declared();
            assert!((1..=2).contains(&operation.axes.len()), "{kind}");
            assert!(operation.shape.len() <= MAX_COLUMNS, "{kind}");
            for other in OperationKind::ALL.into_iter().skip(place + 1) {
                assert_ne!(operation.file, other.declared().file);
                assert!(!operation.columns().eq(other.declared().columns()));
            }
        }
    }
}
