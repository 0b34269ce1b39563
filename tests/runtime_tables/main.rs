//! Sets read at run time answer like the compiled ones, bit for bit.
#![cfg(all(
    feature = "runtime-tables",
    feature = "a100",
    feature = "b200",
    feature = "h100",
    feature = "h200",
    feature = "l40s"
))]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod other_gpus;
mod pairs;
#[allow(dead_code, reason = "other tests use all of it")]
#[path = "../support/random.rs"]
mod random;

use std::fs;
use std::path::Path;

use pairs::{assert_same, assert_same_tables, copied, pairs, renamed, scratch};
use random::Random;
use rooflut::ResolveError;
use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use rooflut::model::CATALOG;
use rooflut::op::{AllReduce, DecodeAttention, Estimate, Gemm, Moe, PrefillAttention};
use rooflut::step::{Chunk, DecodeGroup, Parallelism, PartTime, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{ErrorGroup, TableSet, sets};
use rooflut::units::Seconds;

#[test]
fn every_cell_is_the_same() {
    for (set, read) in pairs("every_cell") {
        assert_eq!(read.name(), renamed(set.name()));
        assert_same(set, set.gpu(), read.gpu());
        assert_same(set, set.origin(), read.origin());
        let shapes = assert_same_tables(set, &read);
        assert!(shapes > 20, "{}: {shapes} shapes", set.name());
        assert!(set.versions().eq(read.versions()));
        for version in set.versions() {
            let [set, read] = [set, &read].map(|set| set.version(Some(version)));
            assert_same(&set, set.origin(), read.origin());
            assert_same_tables(&set, &read);
        }
    }
}

/// Asserts that both sets give the same answer of `ask` to the handle of `resolve`, or the same error.
fn assert_same_answer<H>(
    (set, read): &(&TableSet, TableSet),
    resolve: impl Fn(&TableSet) -> Result<H, ResolveError>,
    ask: impl Fn(&H) -> Estimate,
) -> bool {
    let answer = |set: &TableSet| resolve(set).map(|handle| ask(&handle));
    let (compiled, read) = (answer(set), answer(read));
    assert_same(set, &compiled, &read);
    compiled.is_ok()
}

#[test]
fn any_lookup_is_answered_the_same() {
    let mut random = Random(7);
    let mut answered = 0;
    let pairs = pairs("any_lookup");
    for _ in 0..20_000 {
        let pair = random.pick(&pairs);
        let dtype = *random.pick(&Dtype::ALL);
        let heads = 1 << random.between(0, 6);
        let shape = AttentionShape {
            dtype: Dtype::Bf16,
            kv_dtype: *random.pick(&[Dtype::Bf16, Dtype::Fp8]),
            q_heads: heads << random.between(0, 3),
            kv_heads: heads,
            head_dim: *random.pick(&[64, 128, 192]),
            tp: 1 << random.between(0, 3),
        };
        let (tokens, length) = (random.log(100_000), random.log(200_000));
        answered += usize::from(match random.between(0, 4) {
            0 => {
                // Sometimes a measured point, else any.
                let sizes = [1024, 4096, 14_336, random.log(100_000)];
                let (k, n) = (*random.pick(&sizes), *random.pick(&sizes));
                assert_same_answer(pair, |set| Gemm::resolve(set, GemmShape { dtype, k, n }), |gemm| gemm.at(tokens))
            }
            1 => assert_same_answer(
                pair,
                |set| PrefillAttention::resolve(set, shape),
                |prefill| prefill.at(tokens.min(64), length),
            ),
            2 => assert_same_answer(
                pair,
                |set| DecodeAttention::resolve(set, shape),
                |decode| decode.at(tokens, u64::from(tokens) * u64::from(length)),
            ),
            3 => {
                let ranks = random.between(2, 8) as u32;
                assert_same_answer(
                    pair,
                    |set| AllReduce::resolve(set, AllReduceShape { ranks }),
                    |allreduce| allreduce.at(u64::from(length) * 100),
                )
            }
            _ => {
                let layer = MoeShape {
                    dtype,
                    experts: *random.pick(&[8, 64, 128]),
                    top_k: *random.pick(&[2, 8]),
                    hidden: *random.pick(&[2048, 4096, 5000]),
                    intermediate: *random.pick(&[768, 14_336]),
                    tp: 1 << random.between(0, 3),
                    ep: 1 << random.between(0, 2),
                    matrices: 3,
                };
                assert_same_answer(pair, |set| Moe::resolve(set, layer), |moe| moe.at(tokens))
            }
        });
    }
    assert!(answered > 10_000, "{answered} of 20,000 have an answer");
}

/// Returns the total and the parts of a step, without their errors: those of a set that is read are not known.
fn times(model: &RooflineModel, batch: &StepBatch<'_>) -> (Seconds, Seconds, Vec<PartTime>) {
    let step = model.step_time(batch);
    let parts = step.parts().map(|mut part| {
        part.errors = ErrorGroup::UNKNOWN;
        part
    });
    (step.total(), step.bound(), parts.collect())
}

#[test]
fn any_step_takes_the_same_time() {
    let mut random = Random(8);
    let mut made = 0;
    for (set, read) in pairs("any_step") {
        for model in CATALOG {
            for tp in [1, 2, 4, 8] {
                let make = |set: &TableSet| {
                    let (parallelism, options) = (Parallelism::tensor(tp), StepOptions::default());
                    RooflineModel::try_new(&model.spec, set, parallelism, options)
                };
                let (compiled, read) = match (make(set), make(&read)) {
                    (Ok(compiled), Ok(read)) => (compiled, read),
                    (compiled, read) => {
                        assert_same(set, &compiled.err(), &read.err());
                        continue;
                    }
                };
                made += 1;
                for _ in 0..20 {
                    let decode = DecodeGroup::uniform(random.log(512), random.log(30_000)).unwrap();
                    let new = random.log(4_000);
                    let chunk = Chunk::last(new, new + random.log(10_000)).unwrap();
                    let batch = StepBatch { prefill: &[chunk][..random.between(0, 1) as usize], decode: &[decode] };
                    let [compiled, read] = [&compiled, &read].map(|model| times(model, &batch));
                    assert_same(set, &compiled, &read);
                }
            }
        }
    }
    assert!(made > 100, "{made} models");
}

#[test]
fn the_name_of_a_built_in_set_is_refused() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench_data");
    for set in sets::ALL {
        let folder = data.join(set.name());
        let error = TableSet::try_load(&folder).unwrap_err();
        let expected = format!(
            "{}/set.toml:1: name: expected a name that no built-in set has (a100, \
             b200, b300, gb200, gb300, h100, h200, l40s, l40s-p2p, rtx-pro-6000), found \"{}\"; rename the set",
            folder.display(),
            set.name()
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn errors_equal_those_of_the_compiler() {
    let dir = copied("h100", &scratch("errors"));
    let gemm = dir.join("gemm.csv");
    let text = fs::read_to_string(&gemm).unwrap();
    fs::write(&gemm, format!("{text}bf16,4096,4096,7,-\n")).unwrap();
    let error = TableSet::try_load(&dir).unwrap_err();
    let line = text.lines().count() as u64 + 1;
    let expected = format!(
        "{}:{line}: latency_us: expected a positive number, found \"-\"; correct it or leave the row out",
        gemm.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn loading_and_dropping_a_thousand_sets_leaks_nothing() {
    let dir = scratch("memory").join("small");
    fs::create_dir_all(&dir).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/own-gpu");
    for file in ["set.toml", "gemm.csv"] {
        fs::copy(fixture.join(file), dir.join(file)).unwrap();
    }
    let shape = GemmShape { dtype: Dtype::Bf16, k: 1024, n: 1024 };
    let come_and_go = || {
        let set = TableSet::try_load(&dir).unwrap();
        let gemm = Gemm::resolve(&set, shape).unwrap();
        drop(set);
        assert!(gemm.at(16).time.us() > 0.0);
    };
    let leaked = allocation_counter::measure(|| (0..1000).for_each(|_| come_and_go()));
    assert_eq!((leaked.count_current, leaked.bytes_current), (0, 0));
}

#[test]
fn a_model_keeps_its_set_and_frees_it() {
    let dir = copied("h100", &scratch("kept"));
    let spec = CATALOG[0].spec;
    let make = || {
        let set = TableSet::try_load(&dir).unwrap();
        let options = StepOptions::default();
        RooflineModel::try_new(&spec, &set, Parallelism::tensor(1), options).unwrap()
    };
    let held = allocation_counter::measure(|| std::mem::forget(make()));
    // About 7,300 rows, and 2,200 of attention within windows, 2,300 of latent attention and 350 of gated delta nets if
    // these are compiled in.
    assert!((40_000..300_000).contains(&held.bytes_current), "{held:?}");
    let freed = allocation_counter::measure(|| drop(make()));
    assert_eq!(freed.bytes_current, 0);
}
