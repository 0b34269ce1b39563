//! The constants of `bench_data/engines/` fit the data.
#![allow(clippy::unwrap_used, reason = "a static of tests fails as tests do")]

use std::sync::LazyLock;

use rooflut::interval::Coverage;
use rooflut_fit::{Engines, Intervals, PARAMETERS, Problem, left_out, left_out_csv, one_step_from_files};
use rooflut_validation::{Case, Kind, Metric};

#[test]
fn values_that_are_set_are_those_of_both_engines_but_for_launches_and_experts_of_the_older() {
    let set = [5.0, 0.25, 20.0, 1.5, 8.0, 50.0, 300.0, 30.0, 2.0];
    let engines = Engines::from_files().with(&set);
    // A share is at most 1.
    let expected = [5.0, 0.25, 20.0, 1.0, 8.0, 50.0, 300.0, 30.0, 2.0];
    for (found, expected) in engines.values().iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
    }
    let (newer, mut older) = (engines.newer, engines.older);
    assert_eq!(newer.api_server, older.api_server);
    assert!((older.constants.host.0 - 300e-6).abs() < 1e-12);
    older.constants.host = newer.constants.host;
    older.constants.prompt_layer = newer.constants.prompt_layer;
    older.constants.blackwell_prompt_layer = newer.constants.blackwell_prompt_layer;
    older.constants.fp8_block_unreached_experts = newer.constants.fp8_block_unreached_experts;
    older.constants.shared_expert_tokens = newer.constants.shared_expert_tokens;
    assert_eq!(newer.constants, older.constants);
}

#[test]
fn the_error_is_least_at_the_time_of_a_layer_in_the_files() {
    let problem = Problem::embedded().unwrap();
    let files = Engines::from_files();
    let error = |times: f64| {
        let mut values = files.values();
        values[0] *= times;
        let residuals = problem.residuals(&files.with(&values));
        residuals.iter().map(|residual| residual.powi(2)).sum::<f64>()
    };
    let [less, here, more] = [0.85, 1.0, 1.15].map(error);
    assert!(here < less.min(more), "{less} {here} {more}");
}

#[test]
#[ignore = "slow: simulates every load stage 60 times"]
fn a_step_towards_the_data_stays_within_a_deviation_of_the_constants() {
    let problem = Problem::embedded().unwrap();
    let found = one_step_from_files(&problem);
    let files = Engines::from_files().values();
    let mut wrong = Vec::new();
    for ((parameter, file), estimate) in PARAMETERS.iter().zip(files).zip(&found.estimates) {
        // Within the standard deviation of the fit, or the rounding.
        let tolerance = estimate.deviation.unwrap().max(parameter.resolution);
        let apart = (estimate.value - file).abs();
        if apart.is_nan() || apart > tolerance {
            wrong.push(format!(
                "{}: {file:.4} {} in bench_data/engines, the data of laboratory/validation/ ask for {:.4} \
                 +- {tolerance:.4}",
                parameter.name, parameter.unit, estimate.value
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n`cargo run --release -p rooflut-lab -- fit` prints the constants to put there",
        wrong.join("\n")
    );
}

/// The load stages, predicted without their families: every load stage, 25 times.
static LEFT_OUT: LazyLock<(Problem, Vec<(Kind, Case)>)> = LazyLock::new(|| {
    let problem = Problem::embedded().unwrap();
    let left_out = left_out(&problem);
    (problem, left_out)
});

#[test]
#[ignore = "slow: simulates every load stage 25 times"]
fn predictions_without_the_family_are_up_to_date() {
    let (problem, left_out) = &*LEFT_OUT;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../laboratory/validation/left_out.csv");
    let committed = std::fs::read_to_string(path).unwrap();
    let found = left_out_csv(problem, left_out);
    assert_eq!(committed.lines().count(), found.lines().count());
    let split = |line: &str| {
        let (key, ln_ratio) = line.rsplit_once(',').unwrap();
        (key.to_owned(), ln_ratio.parse::<f64>().unwrap())
    };
    for (committed, found) in committed.lines().zip(found.lines()).skip(1) {
        let (committed, found) = (split(committed), split(found));
        assert!(
            committed.0 == found.0 && (committed.1 - found.1).abs() < 2e-3,
            "laboratory/validation/left_out.csv has {committed:?}, the constants give {found:?}; write it again with `cargo \
             run --release -p rooflut-fit --example left_out > left_out.csv && mv left_out.csv laboratory/validation/`"
        );
    }
}

#[test]
#[ignore = "slow: simulates every load stage 25 times"]
fn intervals_cover_the_load_stages_of_left_out_families() {
    let (problem, left_out) = &*LEFT_OUT;
    let files = Engines::from_files();
    for (share, expected) in [(0.8, 75.0..=88.0), (0.95, 91.0..=99.0)] {
        let coverage = Coverage::try_new(share).unwrap();
        let intervals = Intervals::of(problem, left_out, &files, coverage);
        for metric in [Metric::Tpot, Metric::E2e, Metric::Ttft] {
            let covered = intervals.covered(metric);
            assert!(
                expected.contains(&covered),
                "nominal {share} covers {covered:.0} % of {}; `cargo run --release -p rooflut-fit \
                 --example intervals` prints the errors to put into bench_data/engines",
                metric.name()
            );
        }
    }
}
