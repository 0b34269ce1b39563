//! Steps grow with their lengths, without jumps except those of CUDA graphs.
//!
//! One more of `n` may change a step by a few times `ln((n + 1) / n)`, 0.1 % at 1,000: a kernel's time
//! grows at most like its FLOPs, and its efficiency changes no faster. A jump exceeds this.

use crate::support::models::{self, FITTED};
use crate::support::steps::{Batch, Sharded};
use crate::support::tables;
use crate::support::tolerances::{FEWER_REQUESTS, LINEAR_SLOPE, ROUNDING, SQUARE_SLOPE, STORED_LN_F32};
use rooflut::engine::StepConstants;
use rooflut::hardware::Dtype;
use rooflut::step::{Chunk, DecodeGroup, Part, RooflineModel, StepModel, StepTime};

/// Limit on the slope that a change of efficiency with length adds to the slope of the FLOPs.
const EFFICIENCY_SLOPE: f64 = LINEAR_SLOPE;

/// Tokens of the largest step that runs as a CUDA graph.
const GRAPHS: u64 = FITTED.cuda_graph_max_tokens as u64;

fn seconds(model: &RooflineModel, batch: &Batch) -> f64 {
    model.step_time(&batch.as_step()).total().0
}

/// Returns the logarithm of the ratio of two steps.
fn moved(model: &RooflineModel, from: &Batch, to: &Batch) -> f64 {
    (seconds(model, to) / seconds(model, from)).ln()
}

/// `ln((n + 1) / n)`.
fn one_more(n: u64) -> f64 {
    (1.0 / n as f64).ln_1p()
}

#[test]
fn one_more_kv_token_takes_at_most_proportionally_longer() {
    let mut longer = 0;
    models::random_steps(FITTED, 11, 20_000, |_, sharded, model, batch| {
        if batch.decode.is_empty() {
            return;
        }
        let mut more = batch.clone();
        let group = more.decode[0];
        more.decode[0] = DecodeGroup::from_sum(group.requests(), group.kv_tokens() + 1).unwrap();
        let moved = moved(model, &batch, &more);
        let most = LINEAR_SLOPE * one_more(batch.as_step().decode_kv_tokens());
        let possible = -ROUNDING..=most + ROUNDING;
        assert!(possible.contains(&moved), "{sharded:?} {batch:?}: {moved:e} of {most:e}");
        longer += u32::from(moved > ROUNDING);
    });
    assert!(longer > 1_000, "{longer}");
}

/// Returns whether GEMMs begin another tile of rows with one more token: those of per-tensor fp8 have 256.
fn another_tile(sharded: &Sharded, tokens: u64) -> bool {
    let expert = sharded.experts().map(|experts| experts.dtype);
    let dtypes = [Some(sharded.spec.layers[0].attention_dtype), expert];
    dtypes.contains(&Some(Dtype::Fp8)) && tokens.is_multiple_of(256)
}

/// Checks one more new and one more cached token in the first chunk of a step beyond the CUDA graphs.
fn chunk_is_continuous(model: &RooflineModel, batch: &Batch, sharded: &Sharded) {
    let about = sharded.name;
    let chunk = batch.prefill[0];
    let (new, length) = (chunk.new_tokens(), chunk.kv_len());
    let like = |new, kv_len| {
        if chunk.is_last() { Chunk::last(new, kv_len).unwrap() } else { Chunk::partial(new, kv_len).unwrap() }
    };
    let mut more = batch.clone();
    more.prefill[0] = like(new + 1, length + 1);
    let most = (SQUARE_SLOPE + EFFICIENCY_SLOPE) * one_more(new.into()) + STORED_LN_F32;
    let by_new = moved(model, batch, &more).abs();
    let steps = another_tile(sharded, batch.as_step().tokens());
    assert!(steps || by_new <= most, "{about} {batch:?}: {by_new:e} of {most:e}");
    let mut more = batch.clone();
    more.prefill[0] = like(new, length + 1);
    let most = (SQUARE_SLOPE + EFFICIENCY_SLOPE) * one_more(length.into()) + STORED_LN_F32;
    let by_context = moved(model, batch, &more).abs();
    assert!(by_context <= most, "{about} {batch:?}: {by_context:e} of {most:e}");
}

#[test]
fn a_chunk_is_continuous_beyond_the_cuda_graphs() {
    let mut checked = 0;
    models::random_steps(FITTED, 12, 20_000, |_, sharded, model, batch| {
        if !batch.prefill.is_empty() && batch.as_step().tokens() > GRAPHS {
            chunk_is_continuous(model, &batch, sharded);
            checked += 1;
        }
    });
    assert!(checked > 10_000, "{checked}");
}

#[test]
fn a_whole_prompt_is_continuous_around_every_length_that_was_measured() {
    let mut lengths: Vec<u32> = tables::h100().prefill.iter().map(|row| row.length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths.retain(|&length| u64::from(length) > GRAPHS + 1);
    assert!(lengths.len() > 3, "{lengths:?}");
    // Before, at and after a row; and to a context, which no row has.
    for (sharded, model) in models::all(FITTED) {
        for length in &lengths {
            for new in [length - 1, *length] {
                chunk_is_continuous(&model, &Batch::chunk(new, 0), &sharded);
            }
        }
    }
}

#[test]
fn one_more_request_is_continuous_beyond_the_cuda_graphs() {
    for (sharded, model) in models::all(FITTED) {
        // The largest CUDA graph is not padded.
        for requests in GRAPHS as u32..1_100 {
            let of = |requests| Batch::decoding(requests, 1_000);
            let moved = moved(&model, &of(requests), &of(requests + 1)).abs();
            let most = (LINEAR_SLOPE + EFFICIENCY_SLOPE) * one_more(u64::from(requests));
            let steps = another_tile(&sharded, requests.into());
            assert!(steps || moved <= most, "{sharded:?} {requests}: {moved:e} of {most:e}");
        }
    }
}

#[test]
fn more_requests_at_one_context_take_longer_within_the_noise_of_the_tables() {
    // Parts that follow a formula never fall.
    let formulas = [Part::DecodeAttention, Part::SmallKernels, Part::Sampling];
    let mut fell = 0.0_f64;
    // The time that the engine adds would hide the noise.
    for (sharded, model) in models::all(StepConstants::NONE) {
        for each in [100, 1_000, 10_000] {
            let mut longest = 0.0_f64;
            let mut before = StepTime::ZERO;
            for requests in 1..=1_024 {
                let time = model.step_time(&Batch::decoding(requests, each).as_step());
                let about = format!("{sharded:?} {requests} x {each}");
                for part in formulas {
                    assert!(time.part(part) >= before.part(part), "{about}: {part}");
                }
                longest = longest.max(time.total().0);
                let less = (longest / time.total().0).ln();
                assert!(less <= FEWER_REQUESTS, "{about}: {less}");
                fell = fell.max(less);
                before = time;
            }
        }
    }
    assert!(fell > FEWER_REQUESTS / 3.0, "the tolerance is too wide: {fell}");
}
