//! The constants of an engine stack equal its file, and each adds to its part of a step.

use crate::support::apart;
use crate::support::engines::{self, EngineFile};
use crate::support::made_up::TOO_FAST;
use crate::support::models::{self, FITTED};
use crate::support::steps::{self, Batch};
use crate::support::tolerances::ROUNDING;
use rooflut::engine::{self, Constant, EngineStack, StepConstants, stacks};
use rooflut::hardware::{AllReduceShape, Dtype};
use rooflut::model::{self, Attention, ModelSpec};
use rooflut::op::AllReduce;
use rooflut::step::Binding;
use rooflut::step::{Parallelism, Part, RooflineModel, StepModel, StepOptions, StepTime};
use rooflut::table::{TableSet, sets};
use rooflut::units::Seconds;

fn built_in(file: &EngineFile) -> &'static EngineStack {
    engine::find(&file.name).unwrap_or_else(|| panic!("{} is not compiled in", file.name))
}

#[test]
fn every_file_is_compiled_in_with_its_numbers() {
    let files = engines::all();
    let names: Vec<&str> = stacks::ALL.iter().map(|stack| stack.name).collect();
    let expected: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, expected);
    for file in &files {
        let stack = built_in(file);
        assert_eq!(stack.name, file.quoted("", "name"));
        assert_eq!(stack.description, file.quoted("", "description"));
        assert_eq!(stack.rules, file.rules());
        assert_eq!(stack.defaults.version, file.quoted("defaults", "version"));
        let share = file.number("defaults", "gpu_memory_utilization");
        assert_eq!(stack.defaults.gpu_memory_utilization, share);
        assert_eq!(stack.constants, file.constants());
        assert_eq!(stack.api_server, file.time("api_server"));
        assert_eq!(stack.api_token, file.time("api_token"));
        assert_eq!(stack.api_output, file.time("api_output"));
    }
    assert!(engine::find("vllm").is_none() && engine::find("").is_none());
}

#[test]
fn each_constant_of_an_engine_has_its_meaning_and_source() {
    for file in &engines::all() {
        let stack = built_in(file);
        let mut names: Vec<&str> = stack.about.iter().map(|constant| constant.name).collect();
        names.sort_unstable();
        assert_eq!(names, file.constant_names());
        for constant in stack.about {
            let text = |key| file.quoted(constant.name, key);
            assert_eq!(constant.value, file.number(constant.name, "value"));
            assert_eq!(constant.unit, text("unit"));
            assert_eq!(constant.meaning, text("meaning"));
            assert_eq!(constant.source, text("source"));
            assert_eq!(constant.stack, file.giving(constant.name, "value").name);
            for text in [constant.unit, constant.meaning, constant.source] {
                assert!(!text.trim().is_empty(), "{} {constant:?}", stack.name);
            }
        }
    }
}

#[test]
fn each_rule_is_given_with_the_stack_that_names_it() {
    for file in &engines::all() {
        for rule in built_in(file).about_rules {
            let given = file.quoted("rules", rule.name).replace('_', "");
            assert_eq!(rule.value, given, "{}", rule.name);
            assert_eq!(rule.stack, file.giving("rules", rule.name).name);
            assert!(!rule.meaning.is_empty());
        }
    }
}

#[test]
fn vllm_0_33_0_has_the_times_of_0_20_1_and_rules_of_its_own() {
    let (older, newer) = (&stacks::VLLM_0_20_1, &stacks::VLLM_0_33_0);
    assert_eq!(newer.constants, older.constants);
    assert_eq!(newer.api_server, older.api_server);
    assert_eq!(newer.api_token, older.api_token);
    assert_eq!(newer.api_output, older.api_output);
    let own = |it: &&Constant| it.stack == newer.name;
    let own: Vec<&str> = newer.about.iter().filter(own).map(|it| it.name).collect();
    assert!(own.is_empty(), "{own:?}");
    assert_ne!(newer.rules, older.rules);
}

#[test]
fn options_take_the_default_engine() {
    assert_eq!(StepOptions::default().constants, engine::DEFAULT.constants);
    let other = StepOptions::for_engine(&stacks::VLLM_0_11_0);
    assert_eq!(other.constants, stacks::VLLM_0_11_0.constants);
    assert_ne!(other, StepOptions::default());
}

/// A step on H100s, of a model by name.
fn step(name: &str, tp: u32, constants: StepConstants, batch: &Batch) -> StepTime {
    let model = models::on(&sets::H100, &steps::named(name, tp), constants);
    model.step_time(&batch.as_step())
}

