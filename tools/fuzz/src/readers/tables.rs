//! Table sets, as one file and as a folder.

use std::fs;

use rooflut::table::TableSet;
use rooflut_codegen::{FILES, set_files};

use super::{check_message, folder};

/// Reads `bytes` as a set in one file; its parts in a folder are the same set. Parts `base/NAME` are of a set beside the
/// folder, and `v/NAME` of another engine version in it.
pub(super) fn tables(bytes: &[u8]) {
    let folder = folder("tables");
    let (single, set) = (folder.join("mine.tables"), folder.join("mine"));
    fs::write(&single, bytes).unwrap();
    let (base, version) = (folder.join("base"), set.join("v"));
    fs::create_dir(&set).unwrap();
    for part in String::from_utf8_lossy(bytes).split("==> ") {
        let Some((name, text)) = part.split_once(" <==\n") else { continue };
        let (of, name) = name.split_once('/').unwrap_or(("", name));
        let place = [("", &set), ("base", &base), ("v", &version)].into_iter().find(|(known, _)| *known == of);
        if let Some((_, place)) = place.filter(|_| FILES.contains(&name) || name == "other.csv") {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join(name), text).unwrap();
        }
    }
    for path in [&set, &folder.join("none")] {
        if let Err(error) = TableSet::try_load(path) {
            check_message(&error.to_string());
        }
    }
    // A set depends on its own files and on those of the set beside it from which it inherits.
    let files = [&single, &set].map(|path| set_files(path));
    assert!(files.concat().iter().all(|file| file.starts_with(&folder)), "{files:?}");
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
    // One file leaves folders out of the names of its parts, and refuses parts that a folder cannot have.
    let is_one_set = !base.exists() && !version.exists();
    if is_one_set && let [Some(single), folder] = rows {
        assert_eq!(folder, Some(single));
    }
}
