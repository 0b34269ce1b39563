//! Measured points: search, interpolation, provenance. No model knowledge.

mod axis;
mod curve;
mod grid;
mod index;
#[cfg(feature = "runtime-tables")]
mod load;
#[cfg(feature = "alloc")]
mod owned;
mod provenance;
mod set;
mod stored;
mod strictness;
#[allow(clippy::module_inception)] // One table of a set.
mod table;

pub use axis::{Axis, Bracket, Place};
pub use curve::Curve;
pub(crate) use curve::Reading;
pub use grid::Grid;
#[doc(hidden)]
pub use index::Index;
#[cfg(feature = "runtime-tables")]
pub use load::{LoadError, LoadedRow, LoadedTable};
#[cfg(feature = "alloc")]
pub(crate) use owned::OwnedPoints;
pub use provenance::{Class, Extent, ParseProvenanceError, Provenance};
pub use set::{Origin, TableSet};
pub use stored::Points;
#[doc(hidden)]
pub use stored::{EntryPlace, StaticSet, StaticTable, TableHead};
pub use strictness::{Strictness, TooUncertain};
pub(crate) use table::Held;
pub use table::{Entry, KernelTable, Table};

pub use crate::generated::sets;
