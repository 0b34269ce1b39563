//! Structs of C are converted without allocation: lookups, steps of up to 1,024 entries, many steps in one call.

use std::ptr::{null, null_mut};

use allocation_counter::measure;
use rooflut_c as c;

fn scenario() -> c::Handle {
    let source = c::ScenarioSource { toml: null(), toml_length: 0, model: 0, draft_model: 0, tables: 0 };
    let mut scenario = 0;
    // SAFETY: local variables.
    let code = unsafe { c::rooflut_scenario_new(&raw const source, &raw mut scenario, null_mut()) };
    assert_eq!(code, 0);
    scenario
}

/// Asserts that a call succeeds and does not allocate.
fn free_of_allocations(call: impl Fn() -> u32) {
    assert_eq!(call(), 0);
    let info = measure(|| assert_eq!(call(), 0));
    assert_eq!(info.count_total, 0);
}

#[test]
fn steps_of_few_and_many_entries_do_not_allocate() {
    let scenario = scenario();
    let mut time = c::Duration::default();
    let time = &raw mut time;
    for length in [0, 1, 64, 1_024] {
        let group = c::DecodeGroup { kv_tokens: 1_000, outside_tokens: 0, requests: 1, drafted: 0 };
        let chunk = c::Chunk { new_tokens: 16, kv_len: 32, is_last: 1 };
        let (decode, prefill) = (vec![group; length], vec![chunk; length]);
        let batch = c::Batch {
            prefill: prefill.as_ptr(),
            prefill_length: length,
            decode: decode.as_ptr(),
            decode_length: length,
        };
        // SAFETY: the arrays have these lengths.
        free_of_allocations(|| unsafe { c::rooflut_step_time(scenario, &raw const batch, time, null_mut()) });
    }
}

#[test]
fn lookups_do_not_allocate() {
    let kernel = r#"{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}"#;
    let (mut tables, mut lookup) = (0, 0);
    let mut estimate = std::mem::MaybeUninit::uninit();
    let estimate = estimate.as_mut_ptr();
    // SAFETY: texts have these lengths, results are local variables.
    unsafe {
        let found = c::rooflut_tables_find("h100".as_ptr().cast(), 4, &raw mut tables, null_mut());
        assert_eq!(found, 0);
        let text = kernel.as_ptr().cast();
        let found = c::rooflut_lookup_new(tables, text, kernel.len(), &raw mut lookup, null_mut());
        assert_eq!(found, 0);
    }
    // SAFETY: the result is a local variable.
    free_of_allocations(|| unsafe { c::rooflut_lookup_at(lookup, 0, 100, estimate, null_mut()) });
}

#[test]
fn many_steps_in_one_call_do_not_allocate() {
    let scenario = scenario();
    let offsets = [0, 1, 3];
    let (requests, kv_tokens) = ([1; 3], [100; 3]);
    let steps = c::Steps {
        length: 2,
        prefill_offsets: null(),
        prefill_new_tokens: null(),
        prefill_kv_len: null(),
        prefill_is_last: null(),
        prefill_length: 0,
        decode_offsets: offsets.as_ptr(),
        decode_requests: requests.as_ptr(),
        decode_kv_tokens: kv_tokens.as_ptr(),
        decode_drafted: null(),
        decode_outside_tokens: null(),
        decode_length: 3,
    };
    let mut times = [c::Duration::default(); 2];
    let times = times.as_mut_ptr();
    // SAFETY: the arrays have these lengths.
    free_of_allocations(|| unsafe { c::rooflut_step_times(scenario, &raw const steps, times, 2, null_mut()) });
}
