//! Processes that are killed leave what the next one goes on with, and nothing else under its name.
#![cfg(target_os = "linux")] // where a folder has a lock
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::disks::{Inputs, LONG, QUICK, earlier, files, is_resumed};
use crate::support::{failure, new_path, rooflut, success};

/// A grid that takes some time.
const GRID: &str = "sweep --requests 3 --tp 1,2 --rate 1..520";
/// A grid of six files of Parquet, which are written when they have a thousand rows.
const PARTS: &str = "sweep --requests 1 --tp 1,2 --rate 1..2600";

/// Files of a folder by name, or the one file.
fn contents(path: &str) -> BTreeMap<String, Vec<u8>> {
    let path = Path::new(path);
    let named =
        |path: &Path| (path.file_name().expect("a name").display().to_string(), fs::read(path).expect("a file"));
    if path.is_file() {
        return [("rows".to_owned(), fs::read(path).expect("a file"))].into();
    }
    fs::read_dir(path).expect("a folder").map(|entry| named(&entry.expect("an entry").path())).collect()
}

fn start(line: &str) -> Child {
    let mut command = rooflut(line);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Kills a process after some time, unless it has ended; returns whether it had.
fn kill(mut child: Child, after: Duration) -> bool {
    let until = Instant::now() + after;
    while Instant::now() < until {
        thread::yield_now();
    }
    let ended = child.try_wait().expect("a process").is_some_and(|status| status.success());
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    ended
}

/// Kills a sweep at so many moments of its first half, and lets it go on each time. Returns how often it went on behind rows.
fn killed_and_resumed(grid: &str, name: &str, kills: u32) -> u32 {
    let (folder, whole) = new_path(&format!("whole-{name}"));
    let out = folder.path().join(name).display().to_string();
    let began = Instant::now();
    success(&format!("{grid} --out {whole}"));
    let (lasts, whole) = (began.elapsed(), contents(&whole));
    let go_on = format!("{grid} --out {out} --resume");
    let has_rows = || Path::new(&out).exists() && contents(&out).values().any(|file| file.len() > 5_000);
    let (mut sweeps, mut resumed) = (0, 0);
    for number in 1..=kills {
        resumed += u32::from(has_rows());
        // Moments that are spread evenly, in no order.
        let moment = (0.618_034 * f64::from(number)).fract();
        if kill(start(&go_on), lasts.mul_f64(0.5 * moment)) {
            assert!(contents(&out) == whole, "after {number} of {kills}");
            let path = Path::new(&out);
            let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.expect("a file or folder");
            sweeps += 1;
        }
    }
    success(&go_on);
    assert!(contents(&out) == whole, "after {sweeps} whole ones");
    resumed
}

#[test]
fn a_killed_sweep_goes_on_to_the_same_bytes() {
    killed_and_resumed(GRID, "out.csv", 2);
    killed_and_resumed(PARTS, "out.parquet", 2);
}

#[test]
#[ignore = "slow: sweeps are killed at 100 moments"]
fn sweeps_killed_at_a_hundred_moments_go_on_to_the_same_bytes() {
    for (grid, name) in [(GRID, "out.csv"), (PARTS, "out.parquet")] {
        let resumed = killed_and_resumed(grid, name, 50);
        assert!(resumed > 10, "{name}: {resumed} of 50 went on behind rows");
    }
}

/// Makes what was there before a command: nothing, or an earlier output.
fn set(out: &Path, earlier: Option<&Vec<u8>>) {
    let removed = if out.is_dir() { fs::remove_dir_all(out) } else { fs::remove_file(out) };
    match earlier {
        Some(earlier) => fs::write(out, earlier).expect("a file"),
        None => assert!(removed.is_ok() || !out.exists()),
    }
}

#[test]
#[ignore = "slow: 17 commands are killed at three moments each"]
fn a_killed_command_leaves_what_was_there_and_is_begun_again_to_the_same_bytes() {
    const MOMENTS: [f64; 3] = [0.3, 0.6, 0.9];
    let inputs = Inputs::new();
    let mut killed = 0;
    // A report of a sweep names the file of its rows, which is a new one each time.
    let begun_again = |line: &str| !is_resumed(line) && !line.contains("IN/NEW");
    for (name, line) in QUICK.iter().chain(LONG).filter(|(_, line)| begun_again(line)) {
        let began = Instant::now();
        let whole = inputs.whole(name, line);
        let lasts = began.elapsed();
        let earlier = if line.starts_with("sweep") { None } else { earlier(&whole) };
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join(name);
        let start = || inputs.command(line).current_dir(folder.path()).spawn().expect("it starts");
        for moment in MOMENTS {
            set(&out, earlier.as_ref());
            let before = files(&out);
            let ended = kill(start(), lasts.mul_f64(moment));
            let found = files(&out);
            assert!(found == whole || (!ended && found == before), "{line}: {moment}");
            killed += u32::from(!ended);
        }
        set(&out, earlier.as_ref());
        assert!(start().wait().expect("it ends").success(), "{line}");
        assert!(files(&out) == whole, "{line}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "{line}: a temporary file is left");
    }
    assert!(killed > 25, "{killed}");
}

#[test]
fn a_killed_run_leaves_nothing_under_the_names_of_its_outputs() {
    let (folder, out) = new_path("out.csv");
    let perfetto = folder.path().join("out.json");
    let line = format!("run --requests 2000000 --steps-out {out} --perfetto {}", perfetto.display());
    for number in 1..=5 {
        assert!(!kill(start(&line), Duration::from_millis(60 * number)), "too fast");
        assert!(!Path::new(&out).exists() && !perfetto.exists());
    }
}

#[test]
fn a_second_sweep_of_a_folder_is_refused() {
    let (_folder, out) = new_path("out.parquet");
    success(&format!("{GRID} --out {out} --shard 1/520"));
    let lock = File::open(&out).expect("a folder");
    fs4::FileExt::lock(&lock).expect("a lock");
    let message = failure(&format!("{GRID} --out {out} --shard 1/520 --resume"));
    assert!(message.contains("out.parquet: another process writes to it; wait until it has ended"), "{message}");
    drop(lock);
    success(&format!("{GRID} --out {out} --shard 1/520 --resume"));
}

#[test]
fn a_second_writer_of_a_file_is_refused_until_the_first_has_ended() {
    let (folder, out) = new_path("out.csv");
    let child = start(&format!("run --requests 2000000 --steps-out {out}"));
    while fs::read_dir(folder.path()).expect("a folder").next().is_none() {
        thread::yield_now();
    }
    let second = format!("run --requests 2 --steps-out {out}");
    let message = failure(&second);
    assert!(message.contains("out.csv: another process writes to it; wait until it has ended"), "{message}");
    assert!(!kill(child, Duration::ZERO), "too fast");
    // The temporary file of the first is there, and has no lock: the second removes it, and no file of another name.
    let names = || {
        let entries = fs::read_dir(folder.path()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect::<BTreeSet<_>>()
    };
    let left = names();
    assert!(left.len() == 1 && left.iter().all(|name| name.starts_with(".out.csv.rooflut-")), "{left:?}");
    let others = [".out.csv.rooflut-of-mine.tmp", ".out.json.rooflut-abcdef.tmp"];
    for other in others {
        fs::write(folder.path().join(other), "").expect("a file");
    }
    success(&second);
    assert_eq!(names(), others.into_iter().chain(["out.csv"]).map(str::to_owned).collect());
}

#[test]
fn a_sweep_whose_folder_is_lost_says_so() {
    const SAID: &str = "it was removed or replaced while rows were written to it; run the sweep again\n";
    // In place of the last one, another program makes a folder, which stays empty.
    for (name, is_replaced) in [("out.csv", false), ("out.parquet", false), ("out.parquet", true)] {
        let (folder, out) = new_path(name);
        let child = start(&format!("sweep --requests 2000 --tp 1,2 --rate 1..60 --out {out}"));
        while !Path::new(&out).exists() {
            thread::yield_now();
        }
        // A file is whole at any time, so it may appear while the folder is removed.
        while fs::remove_dir_all(folder.path()).is_err() {}
        if is_replaced {
            fs::create_dir_all(&out).expect("a folder");
        }
        let output = child.wait_with_output().expect("it ends");
        let message = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.ends_with(&format!("{name}: {SAID}")), "{message}");
        assert!(files(Path::new(&out)).is_empty());
    }
}
