//! Rows that come after the program. One test, as their absence is a state of the process.
#![cfg(feature = "deferred-tables")]

use rooflut::table::{TableSet, deferred, sets};

#[test]
fn the_first_set_without_rows_is_wanted_until_it_has_them() {
    let tables = |set: &TableSet| set.tables().count();
    let all: Vec<usize> = sets::ALL.into_iter().map(tables).collect();
    assert!(all.iter().all(|count| *count > 0));
    assert_eq!(deferred::take_wanted(), None);
    for set in sets::ALL {
        let bytes: usize = deferred::places(set).iter().map(|(_, length)| length).sum();
        let rows: usize = set.tables().map(|table| table.rows().count()).sum();
        // Latency and slowdown of a row, in 4 bytes each.
        assert!(bytes >= 8 * rows, "{}: {bytes} bytes for {rows} rows", set.name());
    }

    deferred::defer_all();
    for set in sets::ALL.into_iter().rev() {
        assert_eq!(tables(set), 0);
    }
    let last = sets::ALL.len() - 1;
    assert_eq!(deferred::take_wanted(), Some(last));
    assert_eq!(deferred::take_wanted(), None);

    for (place, set) in sets::ALL.into_iter().enumerate() {
        assert!(deferred::set_present(set.name()));
        assert_eq!(tables(set), all[place]);
    }
    assert_eq!(deferred::take_wanted(), None);
    assert!(!deferred::set_present("none"));
}
