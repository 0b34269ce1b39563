#![doc = include_str!("../README.md")]

mod error;
mod ffn;
mod keys;
mod model;
mod object;
mod quantization;
mod unsupported;

pub use error::ConfigError;
pub use keys::Keys;
pub use model::{HfModel, Window, read};
