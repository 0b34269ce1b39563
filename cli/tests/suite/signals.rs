//! Signals leave no temporary file and no part of an answer. (What outputs replace and leave is on `tests/pages/outputs.md`.)
#![cfg(unix)]
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
    names.sort();
    names
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
        ("", &["QUIT"], 131),
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
        let script = format!("{ignored} exec $rooflut run --requests 10000000 --steps-out out.csv");
        let mut sh = Command::new("sh");
        sh.args(["-c", &script]).current_dir(folder.path());
        sh.env("rooflut", env!("CARGO_BIN_EXE_rooflut"));
        let mut child = sh.stdout(Stdio::null()).spawn().expect("it starts");
        wait_for(folder.path(), ".out.csv.rooflut-");
        for signal in signals {
            let mut kill = Command::new("kill");
            kill.args([format!("-{signal}"), child.id().to_string()]);
            assert!(kill.status().expect("kill starts").success());
        }
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(code), "{signals:?}");
        assert_eq!(names(folder.path()), ["out.csv"]);
        assert_eq!(fs::read(&out).expect("a file"), b"");
    }
}

/// Waits until a process catches SIGINT; false where the system does not tell.
fn catches_interrupts(process: u32) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else {
            return false;
        };
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // The second bit is that of signal 2, SIGINT.
        if mask.is_some_and(|mask| mask & 2 != 0) {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[test]
fn an_interrupt_ends_a_search_at_once_and_nothing_is_printed() {
    for search in ["plan --rate 500 --requests 1000000 --goodput ttft:500", "saturate --requests 1000000 --json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rooflut"));
        command.args(search.split(' ')).stdout(Stdio::piped());
        let child = command.spawn().expect("it starts");
        if !catches_interrupts(child.id()) {
            continue;
        }
        let mut kill = Command::new("kill");
        kill.args(["-INT".to_owned(), child.id().to_string()]);
        assert!(kill.status().expect("kill starts").success());
        let began = Instant::now();
        let output = child.wait_with_output().expect("it ends");
        assert!(began.elapsed() < Duration::from_secs(5), "{search}");
        assert_eq!(output.status.code(), Some(130), "{search}");
        assert_eq!(output.stdout, b"", "{search}");
    }
}
