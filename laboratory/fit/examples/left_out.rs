//! Prints `laboratory/validation/left_out.csv`: predictions of the load stages without their model family. From the
//! repository root:
//!
//! `cargo run --release -p rooflut-fit --example left_out > left_out.csv && mv left_out.csv laboratory/validation/`

use rooflut_fit::{Problem, left_out, left_out_csv};

fn main() -> Result<(), rooflut_error::Error> {
    let problem = Problem::embedded()?;
    print!("{}", left_out_csv(&problem, &left_out(&problem)));
    Ok(())
}
