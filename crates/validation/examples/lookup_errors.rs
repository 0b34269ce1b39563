//! Prints `bench_data/errors.csv`: errors of lookups on left-out rows. From the repository root:
//!
//! `cargo run -q -p rooflut-validation --example lookup_errors > errors.csv && mv errors.csv bench_data/`
//!
//! Standard error names the coverage of intervals on shapes whose rows did not make them.

use rooflut::table::sets;
use rooflut_validation::lookup_coverage;

fn main() {
    for (operation, [most, nearly_all]) in lookup_coverage(&sets::H100) {
        let name = operation.name();
        eprintln!(
            "h100 {name}: 80 % cover {most:.0} % of other shapes, 95 % cover {nearly_all:.0} %"
        );
    }
    print!("{}", rooflut_validation::lookup_errors_csv());
}
