//! Outputs that several processes write, or other programs make meanwhile: none is mixed, and none is replaced.
#![cfg(target_os = "linux")] // where a folder has a lock
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use crate::disks::files;
use crate::support::{failure, new_path, rooflut, success};

const IN_USE: &str = "another process writes to it; wait until it has ended, or name another path";
const GRID: &str = "sweep --requests 2 --rate 1,2";

/// A command that has opened its output, and waits for the reader of its report.
struct Waiting {
    child: Child,
    report: File,
}

impl Waiting {
    /// Starts a command and waits until it has opened its output in this folder.
    fn start(line: &str, folder: &Path) -> Waiting {
        let report = folder.join("report");
        assert!(Command::new("mkfifo").arg(&report).status().expect("it starts").success());
        let mut command = rooflut(&format!("{line} --html {}", report.display()));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let report = File::open(&report).expect("a pipe");
        while !names(folder).iter().any(|name| name.starts_with(".out.")) {
            thread::yield_now();
        }
        Waiting { child, report }
    }

    /// Lets the command go on to its end.
    fn end(mut self) -> Output {
        self.report.read_to_end(&mut Vec::new()).expect("a report");
        self.child.wait_with_output().expect("it ends")
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect();
    names.sort();
    names
}

#[test]
fn a_sweep_and_a_join_of_the_same_output_refuse_each_other() {
    for name in ["out.csv", "out.parquet"] {
        let (folder, out) = new_path(name);
        let shard = folder.path().join(format!("shard-{name}")).display().to_string();
        success(&format!("{GRID} --out {shard}"));
        let join = format!("sweep --merge {shard} --out {out}");
        let waiting = Waiting::start(&join, folder.path());
        for second in [&format!("{GRID} --out {out}"), &format!("{GRID} --out {out} --resume"), &join] {
            let message = failure(second);
            assert!(message.contains(name) && message.contains(IN_USE), "{second}: {message}");
        }
        let output = waiting.end();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(names(folder.path()), [name, "report", &format!("shard-{name}")]);
        // Files of a folder have the same names; a file has its own.
        let rows = |path: &str| files(Path::new(path)).into_values().collect::<Vec<_>>();
        assert!(rows(&out) == rows(&shard));

        // As a sweep has it while it writes.
        let lock = File::open(&out).expect("an output");
        fs4::FileExt::lock(&lock).expect("a lock");
        let message = failure(&join);
        assert!(message.contains("already exists; name another path"), "{message}");
        let message = failure(&format!("{GRID} --out {out} --resume"));
        assert!(message.contains(IN_USE), "{message}");
        drop(lock);
        success(&format!("{GRID} --out {out} --resume"));
    }
}

#[test]
fn a_file_that_a_sweep_writes_is_not_replaced() {
    let (folder, out) = new_path("out.csv");
    success(&format!("{GRID} --out {out}"));
    let rows = fs::read(&out).expect("rows");
    let link = folder.path().join("link.csv");
    std::os::unix::fs::symlink(&out, &link).expect("a link");
    let lock = File::open(&out).expect("a file");
    fs4::FileExt::lock(&lock).expect("a lock");
    for out in [Path::new(&out), &link] {
        let message = failure(&format!("run --requests 2 --requests-out {} --force", out.display()));
        assert!(message.contains(IN_USE), "{message}");
    }
    assert_eq!(names(folder.path()), ["link.csv", "out.csv"]);
    assert!(fs::read(&out).expect("rows") == rows);
    drop(lock);
    success(&format!("run --requests 2 --requests-out {out} --force"));
}

#[test]
fn what_other_programs_make_while_an_output_is_written_stays() {
    const MADE: &str = "another program made it while it was written; remove it or name another path";
    let (shards, csv) = new_path("shard.csv");
    let parquet = shards.path().join("shard.parquet").display().to_string();
    success(&format!("{GRID} --out {csv}"));
    success(&format!("{GRID} --out {parquet}"));
    for (name, line) in [
        ("out.csv", format!("sweep --merge {csv} --out")),
        ("out.parquet", format!("sweep --merge {parquet} --out")),
        ("out.csv", "run --requests 2 --requests-out".to_owned()),
    ] {
        let (folder, out) = new_path(name);
        let waiting = Waiting::start(&format!("{line} {out}"), folder.path());
        // An empty folder, too: the move of a folder would replace it.
        let made = if name == "out.parquet" { fs::create_dir(&out) } else { fs::write(&out, "mine") };
        made.expect("an output of another program");
        let output = waiting.end();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(name) && message.contains(MADE), "{message}");
        assert_eq!(names(folder.path()), [name, "report"]);
        let kept: Vec<_> = files(Path::new(&out)).into_values().collect();
        assert_eq!(kept, if name == "out.parquet" { vec![] } else { vec![b"mine".to_vec()] });
    }
    let (folder, out) = new_path("out.csv");
    let waiting = Waiting::start(&format!("run --requests 2 --force --requests-out {out}"), folder.path());
    fs::write(&out, "mine").expect("a file");
    assert!(waiting.end().status.success());
    assert!(fs::read(&out).expect("a file") != b"mine");
}

#[test]
fn a_joined_folder_has_the_mode_of_others() {
    let (folder, out) = new_path("out.parquet");
    let (shard, other) = (folder.path().join("shard.parquet"), folder.path().join("other"));
    success(&format!("{GRID} --out {}", shard.display()));
    success(&format!("sweep --merge {} --out {out}", shard.display()));
    fs::create_dir(&other).expect("a folder");
    let mode = |path: &Path| fs::metadata(path).expect("a folder").permissions();
    assert_eq!([mode(Path::new(&out)), mode(&shard)], [mode(&other), mode(&other)]);
}
