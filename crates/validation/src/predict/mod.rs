//! Predictions of single rows.
//!
//! Each takes the engine to predict with, whatever the row names; a row that cannot be predicted
//! answers with the [`Reason`].

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
