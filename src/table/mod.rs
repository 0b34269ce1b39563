//! Measured points: search, interpolation, provenance. No model knowledge.

mod axis;
mod curve;
mod grid;
mod provenance;
mod set;

pub(crate) use axis::MAX_POINTS;
pub use axis::{Axis, Bracket, Place};
pub use curve::{Curve, Reading};
pub use grid::Grid;
pub use provenance::{Provenance, Strictness};
pub use set::{Entry, KernelTable, Origin, Shape, TableSet};

pub use crate::generated::sets;
