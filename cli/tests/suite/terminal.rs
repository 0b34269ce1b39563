//! Text as a terminal shows it: widths, colours, help, completions, manual pages, version.
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::fmt::Write as _;
use std::fs;
use std::process::Output;

use tempfile::TempDir;

use crate::support::{rooflut, success, workspace};

/// The output of a command with these variables set.
fn with_env(line: &str, env: &[(&str, &str)]) -> Output {
    let mut command = rooflut(line);
    command.env_remove("COLUMNS").env_remove("NO_COLOR");
    command.envs(env.iter().copied());
    command.output().expect("it starts")
}

fn stdout(line: &str, env: &[(&str, &str)]) -> String {
    String::from_utf8(with_env(line, env).stdout).expect("UTF-8")
}

const COMMANDS: [&str; 24] = [
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
    "step --decode 64x1000 --prefill 512 --latency-model calibrated",
    "fits --model llama-3.1-70b",
    "compare examples/scenario.toml examples/scenario.toml",
    "lookup gemm --k 4096 --n 6144 --m 100",
    "lookup decode --q-heads 32 --kv-heads 8 --kv-len 1000",
    "lookup mla-decode --q-heads 24 --kv-len 1000",
    "lookup dsa-decode --q-heads 24 --dtype fp8_block --kv-len 1000",
    "tables",
    "tables check bench_data/h100",
    "tables check bench_data/b200",
    "tables check h200",
    "tables score bench_data/h200/attention_decode.csv --gpu h100",
    "tables score bench_data/h200/gemm.csv --gpu h100",
    "models",
    "engines",
];

/// Writes a few measured rows of each kind, and returns the command that predicts them.
fn validate(folder: &TempDir) -> String {
    let mut command = "validate".to_owned();
    for name in [
        "experiments",
        "servers_steady_state",
        "requests",
        "solo_requests",
        "decode_steps",
        "steps_b300_vllm_0.20.1",
        "kv_blocks",
        "memory_vllm_0.19",
    ] {
        let measured = workspace().join(format!("crates/validation/{name}.csv"));
        let measured = fs::read_to_string(measured).expect("measured rows");
        let rows: String = measured.split_inclusive('\n').take(5).collect();
        let path = folder.path().join(format!("{name}.csv"));
        fs::write(&path, rows).expect("a file");
        write!(command, " {}", path.display()).expect("memory");
    }
    command
}

#[test]
fn text_fits_into_80_columns_and_into_those_that_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let validate = validate(&folder);
    let rows = format!("{validate} --rows");
    let commands = || COMMANDS.into_iter().chain([validate.as_str(), &rows]);
    for line in commands() {
        for (env, width) in [(&[][..], 80), (&[("COLUMNS", "100")][..], 100)] {
            let text = stdout(line, env);
            assert!(text.lines().count() > 9, "{line}: {text}");
            let long = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(long, None, "{line}");
        }
    }
    // One begins with its table.
    for line in commands().filter(|line| *line != "models") {
        let text = stdout(line, &[("COLUMNS", "40")]);
        let title: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(
            title.iter().all(|line| line.len() <= 40),
            "{line}: {title:?}"
        );
    }
    // A wide terminal has a row of measurements on one line.
    let wide = stdout(&validate, &[("COLUMNS", "200")]);
    assert!(wide.contains("  id  "), "{wide}");
}

/// The commands that the help of a command lists, as in `run` or `tables check`.
fn commands_below(path: &str) -> Vec<String> {
    let help = stdout(&format!("{path} --help"), &[]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names
        .map(|name| format!("{path} {name}").trim().to_owned())
        .collect()
}

#[test]
fn every_help_wraps_and_has_a_manual_page() {
    let mut commands = vec![String::new()];
    let mut place = 0;
    while let Some(command) = commands.get(place).cloned() {
        commands.extend(commands_below(&command));
        place += 1;
    }
    for known in [
        "run",
        "tables check",
        "import vidur",
        "lookup moe",
        "completions",
    ] {
        assert!(
            commands.iter().any(|command| command == known),
            "{commands:?}"
        );
    }
    for command in &commands {
        let help = stdout(&format!("{command} --help"), &[]);
        let long = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{command}");
        assert_eq!(stdout(&format!("help {command}"), &[]), help, "{command}");
        let page = success(&format!("man {command}"));
        assert!(
            page.contains(".SH OPTIONS") && page.contains(".TH rooflut"),
            "{page}"
        );
    }
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
    for line in ["models", "run --requests 3", "tables check h100", "--help"] {
        assert_eq!(
            escapes(line, &[("CLICOLOR_FORCE", "1")]),
            (true, false),
            "{line}"
        );
        let refused = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert_eq!(escapes(line, &refused), (false, false), "{line}");
    }
    assert_eq!(escapes("--color always models", &[]), (true, false));
    assert_eq!(
        escapes("models --color always", &[("NO_COLOR", "1")]),
        (true, false)
    );
    let forced = [("CLICOLOR_FORCE", "1")];
    assert_eq!(escapes("models --color never", &forced), (false, false));
    assert_eq!(escapes("run --rate 0", &forced), (false, true));
    assert_eq!(escapes("run --requests 3 --json", &forced), (false, false));
    let folder = tempfile::tempdir().expect("a folder");
    let markdown = format!("{} --markdown", validate(&folder));
    assert_eq!(escapes(&markdown, &forced), (false, false));
}

#[test]
fn each_shell_has_a_script_with_all_commands_and_flags() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = success(&format!("completions {shell}"));
        for word in ["max-num-batched-tokens", "check", "vidur", "deny-warnings"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn the_version_names_the_commit_and_the_data() {
    let line = success("--version");
    let (version, rest) = line.trim_end().split_once(" (").expect("what was built");
    assert_eq!(version, concat!("rooflut ", env!("CARGO_PKG_VERSION")));
    let (source, data) = rest.split_once(", data ").expect("the data");
    match source.strip_prefix("commit ") {
        Some(commit) => assert!(commit.len() == 12 && is_hex(commit), "{line}"),
        None => assert_eq!(source, "built without git"),
    }
    let data = data.strip_suffix(')').expect("a parenthesis");
    assert!(data.len() == 8 && is_hex(data), "{line}");
}

fn is_hex(text: &str) -> bool {
    text.chars().all(|digit| digit.is_ascii_hexdigit())
}
