//! Prints `laboratory/validation/left_out_servers.csv`: errors of closed loops by constants that a model or a GPU took no
//! part in. From the repository root, in some minutes:
//!
//! `cargo run --release -p rooflut-fit --example left_out_servers > left_out.csv && mv left_out.csv
//! laboratory/validation/left_out_servers.csv`

use rooflut_fit::left_out_servers_csv;

fn main() -> Result<(), rooflut_error::Error> {
    print!("{}", left_out_servers_csv()?);
    Ok(())
}
