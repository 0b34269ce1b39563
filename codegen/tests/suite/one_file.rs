//! A set in one file, as `tail -n +1 set.toml *.csv` prints its folder.

use std::path::PathBuf;

use crate::support::{Fixture, GEMM, GPUS, SET_TOML};
use rooflut_codegen::read_set;
use tempfile::TempDir;

const ROWS: &str = "bf16,512,512,16,10\nbf16,512,512,32,11\n";

fn file(contents: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.tables");
    std::fs::write(&path, contents).unwrap();
    (folder, path)
}

/// A `set.toml` with GEMMs only, as long as that with all operations.
fn header() -> String {
    let (gemm_only, others) = SET_TOML.split_once("[prefill]").unwrap();
    gemm_only.to_owned() + &"\n".repeat(others.lines().count())
}

/// The set with this `gemm.csv`; its title is on line 20.
fn one_file(gemm: &str) -> String {
    let header = header();
    format!("==> set.toml <==\n{header}\n\n==> gemm.csv <==\n{gemm}")
}

#[test]
fn it_equals_the_set_of_the_folder() {
    let csv = format!("{GEMM}{ROWS}");
    let folder = Fixture::gemm(ROWS).read().unwrap();
    let expected = format!("{:?}", folder.stored(|_, _| true));
    let plain = one_file(&csv);
    for contents in [
        plain.clone(),
        format!("\u{feff}{plain}"),
        format!("\n\n{plain}\n\n"),
        plain.replace('\n', "\r\n"),
        plain.replace("==> ", "==> ../measurements/my-gpu/"),
        format!("==> gemm.csv <==\n{csv}==> set.toml <==\n{}", header()),
    ] {
        let (_folder, path) = file(&contents);
        let set = read_set(&path, GPUS).unwrap();
        assert_eq!(format!("{:?}", set.stored(|_, _| true)), expected, "{contents}");
    }
}

#[test]
fn bytes_that_are_no_text_are_named_by_the_line_of_the_file() {
    let text = one_file(&format!("{GEMM}{ROWS}"));
    let line = text.lines().count() + 1;
    let (_folder, path) = file([text.as_bytes(), b"bf\xff16,1,1,1,1\n"].concat());
    let error = read_set(&path, GPUS).err().unwrap();
    assert_eq!(error.line(), Some(line as u64));
}

/// Reading ends with a set or a message of one line, whatever the contents.
#[test]
fn no_file_makes_reading_panic() {
    let good = one_file(&format!("{GEMM}{ROWS}")).into_bytes();
    let bytes = b"0-9.,;=<>\"'[]#\n\r\t e\xff\xef\xbb\xbf";
    let (folder, path) = file(&good);
    let mut state = 1_u64;
    let mut random = |below: usize| {
        // Knuth's constants (MMIX); the high bits are the good ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut read = 0;
    for _ in 0..800 {
        let mut text = good.clone();
        for _ in 0..=random(3) {
            if text.is_empty() {
                break;
            }
            let at = random(text.len());
            match random(4) {
                0 => text.truncate(at),
                1 => drop(text.remove(at)),
                2 => text.insert(at, bytes[random(bytes.len())]),
                _ => text[at] = bytes[random(bytes.len())],
            }
        }
        std::fs::write(&path, &text).unwrap();
        match read_set(&path, GPUS) {
            Ok(set) => {
                set.stored(|_, _| true);
                read += 1;
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    assert!((20..780).contains(&read), "{read} of 800 are sets");
    drop(folder);
}
