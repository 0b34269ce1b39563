//! `bench_data/errors.csv` is that of the tables and the lookups.

use rooflut::table::sets;
use rooflut_validation::{lookup_coverage, lookup_errors_csv};

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

#[test]
fn intervals_of_lookups_cover_rows_of_other_shapes() {
    let operations = lookup_coverage(&sets::H100);
    assert_eq!(operations.len(), 5);
    for (operation, [most, nearly_all]) in operations {
        let found = format!("{}: {most} {nearly_all}", operation.name());
        assert!((75.0..=88.0).contains(&most), "{found}");
        assert!((91.0..=99.0).contains(&nearly_all), "{found}");
    }
}
