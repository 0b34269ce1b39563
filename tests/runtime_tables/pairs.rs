//! Built-in sets, compiled and read at run time.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use rooflut::hardware::Dtype;
use rooflut::table::{Curve, Grid, KernelTable, Points, TableSet, sets};
use rooflut_roofline::operation::Codes;

/// Creates a folder for the files of a test.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// Copies the folder of a built-in set and renames the set, because loading rejects built-in names.
pub(crate) fn copied(name: &str, dir: &Path) -> PathBuf {
    let copy = dir.join(name);
    copy_renamed(name, &Path::new(env!("CARGO_MANIFEST_DIR")).join("bench_data").join(name), &copy);
    copy
}

/// Copies a folder of the set `name` with the folders in it.
fn copy_renamed(name: &str, from: &Path, copy: &Path) {
    fs::create_dir_all(copy).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy_renamed(name, &path, &copy.join(path.file_name().unwrap()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap().replacen(&format!("name = \"{name}\""), &renamed_line(name), 1);
        fs::write(copy.join(path.file_name().unwrap()), text).unwrap();
    }
}

pub(crate) fn renamed(name: &str) -> String {
    format!("{name}-read")
}

fn renamed_line(name: &str) -> String {
    format!("name = \"{}\"", renamed(name))
}

/// Returns every built-in set with measurements, compiled and read.
pub(crate) fn pairs(test: &str) -> Vec<(&'static TableSet, TableSet)> {
    let dir = scratch(test);
    let read = |set: &TableSet| TableSet::try_load(copied(set.name(), &dir)).unwrap();
    sets::ALL.into_iter().map(|set| (set, read(set))).collect()
}

/// Asserts equality by text. Numbers are printed with enough digits to distinguish them, so equal text means
/// equal bits.
#[track_caller]
pub(crate) fn assert_same(set: &TableSet, compiled: &impl Debug, read: &impl Debug) {
    let read = format!("{read:?}").replace(&renamed(set.name()), set.name());
    let compiled = format!("{compiled:?}");
    assert!(compiled == read, "{}:\n{compiled}\n{read}", set.name());
}

/// Asserts that all tables are equal, and returns the number of their shapes.
#[track_caller]
pub(crate) fn assert_same_tables(compiled: &TableSet, read: &TableSet) -> usize {
    let operations = |set: &TableSet| set.tables().map(|t| t.operation()).collect::<Vec<_>>();
    assert_eq!(operations(compiled), operations(read));
    let tables = compiled.tables().zip(read.tables());
    let shapes = tables.map(|(one, other)| match one.operation().declared().axes.len() {
        1 => assert_same_table(compiled, one.typed::<Codes, Curve<'_>>(), other.typed()),
        _ => assert_same_table(compiled, one.typed::<Codes, Grid<'_>>(), other.typed()),
    });
    shapes.sum()
}

fn assert_same_table<'t, P: Debug + From<Points<'t>>>(
    set: &TableSet,
    compiled: KernelTable<'t, Codes, P>,
    read: KernelTable<'t, Codes, P>,
) -> usize {
    let constants = |table: KernelTable<'t, Codes, P>| {
        let timing = [table.t0_us(), table.hot_read(), table.wave_us()];
        let references = Dtype::ALL.map(|dtype| table.reference(dtype));
        format!("{timing:?} {:?} {references:?}", table.floor_us())
    };
    assert_same(set, &constants(compiled), &constants(read));
    assert_eq!(compiled.len(), read.len());
    for (one, other) in compiled.entries().zip(read.entries()) {
        assert_same(set, &one, &other);
        // Both indices find it.
        assert_same(set, &read.find(&one.shape).unwrap(), &other);
        assert_same(set, &compiled.find(&other.shape).unwrap(), &one);
    }
    compiled.len()
}
