//! Fits the errors of the engines to the load stages of left-out model families, and prints the coverage of the
//! intervals: `cargo run --release -p rooflut-fit --example intervals`.

use rooflut::interval::Coverage;
use rooflut_fit::{Engines, Intervals, Problem, left_out};
use rooflut_validation::Metric;

const SHARES: [f64; 4] = [0.1, 0.2, 0.3, 0.5];
const STEP_ERRORS: [f64; 4] = [0.005, 0.01, 0.015, 0.02];
const FIRST_TOKEN_ERRORS: [f64; 5] = [0.04, 0.05, 0.06, 0.07, 0.08];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problem = Problem::embedded()?;
    let left_out = left_out(&problem);
    let coverages = [Coverage::try_new(0.8)?, Coverage::try_new(0.95)?];
    let score = |engines: &Engines, metrics: &[Metric]| {
        let of = |coverage| Intervals::of(&problem, &left_out, engines, coverage);
        let intervals = coverages.map(of);
        let mut first = None;
        for metric in metrics {
            let score: f64 = intervals.iter().map(|it| it.score(*metric)).sum();
            let [most, nearly_all] = intervals.each_ref().map(|it| it.covered(*metric));
            print!("  {:.4} {most:>3.0} {nearly_all:>3.0}", score);
            first.get_or_insert(score);
        }
        println!();
        first.unwrap_or_default()
    };
    let files = Engines::from_files();
    println!("Score (less is better), and % of the load stages that 80 and 95 % cover\n");
    println!("lookup_error_share, step_error; TPOT, E2E, TTFT");
    let all = [Metric::Tpot, Metric::E2e, Metric::Ttft];
    let mut best = (f64::INFINITY, files);
    for share in SHARES {
        for step_error in STEP_ERRORS {
            let tried = files.with_errors(share, step_error, files.newer.first_token_error);
            print!("{share:.1} {step_error:.3}");
            let score = score(&tried, &all);
            if score < best.0 {
                best = (score, tried);
            }
        }
    }
    println!("\nfirst_token_error, with the best of these; TTFT");
    let constants = best.1.newer.constants;
    for first_token_error in FIRST_TOKEN_ERRORS {
        let (share, step_error) = (constants.lookup_error_share, constants.step_error);
        print!("{first_token_error:.2}");
        score(&files.with_errors(share, step_error, first_token_error), &[Metric::Ttft]);
    }
    print!("\nfiles");
    score(&files, &all);
    Ok(())
}
