//! The sets of bench_data/.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use rooflut::table::{TableSet, sets};
use rooflut_inspect::{Inspection, Row};

fn from_files(set: &TableSet) -> Inspection {
    let folder = format!("{}/../../bench_data/{}", env!("CARGO_MANIFEST_DIR"), set.name());
    let (set, tables) = TableSet::try_load_rows(folder).unwrap();
    Inspection::of_files(&set, tables)
}

#[test]
fn a_compiled_set_has_the_rows_of_its_files_but_for_their_places() {
    let set = &sets::H100;
    let (compiled, read) = (Inspection::of(set), from_files(set));
    assert_eq!(compiled.rows(), read.rows());
    assert!(read.rows() > 3000);
    for (compiled, read) in compiled.families.iter().zip(&read.families) {
        assert_eq!(compiled.name, read.name);
        let placeless = |row: &Row| Row { location: None, ..row.clone() };
        let read: Vec<Row> = read.rows.iter().map(placeless).collect();
        assert_eq!(compiled.rows, read);
    }
}
