//! Built-in sets, compiled and read at run time.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use rooflut::table::{KernelTable, Shape, TableSet, sets};

/// A folder for what one test writes.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// A copy of a built-in set's folder, under the name that it must not have any more.
pub(crate) fn copied(name: &str, dir: &Path) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench_data");
    let copy = dir.join(name);
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(data.join(name)).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replacen(&format!("name = \"{name}\""), &renamed_line(name), 1);
        fs::write(copy.join(path.file_name().unwrap()), text).unwrap();
    }
    copy
}

pub(crate) fn renamed(name: &str) -> String {
    format!("{name}-read")
}

fn renamed_line(name: &str) -> String {
    format!("name = \"{}\"", renamed(name))
}

/// Every built-in set, compiled and read.
pub(crate) fn pairs(test: &str) -> Vec<(&'static TableSet, &'static TableSet)> {
    let dir = scratch(test);
    let read = |set: &TableSet| TableSet::try_load(copied(set.name, &dir)).unwrap();
    sets::ALL.into_iter().map(|set| (set, read(set))).collect()
}

/// Numbers are printed with as many digits as tell them apart, so equal text is equal bits.
#[track_caller]
pub(crate) fn assert_same(set: &TableSet, compiled: &impl Debug, read: &impl Debug) {
    let read = format!("{read:?}").replace(&renamed(set.name), set.name);
    let compiled = format!("{compiled:?}");
    assert!(compiled == read, "{}:\n{compiled}\n{read}", set.name);
}

/// The number of shapes, all of them the same.
pub(crate) fn assert_same_table<S: Shape + Debug, P: Debug>(
    set: &TableSet,
    compiled: &Option<KernelTable<S, P>>,
    read: &Option<KernelTable<S, P>>,
) -> usize {
    let (Some(compiled), Some(read)) = (compiled, read) else {
        assert!(compiled.is_none() && read.is_none(), "{}", set.name);
        return 0;
    };
    let constants = |table: &KernelTable<S, P>| {
        let KernelTable {
            t0_us,
            floor_us,
            hot_read,
            ref references,
            ..
        } = *table;
        format!("{t0_us:?} {floor_us:?} {hot_read:?} {references:?}")
    };
    assert_same(set, &constants(compiled), &constants(read));
    assert_eq!(compiled.entries.len(), read.entries.len());
    for (one, other) in compiled.entries.iter().zip(read.entries) {
        assert_same(set, one, other);
        // Both indices lead to it.
        let found = read.find(&one.shape).unwrap();
        assert!(std::ptr::eq(found, other));
        assert!(compiled.find(&other.shape).is_some());
    }
    compiled.entries.len()
}
