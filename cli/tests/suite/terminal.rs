//! Text as a terminal shows it: widths, colours, help, completions, manual pages, version.

use std::fs;

use tempfile::tempdir;

use crate::support::success;
use crate::support::terminal::{assert_fit, assert_help, assert_version, with_env};

const COMMANDS: [&str; 18] = [
    "run --requests 200",
    // The server does not keep up, and percentiles come from histograms.
    "run --requests 101000 --rate 200 --goodput ttft:200 tpot:20 e2e:30000",
    "run --requests 50 --rate 5 --prefill-replicas 1 --decode-replicas 2 --link-bandwidth 50 --link-latency 10",
    "run --requests 50 --rate 2 --draft-tokens 4 --acceptance 0.7 --draft-model llama-3.2-1b",
    "run --requests 50 --scenario examples/scenario.toml --rate 5",
    "run --requests 50 --model mixtral-8x22b-instruct-v0.1 --tp 8 --max-num-batched-tokens 8192 --kv-dtype fp8",
    "plan --requests 500 --rate 20 --goodput ttft:500 --gpu h100,h200 --max-gpus 4",
    "saturate --requests 500 --goodput ttft:500 --prefill-replicas 1 --decode-replicas 2 --link-bandwidth 50 --link-latency 10",
    "step --decode 64x1000 --prefill 512@1024 --model llama-3.1-70b --tp 4",
    "fits --model llama-3.1-70b",
    "compare examples/scenario.toml examples/scenario.toml",
    "lookup gemm --k 4096 --n 6144 --m 100",
    "lookup decode --q-heads 32 --kv-heads 8 --kv-len 1000",
    "lookup mla-decode --q-heads 24 --kv-len 1000",
    "lookup dsa-decode --q-heads 24 --dtype fp8_block --kv-len 1000",
    "tables",
    "models",
    "engines",
];

#[test]
fn text_fits_into_80_columns_and_into_those_that_there_are() {
    assert_fit(&COMMANDS);
}

#[test]
fn every_help_wraps_and_has_a_manual_page() {
    assert_help(&["run", "tables", "lookup moe", "completions"]);
}

#[test]
fn colours_are_for_terminals_and_never_in_json() {
    let escapes = |line: &str, env: &[(&str, &str)]| {
        let output = with_env(line, env);
        let has = |bytes: &[u8]| bytes.contains(&0x1b);
        (has(&output.stdout), has(&output.stderr))
    };
    for line in ["models", "run --requests 3", "--help", "run --rate 0"] {
        assert_eq!(escapes(line, &[]), (false, false), "{line}");
    }
    for line in ["models", "run --requests 3", "tables", "--help"] {
        assert_eq!(escapes(line, &[("CLICOLOR_FORCE", "1")]), (true, false), "{line}");
        let refused = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert_eq!(escapes(line, &refused), (false, false), "{line}");
    }
    assert_eq!(escapes("--color always models", &[]), (true, false));
    assert_eq!(escapes("models --color always", &[("NO_COLOR", "1")]), (true, false));
    let forced = [("CLICOLOR_FORCE", "1")];
    assert_eq!(escapes("models --color never", &forced), (false, false));
    assert_eq!(escapes("run --rate 0", &forced), (false, true));
    assert_eq!(escapes("run --requests 3 --json", &forced), (false, false));
}

#[test]
fn each_shell_has_a_script_with_all_commands_and_flags() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = success(&format!("completions {shell}"));
        for word in ["max-num-batched-tokens", "lookup", "q-heads"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn the_version_names_the_commit_and_the_data() {
    assert_version("rooflut");
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let folder = tempdir().unwrap();
    // A red name that retitles the window and ends backwards.
    let trace = folder.path().join("a\u{1b}[31m\u{1b}]0;b\u{7}\u{9b}4m\u{202e}c.csv");
    fs::write(&trace, "arrival_ms,prompt_tokens,output_tokens\n0,10,10\n").unwrap();
    for (flags, shown) in
        [("", r"a\u{1b}[31m\u{1b}]0;b\u{7}\u{9b}4m\u{202e}c.csv"), ("--json", "\\u009b4m\\u202ec.csv")]
    {
        let line = format!("run --model llama-3.1-8b {flags} --color always --trace");
        let output = crate::support::rooflut(&line).arg(&trace).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains(['\u{7}', '\u{9b}', '\u{202e}']) && !text.contains("\u{1b}[31m"), "{text:?}");
    }
}