const DENSE: (&str, u32) = ("llama-3.1-8b", 2);
const EXPERTS: (&str, u32) = ("mixtral-8x7b-v0.1", 2);

/// Parts whose kernels process the padded number of tokens.
const PADDED: [Part; 7] =
    [Part::Qkv, Part::OProj, Part::GateUp, Part::Down, Part::Router, Part::AllReduce, Part::SmallKernels];

#[test]
fn padded_tokens_are_neither_attended_routed_nor_sampled() {
    // Launches would hide the traffic of the small kernels.
    let mut constants = FITTED;
    constants.layer = Seconds::ZERO;
    for (name, tp) in [DENSE, EXPERTS] {
        let at = |requests| step(name, tp, constants, &Batch::decoding(requests, 1_000));
        // CUDA graphs of 1, 2, 4 and the multiples of 8.
        for (fewest, size) in [(3, 4), (5, 8), (9, 16), (17, 24), (249, 256)] {
            let (few, some, full) = (at(fewest), at(size - 1), at(size));
            for part in few.parts() {
                let [few, some, full] = [few, some, full].map(|time| time.part(part.part));
                if PADDED.contains(&part.part) {
                    assert_eq!([few, some], [full; 2], "{name} {size}: {}", part.part);
                } else {
                    assert_ne!(few, full, "{name} {size}: {}", part.part);
                }
            }
            // The step before runs as another graph.
            let before = at(fewest - 1).part(Part::SmallKernels);
            assert!(before < few.part(Part::SmallKernels), "{name} {fewest}");
        }
    }
}

#[test]
fn padding_is_routed_to_experts_by_its_share() {
    let (name, tp) = EXPERTS;
    let at = |share, requests| {
        let constants = FITTED.with_routed_padding(share);
        step(name, tp, constants, &Batch::decoding(requests, 1_000)).part(Part::Moe)
    };
    // All of a CUDA graph of 16 tokens, and half of the 6 tokens after the 10th.
    assert_eq!([9, 12, 15].map(|requests| at(1.0, requests)), [at(0.0, 16); 3]);
    assert_eq!(at(0.5, 10), at(0.0, 13));
    assert!(at(1.0, 8) < at(1.0, 9));
}

#[test]
fn gemms_read_their_weights_at_the_sustained_rate() {
    let batch = Batch::decoding(4, 1_000);
    let constants = |share| StepConstants::NONE.with_sustained_reads(share);
    // The share holds for GPUs with 4-bit tensor cores alone.
    assert_eq!(on(&sets::H100, 2, constants(0.01), &batch), on(&sets::H100, 2, constants(1.0), &batch));
    let at = |share| on(&sets::B200, 2, constants(share), &batch);
    let (full, slow, slower) = (at(1.0), at(0.02), at(0.01));
    for part in full.parts().map(|it| it.part) {
        let [full, slow, slower] = [&full, &slow, &slower].map(|time| time.part(part).0);
        match part {
            Part::Qkv | Part::OProj | Part::GateUp | Part::Down | Part::LmHead => {
                assert!(full < slow && apart(slower, 2.0 * slow) < ROUNDING, "{part}");
            }
            _ => assert_eq!([slow, slower], [full; 2], "{part}"),
        }
    }
}

#[test]
fn graphs_end_with_the_largest_captured_size() {
    let mut constants = StepConstants::NONE;
    for (most, tokens, expected) in [
        (0, 1, 1),
        (3, 3, 3),
        (4, 3, 4),
        (3, 5, 5),
        (250, 247, 248),
        (250, 249, 249),
        (u32::MAX, u64::from(u32::MAX) - 8, u64::from(u32::MAX) - 7),
        (u32::MAX, u64::from(u32::MAX), u64::from(u32::MAX)),
        (u32::MAX, 1 << 40, 1 << 40),
        (u32::MAX, u64::MAX, u64::MAX),
    ] {
        constants.cuda_graph_max_tokens = most;
        assert_eq!(constants.padded_tokens(tokens), expected, "{tokens} of {most}");
    }
}

