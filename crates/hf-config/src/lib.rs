#![doc = include_str!("../README.md")]

mod attention;
mod block_sparse;
mod compressed;
mod delta;
mod error;
mod family;
mod ffn;
mod format;
mod generation;
mod head;
mod indexer;
mod json;
mod keys;
mod model;
mod modules;
mod object;
mod options;
mod quantization;
mod refused;
mod spans;
mod stand_in;
mod structure;

pub use error::{ConfigError, Remedy};
pub use keys::Keys;
pub use model::{HfModel, read};
pub use options::Options;
pub use stand_in::StandIn;
