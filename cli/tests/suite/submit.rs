//! `rooflut sweep --submit`: scripts and manifests, which run here as a cluster would run them. A real Slurm does so in
//! `tests/slurm/check.sh`; the collector's tests compare its manifests with those in `cli/tests/submit`.
#![cfg(unix)]
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::PROGRAM;
use crate::support::{failure, list, text, with_program, workspace};

/// Rows with an error, and values that a shell would take apart.
const GRID: [&str; 5] = ["--gpu=h100,h200", "--tp=1,3", "--rate=2..6", "--prompt=lognormal:200,0.8", "--requests=20"];
const KUBERNETES: [&str; 8] = [
    "--submit=kubernetes",
    "--shards=3",
    "--job=image=example/rooflut:1",
    "--job=claim=results",
    "--job=memory=4Gi",
    "--job=namespace=bench",
    "--job=fs-group=65532",
    "--job=parallel=2",
];
/// A path with what a shell replaces.
const OUT: &str = "it's $HOME 100 %.csv";

/// A folder of a test, with programs that its commands find.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        fs::create_dir(folder.at("bin")).expect("a folder");
        symlink(PROGRAM, folder.at("bin/rooflut")).expect("a link");
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).expect(name)
    }

    /// Adds a program: a script of a POSIX shell.
    fn add_program(&self, name: &str, script: &str) {
        let path = self.at("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nset -eu\n{script}")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env("PATH", with_program(&self.at("bin")));
        command
    }

    fn sweep(&self, arguments: &[&str]) -> Output {
        self.command("rooflut").arg("sweep").args(GRID).args(arguments).output().expect("the binary starts")
    }

    /// Standard output of a sweep.
    fn answer(&self, arguments: &[&str]) -> String {
        let output = self.sweep(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Starts the script of a pod.
    fn pod(&self, script: &str, index: u64) -> Child {
        let mut command = self.command("/bin/sh");
        command.args(["-c", script]).env("JOB_COMPLETION_INDEX", index.to_string()).stderr(Stdio::piped());
        command.stdout(Stdio::null()).spawn().expect("a shell")
    }

    /// Checks the rows of the shards against those of one run.
    fn check_rows(&self, out: &str) {
        self.answer(&["--out=one.csv"]);
        assert!(self.read(out) == self.read("one.csv"), "the rows of {out} are not those of one run");
        fs::remove_file(self.at("one.csv")).expect("a file");
    }
}

/// Compares a text, without the version of the build, with a file of `cli/tests/submit`.
fn compare(text: &str, name: &str) {
    let version = Command::new(PROGRAM).arg("--version").output().expect("the binary starts").stdout;
    let version = String::from_utf8(version).expect("UTF-8");
    let text = text.replace(version.trim_end(), "rooflut VERSION");
    let path = workspace().join("cli/tests/submit").join(name);
    if std::env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
        fs::write(&path, &text).expect("a file");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == found, "{}: ROOFLUT_ACCEPT=1 writes what is submitted:\n{text}", path.display());
}

/// Returns the script of a pod, as Kubernetes passes it on.
fn script(manifest: &str) -> String {
    let job: Value = serde_norway::from_str(manifest).expect("YAML");
    let containers = list(&job, "/spec/template/spec/containers");
    text(containers.first().expect("a container"), "/command/2").replace("$$", "$")
}

