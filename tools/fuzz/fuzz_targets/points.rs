#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rooflut_fuzz::target("points", bytes));
