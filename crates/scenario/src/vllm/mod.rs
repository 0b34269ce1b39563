//! The command line of `vllm serve`: read as settings of a scenario, and written from one.

mod flag;
mod read;
mod speculative;
mod words;
mod write;

pub use read::VllmServe;
pub use write::{VllmCommand, shell_quoted};
