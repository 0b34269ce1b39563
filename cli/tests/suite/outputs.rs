//! Outputs replace nothing of the user's, and leave nothing behind.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::made_up::{MadeUp, OPERATIONS};
use crate::support::{failure, success};

/// Each kind of output.
const FLAGS: [&str; 3] = ["--requests-out", "--steps-out", "--perfetto"];

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

/// A file in a folder of its own, and its path.
fn file(name: &str, text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
    "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}"#;

#[test]
fn an_output_that_is_an_input_is_refused_by_whatever_name() {
    let set = MadeUp::new();
    let all = OPERATIONS.into_iter().chain(["set.toml"]).map(|name| {
        let text = fs::read_to_string(Path::new(&set.path).join(name)).expect("a file");
        format!("==> {name} <==\n{text}\n")
    });
    let (_one_file, one_file) = file("set.tables", &all.collect::<String>());
    let (_model, config) = file("config.json", CONFIG);
    let (_trace, trace) = file(
        "trace.csv",
        "arrival_ms,prompt_tokens,output_tokens\n0,5,5\n",
    );
    let (_scenario, scenario) = file("scenario.toml", "[workload]\nrequests = 2\n");
    let (_lengths, lengths) = file("lengths.txt", "128\n");
    let model = Path::new(&config).parent().expect("a folder").display();
    for (arguments, input, why) in [
        (
            format!("--tables {}", set.path),
            format!("{}/gemm.csv", set.path),
            "a file of the tables",
        ),
        (
            format!("--tables {}", set.path),
            format!("{}/set.toml", set.path),
            "a file of the tables",
        ),
        (
            format!("--tables {one_file}"),
            one_file.clone(),
            "a file of the tables",
        ),
        (
            format!("--model {config}"),
            config.clone(),
            "a file of a model",
        ),
        (
            format!("--model {model}"),
            config.clone(),
            "a file of a model",
        ),
        (
            format!("--draft-model {config} --draft-tokens 2 --acceptance 0.5"),
            config.clone(),
            "a file of a model",
        ),
        (
            format!("--trace {trace}"),
            trace.clone(),
            "the trace itself",
        ),
        (
            format!("--scenario {scenario}"),
            scenario.clone(),
            "the scenario itself",
        ),
        (
            format!("--prompt file:{lengths}"),
            lengths.clone(),
            "a file of lengths",
        ),
        (
            format!("--output file:{lengths}"),
            lengths.clone(),
            "a file of lengths",
        ),
        (
            format!("--users 2 --turns file:{lengths}"),
            lengths.clone(),
            "a file of lengths",
        ),
    ] {
        let before = fs::read(&input).expect("a file");
        let folder = Path::new(&input).parent().expect("a folder");
        let others = tempfile::tempdir_in(folder).expect("a folder");
        let other = |name: &str| others.path().join(name);
        fs::hard_link(&input, other("hard")).expect("a link");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&input, other("link")).expect("a link");
        #[cfg(not(unix))]
        fs::hard_link(&input, other("link")).expect("a link");
        let name = Path::new(&input).file_name().expect("a name");
        for path in [
            Path::new(&input).to_owned(),
            other("hard"),
            other("link"),
            others.path().join("..").join(name),
        ] {
            let path = path.display();
            for flag in FLAGS {
                let message = failure(&format!("run {arguments} {flag} {path} --force"));
                assert!(
                    message.starts_with(&format!("{path} is {why}")),
                    "{message}"
                );
                assert!(message.ends_with("; name another file"), "{message}");
            }
        }
        assert_eq!(fs::read(&input).expect("a file"), before);
    }
}

