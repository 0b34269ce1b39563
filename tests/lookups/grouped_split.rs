//! Rows that answer for no other shape: decode attention of kernels that do not split KV entries.

use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::op::DecodeAttention;
use rooflut::table::TableSet;
use rooflut::table::sets::{A100, H100, L40S, RTX_PRO_6000};

/// The time of decode attention with these heads on one rank, microseconds.
fn decode_us(set: &TableSet, [q_heads, kv_heads]: [u32; 2], requests: u32, length: u32) -> f64 {
    let shape = AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads, kv_heads, head_dim: 128, tp: 1 };
    let decode = DecodeAttention::resolve(set, shape).unwrap();
    decode.at(requests, u64::from(requests) * u64::from(length)).time.us()
}

#[test]
fn rows_that_do_not_split_kv_entries_answer_for_no_grouped_heads() {
    for set in [&A100, &L40S, &RTX_PRO_6000] {
        for (grouped, measured) in [([2, 1], [4, 1]), ([8, 4], [16, 4]), ([16, 8], [16, 8])] {
            for requests in [1, 2, 4, 8, 32] {
                for length in [16_384, 32_768, 65_536] {
                    let [found, like] = [grouped, measured].map(|heads| decode_us(set, heads, requests, length));
                    let ratio = found / like;
                    assert!((0.97..1.03).contains(&ratio), "{} {grouped:?} {requests} x {length}: {ratio}", set.name());
                }
            }
        }
        // Each ungrouped head is a block: 16 heads of one request take as long as 8 of two.
        for length in [4096, 65_536] {
            let [found, like] =
                [([16, 16], 1), ([8, 8], 2)].map(|(heads, requests)| decode_us(set, heads, requests, length));
            assert!((found / like - 1.0).abs() < 0.05, "{}: {found} {like}", set.name());
        }
    }
    // Kernels of Hopper split both: a long context takes a fraction of what one block needs for it.
    assert!(decode_us(&H100, [2, 2], 1, 65_536) < 0.2 * decode_us(&A100, [2, 2], 1, 65_536));
}

#[test]
fn decode_attention_takes_no_less_time_with_a_longer_context() {
    for set in [&A100, &L40S, &RTX_PRO_6000] {
        for heads in [[1, 1], [2, 1], [3, 1], [4, 2], [6, 2], [8, 4], [12, 4], [16, 16], [24, 8], [32, 32]] {
            for requests in [1, 2, 4, 8, 16, 64] {
                let lengths = [2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
                let times = lengths.map(|length| decode_us(set, heads, requests, length));
                for (pair, length) in times.windows(2).zip(lengths) {
                    assert!(pair[1] >= 0.9 * pair[0], "{} {heads:?} {requests} x {length}: {times:?}", set.name());
                }
            }
        }
    }
}
