//! Disks that are full, lost or read-only: each output is named with the reason, and none is half-written.
#![cfg(target_os = "linux")] // where a test has disks of its own
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::support::disk::Disk;
use crate::support::{rooflut, success, workspace};

/// Outputs, and the commands that write them, with the files of [`Inputs`] as `IN/`.
pub(crate) const QUICK: &[(&str, &str)] = &[
    ("out.html", "step --decode 8x1000 --html out.html"),
    ("out.html", "compare IN/run.json IN/other.json --html out.html"),
    ("out.html", "report out.html IN/run.json"),
    ("out.csv", "sweep --merge IN/1.csv IN/2.csv --out out.csv"),
    ("out.parquet", "sweep --merge IN/1.parquet IN/2.parquet --out out.parquet"),
    ("out.toml", "observe IN/users-4.json IN/users-16.json --gpu h100 --out out.toml --force"),
    ("out.xml", "watch IN/mine.toml IN/users-16.json --gpu h100 --junit out.xml --force"),
];
/// Outputs of commands that take a while after they have opened them.
pub(crate) const LONG: &[(&str, &str)] = &[
    ("out.csv", "run --requests 60000 --requests-out out.csv"),
    ("out.csv", "run --requests 20000 --steps-out out.csv"),
    ("out.csv", "run --requests 60000 --windows auto --windows-out out.csv"),
    ("out.json", "run --requests 2000 --perfetto out.json"),
    ("out.html", "run --requests 6000 --html out.html"),
    ("out.html", "plan --rate 5 --goodput ttft:900 --requests 3000 --html out.html"),
    ("out.html", "saturate --goodput ttft:900 --requests 3000 --html out.html"),
    ("out.html", "sweep --requests 1000 --rate 1..30 --out IN/NEW.csv --html out.html"),
    ("out.csv", "sweep --requests 1000 --rate 1..40 --out out.csv"),
    ("out.parquet", "sweep --requests 1000 --rate 1..40 --out out.parquet"),
    ("out.toml", "calibrate IN/users-4.json --gpu h100 --engine vllm-0.11.0 --out out.toml"),
    ("out.toml", "calibrate IN/users-4.json --gpu h100 --engine vllm-0.11.0 --out /dev/null --scenario-out out.toml"),
    ("out.toml", "calibrate IN/users-4.json --gpu h100 --engine vllm-0.11.0 --next 1 --next-out out.toml"),
];

/// The files that commands read.
pub(crate) struct Inputs(TempDir);

impl Inputs {
    pub(crate) fn new() -> Inputs {
        let inputs = Inputs(tempfile::tempdir().expect("a folder"));
        for users in ["users-4.json", "users-16.json"] {
            let measured = workspace().join("examples/measured").join(users);
            fs::copy(measured, inputs.0.path().join(users)).expect("copied");
        }
        for (name, line) in [("run.json", "run --requests 600"), ("other.json", "run --requests 600 --tp 2")] {
            fs::write(inputs.0.path().join(name), success(&format!("{line} --json"))).expect("written");
        }
        success(&inputs.fill("calibrate IN/users-4.json --gpu h100 --engine vllm-0.11.0 --out IN/mine.toml"));
        for (format, shard) in [("csv", 1), ("csv", 2), ("parquet", 1), ("parquet", 2)] {
            let out = inputs.0.path().join(format!("{shard}.{format}"));
            success(&format!("sweep --requests 2 --rate 1..40 --shard {shard}/2 --out {}", out.display()));
        }
        inputs
    }

    /// Names the files of a command; `NEW` is one that is not there.
    fn fill(&self, line: &str) -> String {
        let number = fs::read_dir(self.0.path()).expect("a folder").count();
        line.replace("IN/", &format!("{}/", self.0.path().display())).replace("NEW", &number.to_string())
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = rooflut(&self.fill(line));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Returns what a command writes where nothing is wrong.
    pub(crate) fn whole(&self, name: &str, line: &str) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        let status = self.command(line).current_dir(folder.path()).status().expect("it starts");
        assert!(status.success(), "{line}");
        files(&folder.path().join(name))
    }
}

/// The files of an output by name; those of a folder are many, those of none are none.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn files(path: &Path) -> Files {
    let named = |path: &Path| {
        let name = path.file_name().expect("a name").display().to_string();
        (name, fs::read(path).expect("a file"))
    };
    match fs::read_dir(path) {
        Ok(folder) => folder.map(|entry| named(&entry.expect("an entry").path())).collect(),
        Err(_) if path.exists() => [named(path)].into(),
        Err(_) => Files::new(),
    }
}

/// Returns the first line of an output, by which it is known as one of its kind, and another one behind it.
pub(crate) fn earlier(whole: &Files) -> Option<Vec<u8>> {
    let bytes = whole.values().next().expect("an output");
    let first = bytes.split_inclusive(|byte| *byte == b'\n').next().expect("a line");
    Some([first, b"an earlier output\n"].concat())
}

