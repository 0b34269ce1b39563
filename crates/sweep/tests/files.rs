//! Files that a sweep reads stay the same until its end.
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rooflut::model;
use rooflut::table::sets;
use rooflut_scenario::{Model, Scenario};
use rooflut_sweep::{Axis, Error, Grid, Named, Sources, Sweep};

fn named(scenario: &Scenario) -> Result<Named, Error> {
    let entry = model::find(scenario.target.model()).expect("a model");
    Ok(Named { model: Model::new(entry.name, entry.spec), draft_model: None, tables: sets::H100.clone() })
}

/// A sweep over prompts, one of which has the lengths of a file.
fn sweep(lengths: &Path) -> Result<Sweep<'static>, Error> {
    let mut base = Scenario::default();
    base.workload.requests = Some(5);
    let prompts = Axis::read("prompt", [format!("9,file:{}", lengths.display()).as_str()]).expect("an axis");
    let open = |path: &Path| fs::File::open(path).map(Into::into);
    let sources = Sources { find: Arc::new(named), open: Arc::new(open) };
    Sweep::try_new(Grid::try_new(&base, vec![prompts]).expect("a grid"), sources, "test")
}

#[test]
fn a_file_that_changes_ends_the_sweep_before_a_row_of_its_new_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lengths");
    fs::write(&path, "100\n200\n").expect("a file");
    let before = sweep(&path).expect("a sweep");
    before.row(1).expect("a row");
    let other = fs::File::options().write(true).open(&path).expect("the file");
    other.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a time");
    for change in [None, Some("100\n200\n300\n"), Some("")] {
        change.iter().for_each(|text| fs::write(&path, text).expect("a file"));
        let error = before.row(1).expect_err("another file").to_string();
        assert!(error.contains("lengths: expected the file as it was when the sweep began"), "{error}");
        // It reads no file.
        before.row(0).expect("a row");
    }
    fs::remove_file(&path).expect("the file");
    assert!(before.row(1).is_err());
}

#[test]
fn contents_tell_grids_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let fingerprint = |text: &str| {
        let path = folder.path().join("lengths");
        fs::write(&path, text).expect("a file");
        sweep(&path).expect("a sweep").fingerprint().to_owned()
    };
    let first = fingerprint("100\n200\n");
    assert_ne!(first, fingerprint("100\n300\n"));
    assert_eq!(first, fingerprint("100\n200\n"));
}