#[test]
fn only_earlier_outputs_of_the_same_kind_are_replaced_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let run = |flag: &str, more: &str| format!("run --requests 2 {flag} {} {more}", path.display());
    for flag in FLAGS {
        let other = FLAGS.into_iter().find(|other| *other != flag);
        for old in ["mine", "request,arrival_ms\n", "{}", "\0\u{1}"] {
            fs::write(&path, old).expect("a file");
            let message = failure(&run(flag, ""));
            assert!(
                message.ends_with(
                    "/out is there already and is no earlier output of this kind; replace it with --force, or name \
                     another path"
                ),
                "{message}"
            );
            assert_eq!(fs::read_to_string(&path).expect("a file"), old);
        }
        success(&run(flag, "--force"));
        let written = fs::read_to_string(&path).expect("a file");
        success(&run(flag, ""));
        failure(&run(other.expect("another"), ""));
        // Nothing is in an empty file.
        fs::write(&path, "").expect("a file");
        success(&run(flag, ""));
        assert_eq!(fs::read_to_string(&path).expect("a file"), written);
    }
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn a_name_of_compressed_data_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for flag in FLAGS {
        let path = folder.path().join("out.csv.gz");
        let path = path.display();
        let message = failure(&format!("run --requests 2 {flag} {path}"));
        assert_eq!(
            message,
            format!(
                "{path} is the name of a compressed file, which outputs are not; leave out .gz, or write to - and pipe \
                 that into a compressor"
            )
        );
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn an_old_output_stays_as_it_is_if_the_run_fails() {
    let (folder, path) = file("out.csv", "");
    success(&format!("run --requests 2 --steps-out {path}"));
    let old = fs::read_to_string(&path).expect("a file");
    for wrong in [
        "--max-num-batched-tokens 64",
        "--trace no/such.csv",
        "--strict measured",
    ] {
        failure(&format!("run --steps-out {path} {wrong}"));
        assert_eq!(fs::read_to_string(&path).expect("a file"), old);
    }
    assert_eq!(names(folder.path()), ["out.csv"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused_and_nothing_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display();
    let twice = format!("{out}/new --steps-out {out}/./new");
    for (flags, expected) in [
        (
            "--steps-out no/such/folder/out.csv",
            "cannot write no/such/folder/out.csv: No such file or directory (os error 2); check the folder",
        ),
        (
            &format!("--perfetto {out}"),
            "is not a regular file; name another file",
        ),
        (
            &format!("--requests-out {twice}"),
            "is being written already; name another file",
        ),
        (
            "--requests-out - --steps-out -",
            "- is being written already; name another file",
        ),
        (
            "--requests-out - --json",
            "--json writes to standard output, too; name another file",
        ),
    ] {
        let message = failure(&format!("run {flags}"));
        assert!(message.contains(expected), "{message}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn pictures_replace_no_file_of_their_set() {
    let set = MadeUp::new();
    let gemm = format!("{}/gemm.csv", set.path);
    let before = fs::read(&gemm).expect("a file");
    let out = tempfile::tempdir().expect("a folder");
    fs::hard_link(&gemm, out.path().join("gemm-bf16.svg")).expect("a link");
    let message = failure(&format!(
        "tables plot {} --out {} --force",
        set.path,
        out.path().display()
    ));
    assert!(
        message.contains("gemm-bf16.svg is a file of the set"),
        "{message}"
    );
    assert_eq!(fs::read(&gemm).expect("a file"), before);
    assert_eq!(names(out.path()), ["gemm-bf16.svg"]);
}

/// Outputs that only Unix has.
#[cfg(unix)]
mod streams {
    use std::process::{Command, Output, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// A script of sh in which `$rooflut` is the binary.
    fn command(folder: &Path, script: &str) -> Command {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]).current_dir(folder);
        sh.env("rooflut", env!("CARGO_BIN_EXE_rooflut"))
            .env("COLUMNS", "96");
        sh
    }

    fn shell(folder: &Path, script: &str) -> Output {
        command(folder, script).output().expect("sh starts")
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn standard_output_and_pipes_take_what_files_take() {
        let folder = tempfile::tempdir().expect("a folder");
        for flag in FLAGS {
            let report = success(&format!(
                "run --requests 20 {flag} {}/file --force",
                folder.path().display()
            ));
            let file = fs::read(folder.path().join("file")).expect("a file");
            for (script, has_report) in [
                ("$rooflut run --requests 20 $flag - >got 2>report", true),
                (
                    "$rooflut run --requests 20 $flag /dev/stdout 2>report | cat >got",
                    true,
                ),
                (
                    "mkfifo pipe; cat pipe >got & $rooflut run --requests 20 $flag pipe >report; wait",
                    true,
                ),
                (
                    "$rooflut run --requests 20 $flag /dev/fd/3 3>&1 >report 2>&1 | cat >got",
                    true,
                ),
                (
                    "$rooflut run --requests 20 $flag /dev/null; echo >got",
                    false,
                ),
            ] {
                let output = shell(folder.path(), &format!("flag={flag}; {script}"));
                assert!(output.status.success(), "{script}: {output:?}");
                if has_report {
                    let got = fs::read(folder.path().join("got")).expect("a file");
                    assert!(got == file, "{flag} {script}");
                    let got = fs::read_to_string(folder.path().join("report")).expect("a file");
                    assert_eq!(got, report, "{script}");
                }
            }
            fs::remove_file(folder.path().join("pipe")).expect("a pipe");
        }
    }

    #[test]
    fn a_reader_that_leaves_ends_nothing_and_hears_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        for script in [
            "{ $rooflut run --steps-out - --requests-out out.csv 2>err; echo $? >code; } | head -1",
            "{ $rooflut tables --json 2>err; echo $? >code; } | head -c 1",
            "{ $rooflut run --help 2>err; echo $? >code; } | true",
        ] {
            let output = shell(folder.path(), script);
            assert_eq!(text(output.stderr), "");
            let read = |name| fs::read_to_string(folder.path().join(name)).expect("a file");
            assert_eq!(read("code"), "0\n", "{script}");
            assert!(!read("err").contains("error"), "{script}");
        }
        let rows = fs::read_to_string(folder.path().join("out.csv")).expect("a file");
        assert_eq!(rows.lines().count(), 1_001);
    }

    #[test]
    fn the_file_on_standard_input_is_not_replaced() {
        let (folder, _) = file("trace", "arrival_ms,prompt_tokens,output_tokens\n0,5,5\n");
        let script = "$rooflut run --trace - --steps-out trace --force <trace";
        let output = shell(folder.path(), script);
        assert_eq!(
            text(output.stderr),
            "error: trace is the trace itself; name another file\n"
        );
    }

    #[test]
    fn a_pipe_without_a_reader_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = shell(folder.path(), "mkfifo pipe; $rooflut run --steps-out pipe");
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            text(output.stderr),
            "error: cannot write pipe: no program reads this pipe; start its reader first\n"
        );
    }

    #[cfg(target_os = "linux")] // others have no /dev/full
    #[test]
    fn a_full_disk_is_said_and_no_half_file_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let full =
            "No space left on device (os error 28); free space there, or write to another disk";
        let large = "File too large (os error 27); raise the limit of `ulimit -f`, or write less";
        for (script, expected) in [
            (
                "$rooflut run >/dev/full",
                format!("to standard output: {full}"),
            ),
            (
                "$rooflut models --json >/dev/full",
                format!("to standard output: {full}"),
            ),
            (
                "$rooflut run --steps-out - >/dev/full",
                format!("to standard output: {full}"),
            ),
            (
                "$rooflut run --steps-out /dev/full",
                format!("/dev/full: {full}"),
            ),
            (
                "$rooflut run --perfetto /dev/full",
                format!("/dev/full: {full}"),
            ),
            (
                "ulimit -f 1; $rooflut run --steps-out big",
                format!("big: {large}"),
            ),
            (
                "ulimit -f 1; $rooflut run --perfetto big",
                format!("big: {large}"),
            ),
        ] {
            let output = shell(folder.path(), script);
            assert_eq!(output.status.code(), Some(2), "{script}");
            assert_eq!(text(output.stdout), "", "{script}");
            assert_eq!(
                text(output.stderr),
                format!("error: cannot write {expected}\n")
            );
            assert!(names(folder.path()).is_empty(), "{script}");
        }
    }

    /// Waits until a file of this start is in the folder.
    fn wait_for(folder: &Path, start: &str) {
        let began = Instant::now();
        while !names(folder).iter().any(|name| name.starts_with(start)) {
            assert!(began.elapsed() < Duration::from_secs(60), "no {start}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn signals_leave_no_temporary_file_and_end_with_their_number() {
        for (ignored, signals, code) in [
            ("", ["INT"].as_slice(), 130),
            ("", &["TERM"], 143),
            ("", &["HUP"], 129),
            // As under `nohup`.
            ("trap '' HUP;", &["HUP", "TERM"], 143),
        ] {
            // The binary knows only from Linux whether SIGHUP is ignored, as it is if the tests run under `nohup`.
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
            let last = mask.and_then(|mask| mask.chars().last()?.to_digit(16));
            if signals == ["HUP"] && last.is_none_or(|digit| digit % 2 == 1) {
                continue;
            }
            let folder = tempfile::tempdir().expect("a folder");
            let out = folder.path().join("out.csv");
            fs::write(&out, "").expect("a file");
            let script =
                format!("{ignored} exec $rooflut run --requests 10000000 --steps-out out.csv");
            let mut command = command(folder.path(), &script);
            let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
            wait_for(folder.path(), ".out.csv.rooflut-");
            for signal in signals {
                let kill = Command::new("kill")
                    .args([format!("-{signal}"), child.id().to_string()])
                    .status();
                assert!(kill.expect("kill starts").success());
            }
            assert_eq!(
                child.wait().expect("it ends").code(),
                Some(code),
                "{signals:?}"
            );
            assert_eq!(names(folder.path()), ["out.csv"]);
            assert_eq!(fs::read(&out).expect("a file"), b"");
        }
    }

    #[test]
    fn links_stay_and_lead_to_the_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("out.csv", &link).expect("a link");
        let run = format!("run --requests 2 --steps-out {}", link.display());
        assert!(failure(&run).contains("is a link to nothing"));
        fs::write(folder.path().join("out.csv"), "").expect("a file");
        success(&run);
        assert!(link.is_symlink());
        assert!(
            fs::read_to_string(link)
                .expect("a file")
                .starts_with("start_ms,")
        );
    }
}
