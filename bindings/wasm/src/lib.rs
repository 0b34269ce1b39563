//! Exports for JavaScript beside the C interface, which this module exports, too: memory for its arguments, files, rows
//! of table sets that come later, the message of a panic, and commands of vLLM.

mod files;
mod memory;
mod panic;
mod tables;
mod vllm;
