//! The writers as observers of simulated servers.

mod bytes;
mod disaggregated;
mod format;
mod runs;
mod server;
