//! Predictions of rows.
//!
//! Each function takes the engine to predict with, whatever engine the row names. A row that cannot be
//! predicted is an error that gives the [`Reason`](crate::reason::Reason).

mod cached;
mod closed_loop;
mod format;
pub(crate) mod gpu;
mod interval;
mod memory;
mod replay;
mod resolved_server;
mod run;
mod stage;
mod step;

pub(crate) use resolved_server::ResolvedServer;
pub(crate) use run::{Predicted, predict, runs};
