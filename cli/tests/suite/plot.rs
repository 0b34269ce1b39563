//! `rooflut tables plot`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as tests do"
)]

use std::fs;
use std::path::Path;

use crate::support::made_up::MadeUp;
use crate::support::{failure, json, list, rooflut, success, text, workspace};

/// How the mark of an outlier is drawn.
const MARK: &str = "stroke=\"#D62728\" stroke-width=\"3\"";

/// The pictures in a folder, by name.
fn pictures(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<(String, String)> = files
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read_to_string(path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn each_kind_of_kernels_is_a_picture_of_the_same_bytes_each_time() {
    let temp = tempfile::tempdir().expect("a folder");
    let drawn = ["one/deep", "two"].map(|name| {
        let folder = temp.path().join(name);
        let out = folder.to_str().expect("UTF-8");
        let people = success(&format!("tables plot bench_data/h100 --out {out}"));
        let written = people.lines().filter(|line| line.contains("  written"));
        // Feature `window` adds two.
        let written = written.filter(|line| !line.contains("window"));
        assert_eq!(written.count(), 7, "{people}");
        pictures(&folder)
    });
    let [first, second] = drawn;
    assert_eq!(first, second);
    let names = first.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.filter(|name| !name.contains("window")).collect();
    assert_eq!(
        names,
        [
            "allreduce.svg",
            "decode-bf16-fp8-kv.svg",
            "decode-bf16.svg",
            "gemm-bf16.svg",
            "gemm-fp8.svg",
            "moe-bf16.svg",
            "prefill-bf16.svg"
        ]
    );
    for (name, svg) in &first {
        assert!(
            svg.starts_with("<!-- rooflut tables plot -->\n<svg ")
                && svg.trim_end().ends_with("</svg>"),
            "{name}"
        );
        let axis = if name == "allreduce.svg" {
            "GB/s"
        } else {
            "TFLOP/s"
        };
        for words in ["h100: ", "NVIDIA H100 SXM5 80 GB", "Efficiency", axis] {
            assert!(svg.contains(words), "no {words} in {name}");
        }
    }
}

#[test]
fn a_bad_row_is_marked_and_named() {
    let draw = |set: &MadeUp| {
        let temp = tempfile::tempdir().expect("a folder");
        let out = temp.path().to_str().expect("UTF-8");
        success(&format!("tables plot {} --out {out}", set.path));
        pictures(temp.path())
    };
    let set = MadeUp::new();
    let good = draw(&set);
    let line = set.scale("gemm.csv", 10, 1.8);
    let bad = draw(&set);
    for ((name, good), (_, bad)) in good.iter().zip(&bad) {
        let marks = |svg: &str| svg.matches(MARK).count();
        if name == "gemm-bf16.svg" {
            // The cell; the point and its sign in the legend, of two strokes each.
            assert_eq!(marks(bad), marks(good) + 5);
            assert!(bad.contains(&format!("Outlier: measured/gemm.csv:{line}, ")));
        } else {
            assert_eq!(good, bad, "{name}");
        }
        assert!(good.contains("None."), "{name}");
        // In the legend.
        assert_eq!(marks(good), 1, "{name}");
    }
}

#[test]
fn pictures_are_not_replaced_unasked() {
    let temp = tempfile::tempdir().expect("a folder");
    let out = temp.path().to_str().expect("UTF-8");
    let mine = temp.path().join("gemm-fp8.svg");
    fs::write(&mine, "mine").expect("a file");
    let arguments = format!("tables plot h100 --out {out}");
    let message = failure(&arguments);
    assert_eq!(
        message,
        format!(
            "{} is there already and is no earlier output of this kind; replace it with --force, or name another path",
            mine.display()
        )
    );
    assert_eq!(
        pictures(temp.path()),
        [("gemm-fp8.svg".into(), "mine".into())]
    );
    let written = json(&format!("{arguments} --force"));
    let pictures = list(&written, "").iter();
    let pictures = pictures.filter(|picture| !text(picture, "/kernels").contains("window"));
    assert_eq!(pictures.count(), 7);
    let gemm = &list(&written, "")[1];
    assert_eq!(
        (text(gemm, "/kernels"), &gemm["rows"]),
        ("gemm fp8", &1_260.into())
    );
    assert_eq!(text(gemm, "/file"), mine.to_str().expect("UTF-8"));
    assert_ne!(fs::read_to_string(&mine).expect("a file"), "mine");
    // Its own pictures are.
    assert_eq!(json(&arguments), written);
    // A picture of another program.
    fs::write(&mine, "<svg width=\"1120\">").expect("a file");
    failure(&arguments);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("file");
    fs::write(&file, "mine").expect("a file");
    let message = failure(&format!("tables plot h100 --out {}", file.display()));
    assert!(message.starts_with("cannot write "), "{message}");
    assert_eq!(fs::read_to_string(file).expect("a file"), "mine");
}

#[test]
fn without_a_folder_pictures_go_to_one_of_the_sets_name() {
    let temp = tempfile::tempdir().expect("a folder");
    let set = workspace().join("bench_data/h100-infersim");
    let set = set.to_str().expect("UTF-8");
    let mut command = rooflut(&format!("tables plot {set}"));
    let output = command
        .current_dir(temp.path())
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    assert_eq!(pictures(&temp.path().join("h100-infersim-plots")).len(), 3);
}
