//! `bench_data/errors.csv` is that of the tables and the lookups.

use rooflut::interval::Coverage;
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
    let nominal = [0.8, 0.95].map(|share| Coverage::try_new(share).unwrap());
    let operations = lookup_coverage(&sets::H100, &nominal);
    assert_eq!(operations.len(), 5);
    for operation in operations {
        let [most, nearly_all] = operation.covered[..] else {
            panic!("{operation:?}");
        };
        assert!((75.0..=88.0).contains(&most), "{operation:?}");
        assert!((91.0..=99.0).contains(&nearly_all), "{operation:?}");
    }
}
