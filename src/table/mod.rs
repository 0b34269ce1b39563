//! Measured points: search, interpolation, provenance. No model knowledge.

mod provenance;

pub use provenance::{Provenance, Strictness};
