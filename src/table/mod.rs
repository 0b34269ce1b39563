//! Measured points: search, interpolation, provenance. Independent of models.

mod axis;
mod curve;
#[cfg(feature = "deferred-tables")]
#[doc(hidden)] // An interface of the WebAssembly package.
pub mod deferred;
mod error_group;
mod fingerprint;
mod grid;
mod index;
#[cfg(feature = "runtime-tables")]
mod load;
mod merged_axis;
mod origin;
#[cfg(feature = "runtime-tables")]
mod owned;
#[cfg(feature = "deferred-tables")]
mod presence;
mod provenance;
mod set;
mod stored;
mod strictness;
#[cfg(feature = "runtime-tables")]
mod subset;
#[allow(clippy::module_inception)] // One table of a set.
mod table;
#[cfg(feature = "runtime-tables")]
mod transferred;

pub use axis::Axis;
pub(crate) use axis::{Bracket, Position};
pub use curve::Curve;
pub(crate) use curve::Reading;
#[doc(hidden)]
pub use error_group::error_groups;
pub use error_group::{ErrorGroup, ParseErrorGroupError};
pub(crate) use error_group::{Errors, GroupErrors};
pub use fingerprint::DATA_FINGERPRINT;
pub use grid::Grid;
#[doc(hidden)]
pub use index::Index;
#[cfg(feature = "runtime-tables")]
#[doc(inline)]
pub use load::{ExcludedRows, LoadError, LoadedRow, LoadedTable, data_sheet};
pub(crate) use merged_axis::MergedAxis;
pub use origin::Origin;
pub use provenance::{Class, Extent, ParseProvenanceError, Provenance};
pub use set::TableSet;
#[doc(hidden)]
pub use stored::Points;
#[doc(hidden)]
pub use stored::{EntryPlace, StaticSet, StaticTable, TableHead};
pub use strictness::{Strictness, TooUncertain};
#[cfg(feature = "runtime-tables")]
pub use subset::OwnedPoints;
pub(crate) use table::Held;
pub use table::{Entry, KernelTable, Table};

pub use crate::generated::sets;
