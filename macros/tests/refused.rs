//! The compile errors for refused sets, word for word: `refused.stderr`. Those of other files are in
//! `codegen/tests/messages.txt`.
//!
//! `ROOFLUT_ACCEPT=1 cargo test -p rooflut-macros --test refused -- --ignored` rewrites that file; review it afterwards.

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

#[test]
#[ignore = "slow: compiles the library for a user's crate"]
fn every_message_says_what_was_found_where_and_what_to_do() {
    let user = UserCrate::new("refused");
    let calls = [
        "\"measurements/not-there\"",
        "MY_GPU",
        "\"measurements/my-gpu\", \"measurements/other\"",
        "",
        "\"measurements/no-set-toml\"",
        "\"measurements/one-file.tables\"",
        "\"measurements/name-of-a-built-in-set\"",
        "\"measurements/unknown-dtype\"",
    ];
    user.write("measurements/no-set-toml/gemm.csv", GEMM);
    let one_file = format!("==> set.toml <==\n{SET_TOML}\n==> gemm.csv <==\n{GEMM}").replace("12.75", "-");
    user.write("measurements/one-file.tables", &one_file);
    let built_in = SET_TOML.replace("my-gpu", "h100");
    user.write("measurements/name-of-a-built-in-set/set.toml", &built_in);
    user.write("measurements/name-of-a-built-in-set/gemm.csv", GEMM);
    user.write("measurements/unknown-dtype/set.toml", SET_TOML);
    let int8 = GEMM.replace("bf16,4096,4096,32", "int8,4096,4096,32");
    user.write("measurements/unknown-dtype/gemm.csv", &int8);
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
