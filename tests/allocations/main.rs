//! Allocations: none in lookups, steps and running servers, and how much memory a waiting request takes.

mod overload;
mod sim;
#[path = "../sim/support/mod.rs"]
mod sim_support;
mod steps;
#[path = "../support/mod.rs"]
mod support;
