//! Layers with gated delta nets.

use rooflut::engine::StepConstants;
use rooflut::hardware::{DeltaKernel, DeltaShape};
use rooflut::model::{Attention, ModelSpec, Parallelism, find};
use rooflut::op::{DeltaDecode, DeltaPrefill};
use rooflut::step::{Chunk, DecodeGroup, Part, RooflineModel, StepBatch, StepModel, StepOptions, StepTime};
use rooflut::table::sets;
use rooflut::units::Seconds;

/// A model of gated delta nets alone.
fn nets(layers: u32) -> ModelSpec {
    let model = ModelSpec::builder()
        .hidden(2048)
        .layers(layers)
        .k_heads(16)
        .v_heads(32)
        .head_dim(128)
        .intermediate(4096)
        .vocab(32_000)
        .max_model_len(262_144);
    model.build().unwrap()
}

fn step(model: &ModelSpec, tp: u32, prefill: &[Chunk], decode: &[DecodeGroup]) -> StepTime {
    let parallelism = Parallelism::tensor(tp);
    let model = RooflineModel::try_new(model, &sets::H100, parallelism, StepOptions::default()).unwrap();
    model.step_time(&StepBatch { prefill, decode })
}

fn part(step: &StepTime, part: Part) -> f64 {
    let mut parts = step.parts();
    parts.find(|it| it.part == part).map_or(0.0, |it| it.time.0)
}

fn shapes(k_heads: u32, v_heads: u32) -> [DeltaShape; 2] {
    DeltaKernel::ALL.map(|kernel| DeltaShape { kernel, k_heads, v_heads, head_dim: 128 })
}

#[test]
fn decode_does_not_depend_on_the_length_of_requests() {
    let model = nets(10);
    let of_length = |kv_len| {
        let decode = [DecodeGroup::uniform(64, kv_len).unwrap()];
        step(&model, 1, &[], &decode).total()
    };
    assert_eq!(of_length(100), of_length(200_000));
}

#[test]
fn decode_takes_the_rows_of_both_kernels_or_the_reads_of_the_states() {
    for (requests, is_cold) in [(16, true), (512, false)] {
        let decode = [DecodeGroup::uniform(requests, 1000).unwrap()];
        let found = part(&step(&nets(10), 1, &[], &decode), Part::DecodeAttention);
        let rows: f64 = shapes(16, 32)
            .map(|shape| {
                let kernel = DeltaDecode::resolve(&sets::H100, shape).unwrap();
                kernel.at(requests).time.0
            })
            .iter()
            .sum();
        let more = found / (10.0 * rows) - 1.0;
        assert!(more > -1e-12 && (more > 0.05) == is_cold, "{requests}: {more}");
        let state = f64::from(requests) * 32.0 * 128.0 * 128.0 * 4.0;
        assert!(found > 10.0 * 2.0 * state / 3.35e12);
    }
}

#[test]
fn prompts_take_the_rows_of_both_kernels_whatever_their_context() {
    let whole = [Chunk::prompt(1024).unwrap(); 4];
    let found = part(&step(&nets(10), 1, &whole, &[]), Part::PrefillAttention);
    let rows: f64 = shapes(16, 32)
        .map(|shape| {
            let kernel = DeltaPrefill::resolve(&sets::H100, shape).unwrap();
            kernel.at(4, 1024).time.0
        })
        .iter()
        .sum();
    assert!((found / (10.0 * rows) - 1.0).abs() < 1e-12, "{found} {rows}");
    let later = [Chunk::last(1024, 9216).unwrap(); 4];
    let later = part(&step(&nets(10), 1, &later, &[]), Part::PrefillAttention);
    assert!((later / found - 1.0).abs() < 1e-12);
    // The longest prompt is the critical path.
    let mixed = [Chunk::prompt(16).unwrap(), Chunk::prompt(4080).unwrap()];
    let mixed = part(&step(&nets(10), 1, &mixed, &[]), Part::PrefillAttention);
    let equal = [Chunk::prompt(2048).unwrap(); 2];
    assert!(mixed > 1.5 * part(&step(&nets(10), 1, &equal, &[]), Part::PrefillAttention));
}

#[test]
fn ranks_divide_the_heads_or_name_those_that_they_cannot() {
    let decode = [DecodeGroup::uniform(512, 1000).unwrap()];
    let [one, four] = [1, 4].map(|tp| part(&step(&nets(10), tp, &[], &decode), Part::DecodeAttention));
    assert!((one / four - 4.0).abs() < 0.2, "{one} {four}");
    let model = find("qwen3.5-27b").unwrap().spec;
    let error = RooflineModel::try_new(&model, &sets::H100, Parallelism::tensor(32), StepOptions::default());
    assert_eq!(error.unwrap_err().to_string(), "model: k_heads: expected a multiple of tp (32), found 16");
}

/// Source: AIConfigurator 0.12, Qwen3.5-35B-A3B on one H100, 1,024 tokens in and out: 4.1, 12.0 and 24.2 ms.
#[test]
fn decode_of_qwen3_5_agrees_with_another_estimate() {
    let model = find("qwen3.5-35b-a3b").unwrap().spec;
    for (requests, ms) in [(16, 12.0), (64, 24.2)] {
        let decode = [DecodeGroup::uniform(requests, 1536).unwrap()];
        let found = step(&model, 1, &[], &decode).total().ms();
        assert!((found / ms - 1.0).abs() < 0.05, "{requests}: {found}");
    }
}

#[test]
fn a_gate_of_the_output_widens_the_projection_by_the_queries() {
    let model = find("qwen3.5-35b-a3b").unwrap().spec;
    let mut plain = model;
    let Attention::Gqa(heads) = &mut plain.layers[1].attention else { panic!("expected full attention second") };
    heads.output_gate = false;
    let gate = 10 * 2048 * 16 * 256;
    assert_eq!(model.weight_params() - plain.weight_params(), gate);
    let qkv = |model| part(&step(model, 1, &[Chunk::prompt(8192).unwrap()], &[]), Part::Qkv);
    let flops = 2.0 * 8192.0 * gate as f64;
    assert!(qkv(&model) - qkv(&plain) > flops / 989.5e12);
}

#[test]
fn the_host_launches_nets_in_steps_with_prompts_and_more_of_them_beyond_cuda_graphs() {
    let mut constants = StepConstants::NONE;
    constants.cuda_graph_max_tokens = 512;
    constants.blackwell_prompt_layer = Seconds::from_us(1.0);
    constants.prompt_state_layer = Seconds::from_us(10.0);
    constants.uncaptured_state_layer = Seconds::from_us(100.0);
    let qwen = find("qwen3.6-35b-a3b").unwrap().spec;
    let mut options = StepOptions::default();
    options.constants = constants;
    let model = RooflineModel::try_new(&qwen, &sets::B200, Parallelism::SINGLE, options).unwrap();
    let host_us = |prompt: Option<u32>| {
        let prompt = prompt.map(|new| Chunk::prompt(new).unwrap());
        let decode = [DecodeGroup::uniform(2, 1000).unwrap()];
        let (prefill, decode) = (prompt.as_slice(), &decode);
        part(&model.step_time(&StepBatch { prefill, decode }), Part::Host) * 1e6
    };
    // 40 layers, of which 30 have nets; two tokens are those of the decoding requests.
    for (prompt, expected) in [(None, 0.0), (Some(510), 40.0 + 300.0), (Some(511), 40.0 + 3_000.0)] {
        let found = host_us(prompt);
        assert!((found - expected).abs() < 1e-9, "{prompt:?}: {found}");
    }
}
