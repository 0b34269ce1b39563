//! Layers of attention over compressed keys, and the hyper-connections between layers.

use crate::support::apart;
use crate::support::random::Random;
use rooflut::hardware::{CompressedShape, Dtype, Side, StreamsShape};
use rooflut::op::{CompressedDecode, CompressedPrefill, HyperConnection};
use rooflut::table::{Class, sets};

/// DeepSeek-V4-Flash on one of four GPUs: layers whose indexer selects keys.
const SELECTING: CompressedShape = CompressedShape {
    dtype: Dtype::Fp8Block,
    q_heads: 16,
    hidden: 4096,
    q_rank: 1024,
    head_dim: 512,
    window: 128,
    ratio: 4,
    group_heads: 8,
    o_rank: 1024,
    index_heads: 64,
    index_dim: 128,
    index_top_k: 512,
};

/// Layers that attend to all keys, which stand for more tokens.
const COMPRESSING: CompressedShape =
    CompressedShape { ratio: 128, index_heads: 0, index_dim: 0, index_top_k: 0, ..SELECTING };

/// Layers with a window alone.
const WINDOW: CompressedShape = CompressedShape { ratio: 0, ..COMPRESSING };

fn prefill(shape: CompressedShape) -> CompressedPrefill {
    CompressedPrefill::resolve(&sets::B300, shape).unwrap()
}

fn decode(shape: CompressedShape) -> CompressedDecode {
    CompressedDecode::resolve(&sets::B300, shape).unwrap()
}

#[test]
fn prompts_as_chunks_are_those_of_the_rows() {
    for shape in [SELECTING, COMPRESSING] {
        let layer = prefill(shape);
        for (batch, length) in [(1, 64), (4, 8192), (16, 1024), (3, 700)] {
            let whole = layer.at(batch, length);
            assert_eq!(layer.at_chunks(vec![[length, 0]; batch as usize]), whole, "{batch} {length}");
        }
        assert_eq!(layer.at(4, 8192).provenance, Class::Measured.inside());
        assert_eq!(layer.at_chunks([[0, 500]]), layer.at(1, 1));
        let mixed = layer.at_chunks([[300, 0], [500, 40_000]]);
        assert_eq!(mixed.provenance.class, Class::Transferred);
        assert_eq!(mixed, layer.at_chunks([[500, 40_000], [300, 0], [0, 7]]));
    }
}

#[test]
fn no_answer_is_below_its_flops() {
    let mut random = Random(4);
    for round in 0..4_000 {
        let shape = CompressedShape {
            q_heads: random.log(4096),
            hidden: random.log(1 << 18),
            q_rank: random.log(4096),
            ..[SELECTING, COMPRESSING, WINDOW][round % 3]
        };
        let chunks: Vec<_> =
            (0..random.between(1, 4)).map(|_| [random.log(1 << 20), random.log(1 << 20) - 1]).collect();
        let requests = random.log(1 << 20);
        for answer in [
            prefill(shape).at_chunks(chunks.clone()),
            prefill(shape).at(random.log(1 << 16), random.log(1 << 20)),
            decode(shape).at(requests, u64::from(requests) * u64::from(random.log(1 << 24))),
        ] {
            let mfu = answer.mfu().0;
            assert!(mfu > 0.0 && mfu <= 1.0, "{shape:?} {chunks:?}: {answer:?}");
            assert!(answer.time.0.is_finite());
        }
    }
}

#[test]
fn answers_are_continuous() {
    for shape in [SELECTING, COMPRESSING, WINDOW] {
        let (layer, prompts) = (decode(shape), prefill(shape));
        for batch in [1, 3, 64, 700] {
            let at = |length: u32| layer.at(batch, u64::from(batch) * u64::from(length)).time.0;
            for length in (1..2_000).chain((2_000..140_000).step_by(97)) {
                let jump = apart(at(length + 1), at(length));
                assert!(jump < 0.005, "{shape:?} {batch} x {length}: {jump}");
            }
        }
        for length in (16..2_000).chain((2_000..70_000).step_by(97)) {
            let [one, next] = [length, length + 1].map(|length| prompts.at(2, length).time.0);
            assert!(apart(next, one) < 0.03, "{shape:?} {length}");
            let [one, next] = [length, length + 1].map(|context| prompts.at_chunks([[256, context]]).time.0);
            assert!(apart(next, one) < 0.005, "{shape:?} {length}");
        }
    }
}

