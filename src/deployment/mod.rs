//! A model on GPUs, served by an engine, described once.
//!
//! Step model, memory plan and server limits depend on the same facts: the model, the tables of its GPU, tensor
//! parallelism, formats, the engine. A [`Deployment`] takes each of them once and yields all three, so they cannot
//! contradict each other.

mod builder;
#[cfg(feature = "sim")]
mod capacity;
mod defaults;
#[allow(clippy::module_inception)] // The noun of the module and its main type.
mod deployment;
mod options;
#[cfg(feature = "sim")]
mod served_model;
#[cfg(feature = "sim")]
mod server;

pub use builder::DeploymentBuilder;
#[cfg(feature = "sim")]
pub use capacity::Capacity;
pub use deployment::Deployment;
pub use options::ServerOptions;
#[cfg(feature = "sim")]
pub use served_model::{ServedModel, ServedTally};