#[test]
fn each_constant_reaches_its_part_and_no_other() {
    let batch = Batch::decoding(64, 1_000);
    let (name, tp) = EXPERTS;
    let sharded = steps::named(name, tp);
    // Only constants and physical limits matter: the kernels of the tables take no time.
    let step = |constants| models::on(&TOO_FAST, &sharded, constants).step_time(&batch.as_step());
    let before = step(StepConstants::NONE);
    let layers = f64::from(sharded.spec.layers.total());
    let logits = 64.0 * f64::from(sharded.spec.vocab);
    let long = Seconds(1.0);
    // Time of the part after the constant becomes a second, or half of the bandwidth.
    type Change = fn(&mut StepConstants, Seconds);
    let cases: [(Part, Change, f64); 5] = [
        (Part::SmallKernels, |c, long| c.layer = long, layers),
        (Part::Sampling, |c, long| c.logit = long, logits),
        (Part::Moe, |c, long| c.moe_layer = long, layers + before.part(Part::Moe).0),
        (Part::Host, |c, long| c.host = long, 1.0),
        (Part::AllReduce, |c, long| c.all_reduce_wait = long, 2.0 * layers + before.part(Part::AllReduce).0),
    ];
    let halves: [(Part, Change, f64); 2] = [
        (Part::SmallKernels, |c, _| c.small_kernel_bandwidth = 0.5, 2.0 * before.part(Part::SmallKernels).0),
        (Part::Moe, |c, _| c.expert_bandwidth = 0.5, 2.0 * before.part(Part::Moe).0),
    ];
    for (changed, change, expected) in cases.into_iter().chain(halves) {
        let mut constants = StepConstants::NONE;
        change(&mut constants, long);
        let after = step(constants);
        let found = after.part(changed).0;
        assert!(apart(found, expected) < ROUNDING, "{changed}: {found} for {expected}");
        for part in Part::ALL.into_iter().filter(|part| *part != changed) {
            assert_eq!(after.part(part), before.part(part), "{changed} changed {part}");
        }
    }
}

#[test]
fn small_kernels_are_launches_of_few_tokens_and_traffic_of_many() {
    let small = |tokens| {
        let time = step(DENSE.0, DENSE.1, FITTED, &Batch::chunk(tokens, 0));
        let small = time.parts().find(|part| part.part == Part::SmallKernels);
        small.map(|part| (part.time, part.binding)).unwrap()
    };
    let layers = f64::from(steps::named(DENSE.0, DENSE.1).spec.layers.total());
    assert_eq!(small(1), (FITTED.layer * layers, Binding::Latency));
    let (time, binding) = small(16_384);
    assert_eq!(binding, Binding::Memory);
    assert!(time > FITTED.layer * layers);
    let (twice, _) = small(32_768);
    assert!(apart(twice.0, 2.0 * time.0) < ROUNDING);
}

#[test]
fn cold_kv_changes_decode_attention_alone() {
    let batch = Batch::decoding(32, 1_024);
    let before = step(DENSE.0, DENSE.1, FITTED, &batch);
    let after = step(DENSE.0, DENSE.1, FITTED.with_cold_kv(0.5), &batch);
    for part in before.parts() {
        let same = after.part(part.part) == part.time;
        assert_eq!(same, part.part != Part::DecodeAttention, "{}", part.part);
    }
}

#[test]
fn impossible_summaries_are_rejected() {
    let sharded = steps::named(DENSE.0, DENSE.1);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused =
            |constants: StepConstants| models::try_on(&sets::H100, &sharded, constants).unwrap_err().to_string();
        let width = refused(FITTED.with_smoothing_width(wrong));
        let expected = "engine constant smoothing_width: expected a width in ln(rows) above 0, found";
        assert!(width.starts_with(expected), "{width}");
        if wrong != 0.0 {
            let cold = refused(FITTED.with_cold_kv(wrong));
            assert!(cold.starts_with("engine constant cold_kv: expected a multiple"), "{cold}");
        }
    }
}

/// A step of llama-3.1-70b on the GPUs of a set.
fn on(set: &'static TableSet, tp: u32, constants: StepConstants, batch: &Batch) -> StepTime {
    let model = models::on(set, &steps::named("llama-3.1-70b", tp), constants);
    model.step_time(&batch.as_step())
}

#[test]
fn fused_all_reduces_of_b200_send_each_message_to_every_rank() {
    let mut fused = StepConstants::NONE;
    fused.fused_all_reduce = Seconds::from_us(2.0);
    fused.fused_all_reduce_bandwidth = 0.5;
    let time =
        |set, constants, requests| on(set, 8, constants, &Batch::decoding(requests, 1_000)).part(Part::AllReduce);
    // 160 messages of 16,384 bytes a token to 7 ranks at half of 900 GB/s.
    let bytes = 16.0 * 16_384.0 * 7.0;
    let expected = 160.0 * (2e-6 + bytes / 450e9);
    let found = time(&sets::B200, fused, 16).0;
    assert!(apart(found, expected) < ROUNDING, "{found}");
    // Large messages are faster apart, and other GPUs do not fuse them.
    for (set, requests) in [(&sets::B200, 1_000), (&sets::H100, 16)] {
        assert_eq!(time(set, fused, requests), time(set, StepConstants::NONE, requests));
    }
}

