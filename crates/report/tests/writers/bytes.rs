//! Output of the writers for a small run, byte for byte.

use rooflut::sim::{Request, SimConfig};

use crate::runs::{Written, single};

/// A short prompt, one of 60 tokens that takes two chunks of 32 and 28, and a rejected request.
fn run() -> Written {
    let mut config = SimConfig::new(128, 20);
    (config.max_num_seqs, config.max_num_batched_tokens) = (2, 32);
    let requests =
        [Request::new(20, 2), Request::new(60, 1).at_ns(1_000).with_priority(3), Request::new(0, 1).at_ns(2_000_000)];
    single(config, &requests)
}

#[test]
fn requests_are_lines_in_the_order_of_the_load() {
    let expected = "\
request,arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens,outcome,queue_ms,ttft_ms,tpot_ms,e2e_ms,\
preemptions,replica,prefill_replica,transfer_ms,decode_queue_ms,priority
0,0.000000,20,2,0,completed,0.000000,5.800000,5.040000,10.840000,0,0,,,,0
1,0.001000,60,1,0,completed,5.799000,23.239000,,23.239000,0,0,,,,3
2,2.000000,0,1,0,empty_prompt,,,,,0,,,,,0
";
    assert_eq!(run().requests_csv, expected);
}

#[test]
fn steps_are_lines_in_the_order_of_time() {
    let expected = "\
start_ms,duration_ms,prefill_chunks,prefill_tokens,decode_requests,kv_tokens,drafted_tokens,accepted_tokens,\
running,waiting,kv_blocks_used,preempted,replica
0.000000,5.800000,1,20,0,0,0,0,1,0,2,0,0
5.800000,5.040000,0,0,1,21,0,0,2,0,4,0,0
10.840000,6.280000,1,32,0,0,0,0,1,0,4,0,0
17.120000,6.120000,1,28,0,0,0,0,1,0,4,0,0
";
    assert_eq!(run().steps_csv, expected);
}

#[test]
fn a_timeline_is_one_event_a_line() {
    assert_eq!(run().timeline_json, include_str!("timeline.json"));
}
