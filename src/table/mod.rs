//! Measured points: search, interpolation, provenance. No model knowledge.

mod axis;
mod curve;
mod grid;
mod index;
#[cfg(feature = "runtime-tables")]
mod load;
mod provenance;
mod set;

pub(crate) use axis::MAX_POINTS;
pub use axis::{Axis, Bracket, Place};
pub use curve::{Curve, Reading};
pub use grid::Grid;
#[doc(hidden)]
pub use index::Index;
#[cfg(feature = "runtime-tables")]
pub use load::LoadError;
pub use provenance::{Class, Extent, ParseProvenanceError, Provenance, Strictness};
pub use set::{Entry, KernelTable, Origin, Shape, TableSet};

pub use crate::generated::sets;
