//! Intervals around the time of a step.

use crate::support::models::{self, FITTED};
use crate::support::steps;
use rooflut::engine::{StepConstants, stacks};
use rooflut::interval::{Coverage, Interval};
use rooflut::step::{
    AtEnd, Binding, Chunk, DecodeGroup, Drafting, End, LatencyModel, Parallelism, Part, RooflineModel, StepBatch,
    StepModel, StepOptions, StepTime,
};
use rooflut::table::{Class, ErrorGroup, Extent, TableSet, sets};
use rooflut::units::Seconds;

fn coverage(share: f64) -> Coverage {
    Coverage::try_new(share).unwrap()
}

/// ln(high / low) / 2 of an interval that no bound cuts.
fn half_width(interval: Interval) -> f64 {
    (interval.high.0 / interval.low.0).ln() / 2.0
}

fn model(name: &str, tp: u32) -> RooflineModel {
    models::try_on(&sets::H100, &steps::named(name, tp), FITTED).unwrap()
}

fn decode(model: &RooflineModel, requests: u32) -> StepTime {
    let group = DecodeGroup::uniform(requests, 1_000).unwrap();
    model.step_time(&StepBatch { prefill: &[], decode: &[group] })
}

#[test]
fn intervals_contain_the_prediction_and_grow_with_coverage() {
    for (name, tp) in [("llama-3.1-8b", 1), ("mixtral-8x7b-v0.1", 2)] {
        let step = decode(&model(name, tp), 32);
        let shares = [1e-9, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999];
        let intervals = shares.map(|share| step.interval(coverage(share)));
        for pair in intervals.windows(2) {
            assert!(pair[1].low <= pair[0].low && pair[0].high < pair[1].high, "{name}");
        }
        assert!(intervals.iter().all(|interval| interval.contains(step.total())));
    }
}

#[test]
fn a_step_never_reaches_below_its_bound() {
    let llama = model("llama-3.1-8b", 1);
    let prompt = [Chunk::prompt(2_048).unwrap()];
    let prefill = llama.step_time(&StepBatch { prefill: &prompt, decode: &[] });
    for step in [prefill, decode(&llama, 1), decode(&llama, 128)] {
        assert!(step.bound() > Seconds::ZERO && step.bound() < step.total());
        let low = step.interval(coverage(1.0 - 1e-15)).low;
        assert!(low >= step.bound());
    }
}

#[test]
fn half_widths_add_up_in_quadrature_over_parts_and_model() {
    let llama = model("llama-3.1-8b", 1);
    let step = decode(&llama, 32);
    for share in [0.5, 0.8, 0.95] {
        let coverage = coverage(share);
        let parts = step.parts().filter_map(|part| {
            let extent = part.source.provenance()?.extent;
            let of_step = part.time.0 / step.total().0 * FITTED.lookup_error_share;
            Some(of_step * part.errors.half_width(extent, coverage))
        });
        let parts: f64 = parts.map(|width| width * width).sum();
        let model = -FITTED.step_error * (1.0 - share).ln();
        let found = half_width(step.interval(coverage));
        let expected = (parts + model * model).sqrt();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}

#[test]
fn servers_that_the_constants_were_not_fitted_to_have_wider_errors() {
    let coverage = coverage(0.8);
    let step = |(name, tp, set): (&str, u32, &TableSet), constants: StepConstants| {
        let mut options = StepOptions::default();
        options.constants = constants;
        let model = RooflineModel::try_new(&models::spec(name), set, Parallelism::tensor(tp), options).unwrap();
        decode(&model, 32).interval(coverage)
    };
    let stack = stacks::VLLM_0_15_1;
    let ttft = |(name, _, set): (&str, u32, &TableSet)| stack.ttft_half_width(&models::spec(name), set.gpu(), coverage);
    let fitted = ("llama-3.1-8b", 1, &sets::H100);
    let as_fitted = FITTED.with_other_step_error(FITTED.step_error);
    assert_eq!(step(fitted, FITTED), step(fitted, as_fitted));
    // Other GPUs, and weights in another format.
    for other in [("llama-3.1-8b", 1, &sets::A100), ("llama-3.1-8b", 1, &sets::H200), ("gpt-oss-120b", 2, &sets::H100)]
    {
        let (wide, narrow) = (step(other, FITTED), step(other, as_fitted));
        assert!(wide.low < narrow.low && narrow.high < wide.high);
        assert!(ttft(other) > 2.0 * ttft(fitted));
    }
}

#[test]
fn a_model_at_an_end_takes_the_time_of_that_end() {
    let llama = model("llama-3.1-8b", 1);
    let batch =
        StepBatch { prefill: &[Chunk::prompt(512).unwrap()], decode: &[DecodeGroup::uniform(32, 1_000).unwrap()] };
    let coverage = coverage(0.8);
    let Interval { low, high } = llama.step_time(&batch).interval(coverage);
    let at = |end| AtEnd::new(&llama, coverage, end);
    assert_eq!(at(End::Low).total_time(&batch), low);
    assert_eq!(at(End::High).total_time(&batch), high);
    let nothing = StepBatch { prefill: &[], decode: &[] };
    assert_eq!(at(End::High).total_time(&nothing), Seconds::ZERO);
}

#[test]
fn parts_have_the_errors_of_their_tables() {
    let mixtral = decode(&model("mixtral-8x7b-v0.1", 2), 256);
    let errors = |part| {
        let found = mixtral.parts().find(|found| found.part == part);
        found.unwrap().errors.to_string()
    };
    assert_eq!(errors(Part::Moe), "h100 moe bf16 measured");
    assert_eq!(errors(Part::AllReduce), "h100 allreduce bf16 measured");
    assert_eq!(errors(Part::Qkv), "h100 gemm bf16 transferred");
    assert_eq!(errors(Part::DecodeAttention), "h100 decode bf16 measured");
}

#[test]
fn an_unknown_time_has_the_widest_errors() {
    let mut step = StepTime::ZERO;
    step.add(Part::Qkv, Seconds(1e-3), Binding::Memory, Class::Measured.inside().into());
    let coverage = coverage(0.8);
    let widest = ErrorGroup::UNKNOWN.half_width(Extent::Inside, coverage);
    assert!((half_width(step.interval(coverage)) / widest - 1.0).abs() < 1e-9);
    assert!(StepTime::ZERO.interval(coverage).high == Seconds::ZERO);
}

#[test]
fn a_draft_model_widens_the_step_in_time_and_keeps_the_errors_of_the_longer_parts() {
    let (target, draft) = (model("qwen3-14b", 1), model("llama-3.1-8b", 1));
    let group = DecodeGroup::uniform(8, 1_000).unwrap().with_drafted(3).unwrap();
    let batch = StepBatch { prefill: &[], decode: &[group] };
    let alone = target.step_time(&batch);
    let both = Drafting::new(&target, &draft, 3).step_time(&batch);
    assert!(both.bound() > alone.bound());
    let of = |step: &StepTime| step.parts().map(|part| part.errors).collect::<Vec<_>>();
    assert_eq!(of(&both), of(&alone));
    let interval = both.interval(coverage(0.8));
    assert!(interval.low < both.total() && both.total() < interval.high);
}
