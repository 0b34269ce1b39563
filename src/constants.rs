//! Tuned constants of lookups and of the memory plan: what `build.rs` made of `bench_data/constants.toml`.
#![allow(clippy::unreadable_literal)]

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
