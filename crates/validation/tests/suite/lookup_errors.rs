//! `bench_data/errors.csv` is that of the tables and the lookups.

use rooflut_validation::lookup_errors_csv;

#[test]
fn the_errors_of_lookups_are_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench_data/errors.csv");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == lookup_errors_csv(),
        "bench_data/errors.csv is not that of the tables; write it again with `cargo run -q -p \
         rooflut-validation --example lookup_errors > errors.csv && mv errors.csv bench_data/`"
    );
}
