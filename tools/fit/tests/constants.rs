//! The constants of `bench_data/engines/` fit the data.

use rooflut_fit::{Engines, PARAMETERS, Problem, one_step_from_files};

#[test]
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
                "{}: {file:.4} {} in bench_data/engines, the data of crates/validation/ ask for {:.4} \
                 +- {tolerance:.4}",
                parameter.name, parameter.unit, estimate.value
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n`cargo run --release -p rooflut-fit` prints the constants to put there",
        wrong.join("\n")
    );
}