/// Checks that a command has failed because of what is wrong with a disk, which its message and its output tell.
fn check(line: &str, name: &str, output: &Output, reason: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {message}");
    let last = message.trim_end().lines().last().unwrap_or_default();
    let names_it = ["", "cannot write "].iter().any(|start| last.starts_with(&format!("error: {start}{name}")));
    assert!(names_it && last.contains(reason), "{line}: {message}");
}

/// Whether a sweep writes this output row by row, so that `--resume` goes on.
pub(crate) fn is_resumed(line: &str) -> bool {
    line.starts_with("sweep") && !line.contains("--merge") && !line.contains("--html")
}

#[test]
#[ignore = "slow: outputs fill 20 disks"]
fn a_full_disk_is_named_and_nothing_on_it_is_half_written() {
    const FULL: &str = "No space left on device (os error 28); free space there, or write to another disk";
    let inputs = Inputs::new();
    for (name, line) in QUICK.iter().chain(LONG) {
        let whole = inputs.whole(name, line);
        let Some(disk) = Disk::small() else { return };
        let earlier = (!line.starts_with("sweep") || line.contains("--html")).then(|| earlier(&whole)).flatten();
        if let Some(earlier) = &earlier {
            fs::write(disk.path(name), earlier).expect("written");
        }
        // A page is free, which small outputs do not fill.
        let large = whole.values().map(Vec::len).sum::<usize>() > 4096;
        let used = 4096 * (usize::from(earlier.is_some()) + usize::from(large));
        fs::write(disk.path("fill"), vec![0; 65536 - used]).expect("written");
        let output = disk.inside(&inputs.command(line)).stderr(Stdio::piped()).output().expect("it starts");
        check(line, name, &output, FULL);
        if *name == "out.csv" && earlier.is_none() {
            let rows = fs::read(disk.path(name)).unwrap_or_default();
            assert!(rows.is_empty() || rows.ends_with(b"\n"), "{line}: half of a row");
        }
        if is_resumed(line) {
            fs::remove_file(disk.path("fill")).expect("removed");
            let resume = inputs.command(&format!("{line} --resume"));
            assert!(disk.inside(&resume).status().expect("it starts").success(), "{line}");
            assert!(files(&disk.path(name)) == whole, "{line}");
            continue;
        }
        let found = files(&disk.path("."));
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, if earlier.is_some() { vec!["fill", name] } else { vec!["fill"] }, "{line}");
        assert_eq!(found.get(*name), earlier.as_ref(), "{line}");
    }
}

/// Starts a command, and stops it once it has opened its output.
fn stopped(mut command: Command, is_open: impl Fn() -> bool) -> Child {
    let child = command.spawn().expect("it starts");
    while !is_open() {
        thread::yield_now();
    }
    signal("STOP", &child);
    child
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

fn signal(name: &str, child: &Child) {
    let status = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
    assert!(status.expect("kill starts").success());
}

/// Lets a stopped command go on to its end.
fn go_on(line: &str, mut child: Child) -> Output {
    assert!(child.try_wait().expect("a process").is_none(), "{line}: too fast");
    signal("CONT", &child);
    child.wait_with_output().expect("it ends")
}

#[test]
#[ignore = "slow: 13 commands lose their folder"]
fn a_folder_that_is_lost_is_named() {
    let inputs = Inputs::new();
    for (name, line) in LONG {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = inputs.command(line);
        command.current_dir(folder.path());
        let out = folder.path().join(name);
        let child = stopped(command, || out.exists() || (!is_resumed(line) && entries(folder.path()) > 0));
        fs::remove_dir_all(folder.path()).expect("removed");
        let output = go_on(line, child);
        let reason = if is_resumed(line) { "it was removed or replaced" } else { "No such file or directory" };
        check(line, name, &output, reason);
    }
}

#[test]
#[ignore = "slow: 13 disks fail"]
fn a_disk_that_fails_and_is_read_only_is_named() {
    const READ_ONLY: &str = "Read-only file system (os error 30)";
    let inputs = Inputs::new();
    for (name, line) in LONG {
        let whole = inputs.whole(name, line);
        let Some(disk) = Disk::failing() else { return };
        let earlier = (!is_resumed(line)).then(|| earlier(&whole)).flatten();
        if let Some(earlier) = &earlier {
            fs::write(disk.path(name), earlier).expect("written");
        }
        let mut command = disk.inside(&inputs.command(line));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = stopped(command, || entries(&disk.path(".")) > earlier.iter().len());
        fs::write(format!("/sys/fs/ext4/{}/trigger_fs_error", disk.printed), "1").expect("it fails");
        let output = go_on(line, child);
        check(line, name, &output, READ_ONLY);
        if let Some(earlier) = earlier {
            assert_eq!(fs::read(disk.path(name)).expect("a file"), earlier, "{line}");
        }
    }
}
