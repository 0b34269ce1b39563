//! What is known to be wrong with published tables: one defect a file, each a function of rows.
//!
//! Those that make a row useless say which rows these are; the others say what a reader has to know.

pub(crate) mod eager_floor;
pub(crate) mod mfu_peak;
pub(crate) mod mfu_zero;
pub(crate) mod physics;
pub(crate) mod points;
pub(crate) mod ragged;
pub(crate) mod repeated;
pub(crate) mod variants;
pub(crate) mod warm_up;

#[cfg(test)]
pub(crate) mod made_up;
