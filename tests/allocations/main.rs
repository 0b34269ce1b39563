//! What allocates, and how much.

mod overload;
mod sim;
#[path = "../sim/support/mod.rs"]
mod sim_support;
mod steps;
#[path = "../support/mod.rs"]
mod support;