#[test]
fn heads_between_measured_ones_are_interpolated_and_layers_with_a_window_alone_transferred() {
    let time = |q_heads| decode(CompressedShape { q_heads, ..SELECTING }).at(64, 96_000).time;
    assert!(time(16) < time(32) && time(32) < time(64));
    let class = |shape| decode(shape).class();
    let of = |q_heads| class(CompressedShape { q_heads, ..SELECTING });
    assert_eq!([8, 32, 256].map(of), [Class::Measured, Class::Interpolated, Class::Transferred]);
    assert_eq!([class(COMPRESSING), class(WINDOW)], [Class::Measured, Class::Transferred]);
    // Without compressor and compressed keys.
    let at = |shape| decode(shape).at(16, 16 * 65_536).time;
    assert!(at(WINDOW) < at(COMPRESSING) && at(COMPRESSING) < at(SELECTING));
    // Projections in 16 bits.
    assert_eq!(class(CompressedShape { dtype: Dtype::Bf16, ..SELECTING }), Class::Transferred);
    let other = CompressedShape { head_dim: 256, ..SELECTING };
    let message = CompressedDecode::resolve(&sets::B300, other).unwrap_err().to_string();
    assert!(message.starts_with(
        "table set b300: compressed_decode: no rows of fp8_block projections with heads of 256 in groups of 8"
    ));
    let message = CompressedDecode::resolve(&sets::L40S, SELECTING).unwrap_err().to_string();
    assert!(message.starts_with("table set l40s: expected a table for compressed_decode, found none"), "{message}");
}

/// Rows after cached tokens, which are in no table (vLLM 0.25.0, b300, DeepSeek-V4-Flash).
#[test]
fn prompts_after_cached_tokens_are_near_measured_ones() {
    let error = |shape, [batch, new, context]: [u32; 3], measured_us: f64| {
        let shape = CompressedShape { q_heads: 64, ..shape };
        prefill(shape).at_chunks(vec![[new, context]; batch as usize]).time.us() / measured_us - 1.0
    };
    for (chunks, measured_us, most) in [
        ([1, 64, 4096], 84.1, 0.05),
        ([4, 1024, 4096], 961.7, 0.05),
        ([16, 16_384, 4096], 59_030.0, 0.05),
        ([1, 4096, 61_440], 1163.0, 0.2),
    ] {
        let found = error(COMPRESSING, chunks, measured_us);
        assert!(found.abs() < most, "{chunks:?}: {found}");
    }
    // The kernels that select keys depend on the length in steps.
    for (chunks, measured_us, most) in [
        ([1, 256, 4096], 235.4, 0.45),
        ([1, 4096, 4096], 3127.0, 0.35),
        ([4, 16_384, 4096], 28_990.0, 0.25),
        ([1, 4096, 61_440], 2089.0, 0.45),
    ] {
        let found = error(SELECTING, chunks, measured_us);
        assert!(found.abs() < most, "{chunks:?}: {found}");
    }
}

#[test]
fn streams_of_another_hidden_size_are_transferred_and_are_never_faster_than_memory() {
    for side in [Side::Before, Side::After] {
        let of = |hidden| HyperConnection::resolve(&sets::B300, StreamsShape { side, hidden, streams: 4 }).unwrap();
        assert_eq!([4096, 7168, 5000].map(|hidden| of(hidden).class() == Class::Measured), [true, true, false]);
        let mut last = 0.0;
        for tokens in 1..5_000 {
            let own = of(4096).at(tokens).time.0;
            let copies = if side == Side::Before { 5.0 } else { 9.0 };
            let bytes = f64::from(tokens) * 4096.0 * copies * 2.0;
            assert!(own >= bytes / sets::B300.gpu().mem_bw_bytes_per_s);
            assert!(tokens == 1 || apart(own, last) < 0.35, "{tokens}");
            last = own;
        }
        let narrow = |shape| HyperConnection::resolve(&sets::B300, shape);
        assert_eq!(narrow(StreamsShape { side, hidden: 4096, streams: 2 }).unwrap().class(), Class::Transferred);
        let none = narrow(StreamsShape { side, hidden: 0, streams: 4 });
        assert_eq!(none.unwrap_err().to_string(), "hyper_connection: expected positive dimensions, found 0");
    }
}
