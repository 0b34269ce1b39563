//! Tests of allocations: none in lookups, steps and running servers, and the memory of a waiting request.

mod overload;
mod sim;
#[path = "../sim/support/mod.rs"]
mod sim_support;
mod steps;
#[path = "../support/mod.rs"]
mod support;
