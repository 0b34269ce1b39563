//! Table sets, as one file and as a folder.

use std::fs;

use rooflut::table::TableSet;
use rooflut_codegen::FILES;

use super::{check_message, folder};

/// Reads `bytes` as a set in one file; its parts in a folder are the same set.
pub(super) fn tables(bytes: &[u8]) {
    let folder = folder("tables");
    let (single, set) = (folder.join("mine.tables"), folder.join("mine"));
    fs::write(&single, bytes).unwrap();
    fs::create_dir(&set).unwrap();
    for part in String::from_utf8_lossy(bytes).split("==> ") {
        if let Some((name, text)) = part.split_once(" <==\n").filter(|(name, _)| FILES.contains(name)) {
            fs::write(set.join(name), text).unwrap();
        }
    }
    let rows = [&single, &set].map(|path| match TableSet::try_load_rows(path) {
        Ok((_, tables)) => {
            let rows = tables.iter().flat_map(|table| &table.rows);
            let rows: Vec<_> = rows.map(|row| (row.kernel, row.latency_us.to_bits())).collect();
            let are_times = rows.iter().all(|(_, us)| f64::from_bits(*us).is_finite() && f64::from_bits(*us) > 0.0);
            assert!(are_times, "{rows:?}");
            Some(rows)
        }
        Err(error) => {
            check_message(&error.to_string());
            None
        }
    });
    // One file refuses parts that a folder cannot have.
    if let [Some(single), folder] = rows {
        assert_eq!(folder, Some(single));
    }
}
