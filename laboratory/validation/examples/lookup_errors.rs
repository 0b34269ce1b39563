//! Prints `bench_data/errors.csv`: errors of lookups on left-out rows. From the repository root:
//!
//! `cargo run -q -p rooflut-validation --example lookup_errors > errors.csv && mv errors.csv bench_data/`

fn main() {
    print!("{}", rooflut_validation::lookup_errors_csv());
}
