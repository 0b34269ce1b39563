//! Prints the errors of GPUs that are predicted as if they were not measured, the tables of `docs/hardware.md`.

fn main() {
    print!("{}", rooflut_validation::transfers_markdown());
}
