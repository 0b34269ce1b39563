//! The functions that the fuzz targets call. Tests try the kept inputs of each without a fuzzer.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a finding is a panic")]

mod c;
pub mod corpus;
pub mod readers;
mod server;

// The plain engine that answers for the servers, and what drives them.
#[path = "../../../tests/sim/server/driven.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod driven;
#[path = "../../../tests/sim/oracle/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod oracle;
#[path = "../../../tests/sim/support/mod.rs"]
mod support;
#[path = "../../../tests/sim/workloads/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod workloads;

use std::alloc::System;

use cap::Cap;

/// No input takes more memory: its allocation fails, which is a finding.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, 256 << 20);

/// Runs the fuzz target `name` on its input.
pub fn target(name: &str, bytes: &[u8]) {
    let readers = readers::ALL.into_iter();
    let targets = readers.chain([("c", c::calls as fn(&[u8])), ("server", server::calls)]);
    let (_, run) = targets.into_iter().find(|(known, _)| *known == name).unwrap();
    run(bytes);
}
