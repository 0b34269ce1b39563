//! Known defects of published tables: one file each, a function of rows.
//!
//! Defects that make rows useless return these rows; the others return facts for the report.

pub(crate) mod eager_floor;
pub(crate) mod mfu_peak;
pub(crate) mod physics;
pub(crate) mod points;
pub(crate) mod ragged;
pub(crate) mod repeated;
pub(crate) mod variants;
pub(crate) mod warm_up;

#[cfg(test)]
pub(crate) mod made_up;
