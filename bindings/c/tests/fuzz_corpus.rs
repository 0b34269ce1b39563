//! The fuzzing corpus of the C interface, tried without a fuzzer.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

#[path = "../../../tools/fuzz/src/c.rs"]
mod c;
#[path = "../../../tools/fuzz/src/corpus.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod corpus;

#[test]
fn calls_that_are_kept_are_answered_or_refused_as_they_should() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/fuzz");
    corpus::kept(folder, "c").iter().for_each(|input| c::calls(input));
}
