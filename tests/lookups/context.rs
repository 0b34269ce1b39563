//! Prompt chunks after cached context, which no table holds, obey physical limits.
#![cfg(feature = "h100")]

use crate::support::attention;
use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::op::{ChunkSums, DecodeAttention, PrefillAttention};
use rooflut::table::sets;

const SHAPES: [(u32, u32, u32); 4] = [(32, 8, 1), (64, 8, 4), (32, 32, 1), (28, 4, 1)];

fn chunk_us(shape: AttentionShape, new: u32, context: u32) -> f64 {
    let mut chunks = ChunkSums::default();
    chunks.add(new, context);
    let prefill = PrefillAttention::resolve(&sets::H100, shape).unwrap();
    prefill.at_chunks(&chunks).time.us()
}

#[test]
fn more_new_tokens_or_more_context_take_no_less_time() {
    // Dips of the measured rows pass through.
    const DIP: f64 = 0.9;
    for (q_heads, kv_heads, tp) in SHAPES {
        let shape = attention(Dtype::Bf16, q_heads, kv_heads, tp);
        let rises = |chunks: &mut dyn Iterator<Item = (u32, u32)>| {
            let mut last = 0.0;
            for (new, context) in chunks {
                let time = chunk_us(shape, new, context);
                let about = format_args!("{shape:?}: {new}@{context}: {time} after {last}");
                assert!(time > DIP * last, "{about}");
                last = time;
            }
        };
        for context in [0, 100, 2000, 8000, 32_000, 100_000] {
            let new = [1, 2, 4, 16, 64, 128, 512, 2048, 8192];
            rises(&mut new.into_iter().map(|new| (new, context)));
        }
        for new in [1, 16, 128, 2048] {
            let contexts = [0, 10, 100, 1000, 4000, 16_000, 64_000, 128_000];
            rises(&mut contexts.into_iter().map(|context| (new, context)));
        }
    }
}

#[test]
fn one_token_after_context_takes_about_as_long_as_a_decode() {
    for (q_heads, kv_heads, tp) in SHAPES {
        let shape = attention(Dtype::Bf16, q_heads, kv_heads, tp);
        let decode = DecodeAttention::resolve(&sets::H100, shape).unwrap();
        for context in [500, 2000, 8000, 32_000, 100_000] {
            let ratio = chunk_us(shape, 1, context) / decode.at(1, u64::from(context) + 1).time.us();
            assert!((0.5..2.0).contains(&ratio), "{shape:?}: 1@{context}: {ratio}");
        }
    }
}

#[test]
fn context_is_read_as_it_is_stored() {
    let [wide, narrow] = [Dtype::Bf16, Dtype::Fp8].map(|kv| attention(kv, 32, 8, 1));
    let ratio = chunk_us(narrow, 1, 100_000) / chunk_us(wide, 1, 100_000);
    assert!((0.5..0.6).contains(&ratio), "{ratio}");
    // The slowdown of the row is stored as an f32.
    let ratio = chunk_us(narrow, 4096, 0) / chunk_us(wide, 4096, 0);
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
}