#[test]
fn pods_of_kubernetes_write_the_rows_of_one_run() {
    let folder = Folder::new();
    let out = format!("--out={OUT}");
    let arguments: Vec<&str> = KUBERNETES.into_iter().chain([out.as_str()]).collect();
    let manifest = folder.answer(&arguments);
    compare(&manifest, "kubernetes.yaml");
    let script = script(&manifest);
    let pods: Vec<Child> = (0..3).map(|index| folder.pod(&script, index)).collect();
    for pod in pods {
        let output = pod.wait_with_output().expect("a pod");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    folder.check_rows(OUT);
    // A pod whose end was lost starts again.
    assert!(folder.pod(&script, 1).wait().expect("a pod").success());
    folder.check_rows(OUT);
}

#[test]
fn a_pod_that_dies_while_it_joins_starts_again_and_joins() {
    let folder = Folder::new();
    let arguments: Vec<&str> = KUBERNETES.into_iter().chain(["--out=sweep.csv"]).collect();
    let script = script(&folder.answer(&arguments));
    // The first program that joins kills its pod, as a node does that fails.
    fs::remove_file(folder.at("bin/rooflut")).expect("a link");
    folder.add_program(
        "rooflut",
        &format!(
            "case \"$*\" in *--merge*) if mkdir died 2>/dev/null; then kill -9 $PPID; exit 1; fi ;; esac\nexec '{PROGRAM}' \
             \"$@\"\n"
        ),
    );
    let ended: Vec<bool> = (0..3).map(|index| folder.pod(&script, index).wait().expect("a pod").success()).collect();
    assert_eq!(ended, [true, true, false]);
    assert!(!folder.at("sweep.csv").exists());
    assert!(folder.pod(&script, 2).wait().expect("a pod").success());
    folder.check_rows("sweep.csv");
}

#[test]
fn pods_refuse_other_builds_and_replace_nothing() {
    let folder = Folder::new();
    let arguments: Vec<&str> = KUBERNETES.into_iter().chain(["--out=sweep.csv"]).collect();
    let script = script(&folder.answer(&arguments));
    let refused = |script: &str| {
        let output = folder.pod(script, 0).wait_with_output().expect("a pod");
        // The Job fails at once.
        assert_eq!(output.status.code(), Some(78));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    fs::write(folder.at("sweep.csv"), "mine").expect("a file");
    assert_eq!(refused(&script), "error: sweep.csv already exists; name another path\n");
    assert_eq!(folder.read("sweep.csv"), "mine");
    let other = script.replace("data ", "data 0");
    assert!(refused(&other).contains("as the submitter has, found rooflut "));
}

#[test]
fn go_passes_the_manifest_to_kubectl() {
    let folder = Folder::new();
    let arguments: Vec<&str> = KUBERNETES.into_iter().chain(["--out=sweep.csv"]).collect();
    let manifest = folder.answer(&arguments);
    let go: Vec<&str> = arguments.into_iter().chain(["--go"]).collect();
    folder.add_program("kubectl", "echo \"$*\" >said\ncat >given\necho job.batch/rooflut-sweep created\n");
    assert_eq!(folder.answer(&go), "job.batch/rooflut-sweep created\n");
    assert_eq!((folder.read("said"), folder.read("given")), ("create -f -\n".to_owned(), manifest));
    folder.add_program("kubectl", "exit 3\n");
    let output = folder.sweep(&go);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("kubectl ended with exit status: 3"));
}

#[test]
fn tasks_of_slurm_write_the_rows_of_one_run() {
    let folder = Folder::new();
    let out = format!("--out={OUT}");
    let arguments = [
        "--submit=slurm",
        "--shards=3",
        "--threads=2",
        "--job=partition=cpu",
        "--job=comment=it's",
        "--job=exclusive=",
        &out,
    ];
    let script = folder.answer(&arguments);
    compare(&script, "slurm.sh");
    // Jobs run as soon as they are submitted.
    folder.add_program("scontrol", "echo 'MaxArraySize            = 4'\n");
    folder.add_program(
        "sbatch",
        "for option; do echo \"$option\" >>options; done\ncat >job\n\
         for n in 1 2 3; do grep -q ARRAY job || n=; SLURM_ARRAY_TASK_ID=$n bash job >>log; [ \"$n\" ] || break; done\n\
         echo '17;cluster'\n",
    );
    let go: Vec<&str> = arguments.into_iter().chain(["--go"]).collect();
    assert_eq!(folder.answer(&go), format!("array job 17, then job 17, which writes {OUT}\n"));
    folder.check_rows(OUT);
    let options = folder.read("options");
    for option in
        ["--array=1-3%3", "--requeue", "--cpus-per-task=2", "--partition=cpu", "--comment=it's", "--exclusive"]
    {
        assert!(options.lines().any(|line| line == option), "{option} is not in\n{options}");
    }
    let logs = format!("--output={}.3-shards/%a.log", OUT.replace('%', "%%"));
    assert!(options.contains(&logs) && options.contains("--dependency=afterok:17\n"), "{options}");
    // Neither is replaced, nor is an array larger than the cluster's.
    let refused = |arguments: &[&str], message: &str| {
        let output = folder.sweep(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(message), "{stderr}");
    };
    refused(&go, &format!("{OUT} already exists"));
    refused(
        &["--submit=slurm", "--shards=4", "--out=new.csv", "--go"],
        "fewer than 4 shards (--shards), the MaxArraySize",
    );
    assert!(!Path::new(&folder.at("new.csv.4-shards")).exists());
}

#[test]
fn what_cannot_be_submitted_is_refused() {
    for (arguments, message) in [
        ("--submit kubernetes --shards 2", "expected --job image=IMAGE"),
        ("--submit slurm --shards 3", "--shards: expected at most 2, the deployments of the grid, found 3"),
        ("--submit slurm --shards 1000001", "expected a whole number from 1 to 1_000_000"),
        (
            "--seed 1..50001 --submit kubernetes --shards 100001 --job image=a --job claim=b --job memory=1Gi",
            "--shards: expected at most 100000 for a Job, found 100001",
        ),
        ("--submit slurm --shards 2 --job array=1-9", "--job array: the script sets this option of sbatch itself"),
        ("--submit slurm --shards 2 --job parallel=0", "--job parallel: expected a whole number from 1, found \"0\""),
        ("--submit slurm --shards 2 --job Mem=4", "expected KEY=VALUE, as in memory=4Gi"),
        ("--submit slurm --shards 2 --job mem=4 --job mem=5", "--job mem: expected once, found twice"),
    ] {
        let message_found = failure(&format!("sweep --rate 1,2 --requests 9 --out new.csv {arguments}"));
        assert!(message_found.contains(message), "{arguments}: {message_found}");
    }
    let needed = ["image=a", "claim=b", "memory=1Gi"];
    for (more, message) in [
        (
            "--out new.csv --prompt file:cli/../examples/lengths.txt",
            "--prompt: expected a path inside the volume, as sweep.csv, found cli/../examples/lengths.txt",
        ),
        ("--out /sweep.csv", "--out: expected a path inside the volume"),
        ("--out a/../../sweep.csv", "--out: expected a path inside the volume"),
        ("--out - ", "--out: expected a file or NAME.parquet, found standard output"),
        ("--out new.csv --job name=A", "--job name: expected at most 47 lower-case letters"),
        ("--out new.csv --job partition=cpu", "found \"partition\"; correct it"),
        (
            "--out new.csv --job memory=4",
            "--job memory: expected a size with its unit, as in 4Gi, found \"4\"; correct it",
        ),
        ("--out new.csv --job memory=4Q", "found \"4Q\""),
        ("--out new.csv --job memory=0.0Gi", "found \"0.0Gi\""),
        ("--out new.csv --job claim=C_d", "--job claim: expected the name of a volume claim, found \"C_d\""),
        ("--out new.csv --job namespace=a.b", "--job namespace: expected the name of a namespace, found \"a.b\""),
        ("--out new.csv --job fs-group=me", "--job fs-group: expected a number, found \"me\""),
    ] {
        let is_given = |setting: &str| more.contains(setting.split_once('=').expect("a value").0);
        let others = needed.into_iter().filter(|setting| !is_given(setting));
        let others: String = others.map(|setting| format!(" --job {setting}")).collect();
        let found = failure(&format!("sweep --rate 1,2 --requests 9 --submit kubernetes --shards 2{others} {more}"));
        assert!(found.contains(message), "{more}: {found}");
    }
}
