#![no_main]

use rooflut_traces::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rooflut_fuzz::trace(bytes, Some(Format::Azure)));
