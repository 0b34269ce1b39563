//! Predictions of single rows.
//!
//! Each function takes the engine to predict with, whatever engine the row names. A row that cannot be
//! predicted is an error that gives the [`Reason`].

mod cached;
mod format;
pub(crate) mod gpu;
mod memory;
mod not_modelled;
mod reason;
mod replay;
mod resolved_server;
mod stage;
mod step;

pub use memory::kv_blocks;
pub use reason::{Named, Reason};
pub use replay::{Replay, replay, replays};
pub use resolved_server::ResolvedServer;
pub use stage::load_stage;
pub use step::{Solo, decode_step, solo_request};
