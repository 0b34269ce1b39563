//! Runs the binary within limits.
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use tempfile::TempDir;

/// MiB of memory for a small file, and for a large one.
const SMALL: u64 = 256;
pub(crate) const LARGE: u64 = 900;

/// A place for the files of a case.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.path(name), bytes).expect("a file");
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// Runs the binary in this folder and returns its answer, or its one line on standard error.
    ///
    /// # Errors
    /// A description of an end that is neither an answer nor a refusal.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Result<String, String>, String> {
        self.run_within(SMALL, 2, arguments)
    }

    /// Runs the binary with this many MiB of memory and seconds of a core, and a minute of the clock, as the machine
    /// may have more to do.
    ///
    /// # Errors
    /// As of [`run`](Place::run).
    pub(crate) fn run_within(
        &self,
        mib: u64,
        seconds: u64,
        arguments: &[&str],
    ) -> Result<Result<String, String>, String> {
        let limits = format!("ulimit -v {}; ulimit -t {seconds}; exec timeout 60 \"$0\" \"$@\"", mib << 10);
        let mut command = Command::new("sh");
        command.args(["-c", &limits, crate::PROGRAM]);
        command.args(arguments).current_dir(self.0.path());
        let output = command.stdin(Stdio::null()).output().expect("sh starts");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_one_line = stderr.ends_with('\n') && stderr.lines().count() == 1;
        match (output.status.code(), stderr.strip_prefix("error: ")) {
            (Some(0), None) => Ok(Ok(stdout.into_owned())),
            (Some(1..=4), Some(line)) if is_one_line => Ok(Err(line.trim_end().to_owned())),
            _ => Err(format!("{}, {stderr:?}", output.status)),
        }
    }

    /// Returns what is wrong with the way the binary ended, if it is not a refusal with advice.
    pub(crate) fn complaint(&self, arguments: &[&str]) -> Option<String> {
        match self.run(arguments) {
            Ok(Err(line)) if says_what_to_do(&line) => None,
            ended => Some(format!("{arguments:?}: {ended:?}, expected a refusal with advice")),
        }
    }
}

/// Returns whether a message ends with advice, or says what is expected.
pub(crate) fn says_what_to_do(line: &str) -> bool {
    line.contains("; ") || line.contains("expected ")
}

/// Checks cases on all cores; panics with all complaints.
pub(crate) fn check_all<C: Sync>(cases: &[C], check: impl Fn(&C) -> Option<String> + Sync) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let complaints = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for cases in cases.chunks(cases.len().div_ceil(cores).max(1)) {
            let (complaints, check) = (&complaints, &check);
            scope.spawn(move || {
                for complaint in cases.iter().filter_map(check) {
                    complaints.lock().expect("no panic").push(complaint);
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("no panic");
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), cases.len(), complaints.join("\n"));
}
