//! Sets of GPUs on which no kernel was measured.

use rooflut::hardware::{Gpu, OperationKind};
use rooflut::model::{CATALOG, ModelSpec};
use rooflut::op::Kernel;
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{Class, TableSet, sets};
use rooflut_roofline::operation::Codes;

/// A model of each kind of layer: dense, experts in several formats, windows, latent attention, gated delta nets.
const MODELS: [&str; 7] = [
    "llama-3.1-8b",
    "mixtral-8x7b-v0.1",
    "qwen3-30b-a3b",
    "gpt-oss-120b",
    "deepseek-v3",
    "qwen3-next-80b-a3b",
    "llama-3.1-70b",
];
/// Rounding of the logarithms of slowdowns, relative.
const ROUNDING: f64 = 1e-9;

fn specs() -> impl Iterator<Item = &'static ModelSpec> {
    let known = CATALOG.iter().filter(|known| MODELS.contains(&known.name));
    known.map(|known| &known.spec)
}

fn step_model(spec: &ModelSpec, set: &TableSet, tp: u32) -> Option<RooflineModel> {
    RooflineModel::try_new(spec, set, Parallelism::tensor(tp), StepOptions::default()).ok()
}

fn batches() -> Vec<(Vec<Chunk>, Vec<DecodeGroup>)> {
    let prompts = [1, 64, 700, 8_192].map(|tokens| (vec![Chunk::prompt(tokens).unwrap()], Vec::new()));
    let decode = [(1, 100), (8, 2_000), (100, 500), (300, 4_000)]
        .map(|(requests, kv_len)| (Vec::new(), vec![DecodeGroup::uniform(requests, kv_len).unwrap()]));
    prompts.into_iter().chain(decode).collect()
}

/// GPUs with one rate of `gpu` raised.
fn faster(gpu: &Gpu) -> Vec<(&'static str, Gpu)> {
    let mut all = Vec::new();
    for factor in [1.01, 1.5, 2.0, 10.0] {
        let mut with = |name, raise: &dyn Fn(&mut Gpu)| {
            let mut gpu = gpu.clone();
            raise(&mut gpu);
            all.push((name, gpu));
        };
        with("bandwidth", &|gpu| gpu.mem_bw_bytes_per_s *= factor);
        with("16-bit peak", &|gpu| gpu.bf16_flops_per_s *= factor);
        with("8-bit peak", &|gpu| gpu.fp8_flops_per_s = gpu.fp8_flops_per_s.map(|peak| peak * factor));
        with("4-bit peak", &|gpu| gpu.fp4_flops_per_s = gpu.fp4_flops_per_s.map(|peak| peak * factor));
        with("link", &|gpu| gpu.link_bytes_per_s *= factor);
    }
    all
}

#[test]
fn no_step_takes_longer_with_a_higher_bandwidth_or_peak() {
    let mut compared = 0;
    let bases = [Some(&sets::A100), Some(&sets::L40S), Some(&sets::H100), Some(&sets::B200), None];
    for base in bases {
        let on = |gpu: Gpu| match base {
            Some(base) => base.transferred("other", gpu),
            None => TableSet::bounds("other", gpu),
        };
        let gpu = base.unwrap_or(&sets::H200).gpu();
        let slow = on(gpu.clone());
        for (name, faster) in faster(gpu) {
            let fast = on(faster);
            for (spec, tp) in specs().flat_map(|spec| [(spec, 1), (spec, 4)]) {
                let (Some(slow), Some(fast)) = (step_model(spec, &slow, tp), step_model(spec, &fast, tp)) else {
                    continue;
                };
                for (prefill, decode) in batches() {
                    let batch = StepBatch { prefill: &prefill, decode: &decode };
                    let (slow, fast) = (slow.total_time(&batch), fast.total_time(&batch));
                    assert!(fast.0 <= slow.0 * (1.0 + ROUNDING), "{base:?} {name} {batch:?}: {slow} {fast}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 3_000, "{compared}");
}

#[test]
fn no_kernel_takes_longer_with_a_higher_bandwidth_or_peak() {
    for base in [&sets::A100, &sets::H100, &sets::B200] {
        let slow = base.transferred("slow", base.gpu().clone());
        for (name, gpu) in faster(base.gpu()) {
            let fast = base.transferred("fast", gpu);
            for row in base.tables().flat_map(|table| table.rows().step_by(97)) {
                let kernel = row.0;
                let at = |set: &TableSet| {
                    let found = Kernel::resolve(set, kernel.operation(), kernel.shape::<Codes>()).unwrap();
                    // Between rows, too.
                    let [first, second] = kernel.point().map(u64::from);
                    [found.at(first, second), found.at(first + first / 3, second + second / 3)]
                };
                for (slow, fast) in at(&slow).into_iter().zip(at(&fast)) {
                    assert!(fast.time.0 <= slow.time.0 * (1.0 + ROUNDING), "{name} {kernel:?}: {slow:?} {fast:?}");
                    assert!(fast.provenance.class >= Class::Transferred, "{kernel:?}");
                }
            }
        }
    }
}

#[test]
fn a_gpu_with_the_data_sheet_of_the_base_has_its_times() {
    let same = sets::H100.transferred("same", sets::H100.gpu().clone());
    assert_eq!((same.class(), same.base()), (Class::Transferred, Some(&sets::H100)));
    for spec in specs() {
        let (Some(own), Some(same)) = (step_model(spec, &sets::H100, 4), step_model(spec, &same, 4)) else {
            continue;
        };
        for (prefill, decode) in batches() {
            let batch = StepBatch { prefill: &prefill, decode: &decode };
            let (own, same) = (own.step_time(&batch), same.step_time(&batch));
            // Measured rows have f32 latencies, others f32 logarithms of slowdowns.
            assert!((own.total().0 / same.total().0 - 1.0).abs() < 1e-4, "{batch:?}");
            let looked_up = |part: &rooflut::step::PartTime| part.source.provenance();
            for provenance in same.parts().filter_map(|part| looked_up(&part)) {
                assert!(provenance.class >= Class::Transferred);
            }
        }
    }
}

#[test]
fn bounds_have_the_bound_class_and_no_looked_up_time_above_the_roofline() {
    let set = TableSet::bounds("bounds", sets::H100.gpu().clone());
    assert_eq!((set.class(), set.base()), (Class::Bound, None));
    assert!(OperationKind::ALL.into_iter().all(|operation| set.table(operation).is_some()));
    assert_eq!(set.tables().map(|table| table.rows().count()).sum::<usize>(), 0);
    let spec = specs().next().unwrap();
    let (own, bounds) = (step_model(spec, &sets::H100, 1).unwrap(), step_model(spec, &set, 1).unwrap());
    for (prefill, decode) in batches() {
        let batch = StepBatch { prefill: &prefill, decode: &decode };
        let (own, bounds) = (own.step_time(&batch), bounds.step_time(&batch));
        assert!(bounds.total() <= own.total(), "{batch:?}: {} {}", bounds.total(), own.total());
        assert!(bounds.total().0 >= bounds.bound().0 * (1.0 - ROUNDING), "{batch:?}");
        assert_eq!(bounds.provenance(), Some(Class::Bound.outside()));
    }
}
