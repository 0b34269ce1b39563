//! The sets of bench_data/.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use rooflut::table::{TableSet, sets};
use rooflut_inspect::{DIP, Inspection, Row, dips, errors, outliers, picture};

fn from_files(set: &TableSet) -> Inspection {
    let folder = format!(
        "{}/../../bench_data/{}",
        env!("CARGO_MANIFEST_DIR"),
        set.name()
    );
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
        let placeless = |row: &Row| Row {
            location: None,
            ..row.clone()
        };
        let read: Vec<Row> = read.rows.iter().map(placeless).collect();
        assert_eq!(compiled.rows, read);
    }
}

#[test]
fn errors_are_those_of_leave_one_out() {
    let inspection = Inspection::of(&sets::H100);
    let percent = |error: f64| (error * 1000.0).round() / 10.0;
    for (name, rows, median, p95) in [
        ("gemm bf16", 588, 3.1, 14.6),
        ("prefill bf16", 554, 2.6, 11.9),
        ("allreduce", 63, 1.1, 12.3),
        ("moe bf16", 664, 2.5, 11.3),
    ] {
        let family = inspection
            .families
            .iter()
            .find(|family| family.name == name);
        let found = errors(&inspection.set, family.unwrap()).unwrap();
        assert_eq!(
            (found.rows, percent(found.median), percent(found.p95)),
            (rows, median, p95)
        );
    }
}

#[test]
fn a_picture_has_the_same_bytes_each_time_and_names_what_it_shows() {
    let inspection = from_files(&sets::H100);
    for family in &inspection.families {
        let draw = || {
            let outliers = outliers(family);
            let dips = dips(family, &outliers, DIP);
            picture(&inspection, family, &outliers, &dips).unwrap()
        };
        let svg = draw();
        assert_eq!(svg, draw());
        assert!(svg.trim_end().ends_with("</svg>"));
        for words in [
            &format!("h100: {} on NVIDIA H100 SXM5 80 GB", family.name),
            "vLLM 0.24.0",
        ] {
            assert!(svg.contains(words), "no {words}");
        }
        for axis in family.operation.declared().axes {
            assert!(svg.contains(axis), "no {axis}");
        }
    }
}