/// Seconds that a part takes in a step of a model on two GPUs of a set.
fn part_on(set: &'static TableSet, spec: &ModelSpec, constants: StepConstants, batch: &Batch, part: Part) -> f64 {
    let options = StepOptions::default().with_constants(constants);
    let model = RooflineModel::try_new(spec, set, Parallelism::tensor(2), options).unwrap();
    model.step_time(&batch.as_step()).part(part).0
}

#[test]
fn constants_of_blackwell_replace_the_others_there_alone() {
    let mixtral = steps::named(EXPERTS.0, EXPERTS.1).spec;
    let (none, long) = (StepConstants::NONE, Seconds(1.0));
    let others = none.with_moe_layer(long).with_prompt_layer(long);
    let blackwell = none.with_blackwell_moe_layer(long).with_blackwell_prompt_layer(long);
    let layers = f64::from(mixtral.layers.total());
    for (set, own, other) in [(&sets::B200, blackwell, others), (&sets::H100, others, blackwell)] {
        for (part, batch) in [(Part::Moe, Batch::decoding(4, 1_000)), (Part::Host, Batch::chunk(64, 0))] {
            let at = |constants| part_on(set, &mixtral, constants, &batch, part);
            assert_eq!(at(other), at(none), "{part}");
            assert!((0.999..1.001).contains(&((at(own) - at(none)) / layers)), "{part}");
        }
    }
    let [others, blackwell] = [none.with_sustained_math(0.1), none.with_blackwell_sustained_math(0.1)];
    for (set, own, other) in [(&sets::B200, blackwell, others), (&sets::H100, others, blackwell)] {
        let at = |constants| part_on(set, &mixtral, constants, &Batch::chunk(4096, 0), Part::Qkv);
        assert_eq!(at(other), at(none));
        assert!((5.0..10.0).contains(&(at(own) / at(none))));
    }
}

#[test]
fn an_earlier_kernel_of_fp8_blocks_takes_longer_outside_of_graphs() {
    let minimax = model::find("minimax-m2.5").unwrap().spec;
    let constants = |times| StepConstants::NONE.with_blackwell_fp8_block_experts(times).with_cuda_graph_max_tokens(256);
    let at = |set, times, tokens| part_on(set, &minimax, constants(times), &Batch::chunk(tokens, 0), Part::Moe);
    assert!(apart(at(&sets::B200, 2.0, 257), 2.0 * at(&sets::B200, 1.0, 257)) < ROUNDING);
    for (set, tokens) in [(&sets::B200, 256), (&sets::H200, 257)] {
        assert_eq!(at(set, 2.0, tokens), at(set, 1.0, tokens));
    }
}

#[test]
fn experts_with_mxfp8_activations_route_in_their_kernel_and_are_tuned() {
    let gpt_oss = model::find("gpt-oss-120b").unwrap().spec.with_weight_dtype(Dtype::Mxfp4Mxfp8);
    let batch = Batch::decoding(64, 1_000);
    let at = |constants| part_on(&sets::B200, &gpt_oss, constants, &batch, Part::Moe);
    let none = StepConstants::NONE;
    let before = at(none);
    assert!(apart(at(none.with_tuned_experts(0.9)), 0.9 * before) < ROUNDING);
    assert_eq!(at(none.with_blackwell_moe_layer(Seconds(1.0))), before);
    // The activations of other formats have another kernel.
    let own = model::find("gpt-oss-120b").unwrap().spec;
    let of_own = |constants| part_on(&sets::B200, &own, constants, &batch, Part::Moe);
    assert_eq!(of_own(none.with_tuned_experts(0.9)), of_own(none));
    assert!(of_own(none) > 1.1 * before);
}

#[test]
fn ranks_all_reduce_the_variances_of_joint_norms_of_queries_and_keys() {
    let joint = model::find("minimax-m2.5").unwrap().spec;
    let mut without = joint;
    let Attention::Gqa(heads) = &mut without.layers[0].attention else { panic!("expected full attention") };
    assert!(heads.joint_qk_norm);
    heads.joint_qk_norm = false;
    let at = |spec| part_on(&sets::H200, spec, StepConstants::NONE, &Batch::decoding(64, 1_000), Part::AllReduce);
    let message = AllReduce::resolve(&sets::H200, AllReduceShape { ranks: 2 }).unwrap().at(64 * 8);
    let expected = f64::from(joint.layers.total()) * message.time.0;
    let found = at(&joint) - at(&without);
    assert!(apart(found, expected) < 1e-9, "{found} for {expected}");
}
