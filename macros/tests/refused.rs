//! The compile errors for refused sets, word for word: `refused.stderr`.
//!
//! `ROOFLUT_ACCEPT=1 cargo test -p rooflut-macros --test refused` rewrites that file; review it afterwards.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use support::UserCrate;

const SET_TOML: &str = r#"name = "my-gpu"
gpu = "h100"
engine = "none"
timing = "made up"
source = "a test"
license = "MIT"
date = "2026-01-31"
[gemm]
t0_us = 3.7
"#;

const GEMM: &str = "dtype,k,n,m,latency_us\nbf16,4096,4096,16,12.5\nbf16,4096,4096,32,12.75\n";

/// Faults of a set: name, file, text of that file, and its replacement.
const WRONG: [(&str, &str, &str, &str); 14] = [
    (
        "name-of-a-built-in-set",
        "set.toml",
        "\"my-gpu\"",
        "\"h100\"",
    ),
    ("unknown-gpu", "set.toml", "\"h100\"", "\"h1000\""),
    ("unknown-key", "set.toml", "license", "licence"),
    ("missing-key", "set.toml", "source = \"a test\"\n", ""),
    ("no-section", "set.toml", "[gemm]\nt0_us = 3.7\n", ""),
    ("negative-time", "set.toml", "3.7", "-3.7"),
    ("misspelt-column", "gemm.csv", "latency_us", "latency"),
    ("semicolons", "gemm.csv", ",", ";"),
    (
        "unknown-dtype",
        "gemm.csv",
        "bf16,4096,4096,32",
        "int4,4096,4096,32",
    ),
    ("no-number", "gemm.csv", "12.75", "12,75"),
    ("not-measured", "gemm.csv", "12.75", "nan"),
    ("the-same-row-twice", "gemm.csv", "4096,32", "4096,16"),
    ("milliseconds", "gemm.csv", "12.75", "0.01275"),
    (
        "no-rows",
        "gemm.csv",
        "bf16,4096,4096,16,12.5\nbf16,4096,4096,32,12.75\n",
        "",
    ),
];

#[test]
fn every_message_says_what_was_found_where_and_what_to_do() {
    let user = UserCrate::new("refused");
    let mut calls = vec![
        "\"measurements/not-there\"".to_owned(),
        "MY_GPU".to_owned(),
        "\"measurements/my-gpu\", \"measurements/other\"".to_owned(),
        String::new(),
        "\"measurements/no-set-toml\"".to_owned(),
        "\"measurements/no-tables\"".to_owned(),
        "\"measurements/misspelt-file\"".to_owned(),
        "\"measurements/no-title.tables\"".to_owned(),
        "\"measurements/one-file.tables\"".to_owned(),
    ];
    user.write("measurements/no-set-toml/gemm.csv", GEMM);
    user.write("measurements/no-tables/set.toml", SET_TOML);
    user.write("measurements/misspelt-file/set.toml", SET_TOML);
    user.write("measurements/misspelt-file/gem.csv", GEMM);
    user.write("measurements/no-title.tables", GEMM);
    let one_file = format!("==> set.toml <==\n{SET_TOML}\n==> gemm.csv <==\n{GEMM}");
    let one_file = one_file.replace("12.75", "-");
    user.write("measurements/one-file.tables", &one_file);
    for (case, file, from, to) in WRONG {
        for (name, text) in [("set.toml", SET_TOML), ("gemm.csv", GEMM)] {
            let text = match name == file {
                true => {
                    assert!(text.contains(from), "{case}: {from}");
                    text.replace(from, to)
                }
                false => text.to_owned(),
            };
            user.write(&format!("measurements/{case}/{name}"), &text);
        }
        calls.push(format!("\"measurements/{case}\""));
    }
    let mut main = String::from("use rooflut::table::TableSet;\n\nfn main() {\n");
    for call in &calls {
        writeln!(main, "    let _: &TableSet = rooflut::tables!({call});").unwrap();
    }
    main.push_str("}\n");
    user.write("src/main.rs", &main);
    let found = user.refusal();
    let errors = found.matches("error: ").count();
    assert_eq!(errors, calls.len(), "one error for each call:\n{found}");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused.stderr");
    if std::env::var_os("ROOFLUT_ACCEPT").is_some() {
        fs::write(&path, found + "\n").unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert_eq!(found.trim_end(), expected.trim_end());
}
