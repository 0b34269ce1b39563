//! Tests of lookups: oracle, bounds, interpolation between rows, and the predecessors' lookups.

mod bounds;
mod compat;
mod compat_lookups;
mod context;
mod continuity;
mod exact;
mod leave_one_out;
mod oracle;
mod provenance;
#[path = "../support/mod.rs"]
mod support;
