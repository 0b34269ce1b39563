//! `rooflut sweep --submit`: the sweep as jobs of a cluster.

mod kubernetes;
mod settings;
mod slurm;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rooflut_scenario::shell_quoted;
use rooflut_sweep::Sweep;

use crate::args::{Cluster, SweepArgs};
use crate::destination::is_stdout;
use crate::error::Error;
use crate::output::plural;
use crate::version::version;

use super::shared_files;
use settings::Settings;

/// Exit code of a job that fails whenever it is started again; codes of `rooflut` are less. The value is EX_CONFIG of
/// sysexits.h.
const REFUSED: i32 = 78;

/// Returns what submits the sweep: a script or a manifest. With `--go` submits it, and returns the cluster's answer.
pub(super) fn run(args: &SweepArgs, sweep: &Sweep<'_>) -> Result<String, Error> {
    let jobs = Jobs::try_new(args, sweep)?;
    let settings = Settings::try_new(&args.job)?;
    let (text, program) = match args.submit {
        Some(Cluster::Kubernetes) => {
            (kubernetes::manifest(&jobs, settings)?, ["kubectl", "create", "-f", "-"].as_slice())
        }
        _ => (slurm::script(&jobs, settings)?, ["bash", "-s"].as_slice()),
    };
    if args.go { submit(&text, program) } else { Ok(text) }
}

/// Passes a text to a program, and returns what that prints.
fn submit(text: &str, program: &[&str]) -> Result<String, Error> {
    let [name, arguments @ ..] = program else {
        return Ok(String::new());
    };
    let failed = |error| Error::new(format!("--go: cannot run {name}: {error}; install it, or leave --go out"));
    let mut command = Command::new(name);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A program that ends early says why, and its status is that of a failure.
        let _ = input.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(answer);
    }
    Err(Error::new(format!(
        "--go: {name} ended with {}; its messages are above, and the same command without --go shows what it was given",
        output.status
    )))
}

/// The jobs of a sweep: a shard each, and one that joins them. Their commands are those of a POSIX shell.
struct Jobs {
    /// The words of `rooflut sweep` that all shards share, quoted.
    sweep: String,
    /// Flags of the joining job, quoted.
    pictures: String,
    points: u64,
    shards: u64,
    threads: usize,
    out: String,
    /// The folder of the shards.
    folder: String,
    /// `csv` or `parquet`.
    extension: &'static str,
    /// The files that the jobs read, with the keys that name them.
    files: Vec<(&'static str, PathBuf)>,
}

impl Jobs {
    fn try_new(args: &SweepArgs, sweep: &Sweep<'_>) -> Result<Jobs, Error> {
        let points = sweep.grid().len();
        // clap requires both.
        let shards = args.shards.map_or(1, u64::from);
        let out = args.out.as_deref().unwrap_or(Path::new("-"));
        if shards > points {
            return Err(Error::new(format!(
                "--shards: expected at most {points}, the deployments of the grid, found {shards}; ask for fewer"
            )));
        }
        if is_stdout(out) {
            return Err(Error::new("--out: expected a file or NAME.parquet, found standard output; name one"));
        }
        let is_parquet = super::out::is_parquet(out);
        #[cfg(not(feature = "parquet"))]
        if is_parquet {
            return Err(super::out::no_parquet());
        }
        let files = shared_files(args, sweep)?.into_iter().map(|(name, path)| (name, path.to_owned())).collect();
        let threads = args.threads.map_or(1, usize::from);
        let out = text(out)?;
        let mut words = args.words()?;
        words.push(format!("--threads={threads}"));
        let plots = args.plot.iter().map(|plot| format!("--plot={}:{}", plot.y, plot.x));
        let html = args.html.as_deref().map(|path| text(path).map(|path| format!("--html={path}")));
        let pareto = args.pareto.then(|| "--pareto".to_owned());
        let pictures = plots.map(Ok).chain(html).chain(pareto.map(Ok)).collect::<Result<Vec<String>, Error>>()?;
        if let Some(word) = words.iter().find(|word| word.chars().any(char::is_control)) {
            return Err(Error::new(format!(
                "--submit: expected arguments without line breaks, found {word:?}; change it"
            )));
        }
        Ok(Jobs {
            sweep: quoted(&words),
            pictures: quoted(&pictures),
            points,
            shards,
            threads,
            folder: format!("{out}.{shards}-shards"),
            out,
            extension: if is_parquet { "parquet" } else { "csv" },
            files,
        })
    }

    /// Returns the lines that refuse another build of rooflut.
    fn check_version(&self) -> String {
        let expected = shell_quoted(&format!("rooflut {}", version()));
        format!(
            "expected={expected}\nfound=$(rooflut --version)\nif [ \"$found\" != \"$expected\" ]; then\n  \
             echo \"error: expected $expected, as the submitter has, found $found; install the same build\" >&2\n  \
             exit {REFUSED}\nfi\n"
        )
    }

    /// `240_000 deployments in 64 shards`.
    fn summary(&self) -> String {
        format!("{} in {}", plural(self.points, "deployment"), plural(self.shards, "shard"))
    }

    /// Returns the line that simulates the shard of the number in the variable `n`, from 1.
    fn simulate(&self) -> String {
        let Jobs { sweep, shards, folder, extension, .. } = self;
        let folder = shell_quoted(folder);
        format!("rooflut sweep{sweep} --shard=\"$n/{shards}\" --out={folder}/\"$n.{extension}\" --resume\n")
    }

    /// Returns the command that joins the shards.
    fn join(&self) -> String {
        let Jobs { pictures, folder, extension, out, .. } = self;
        format!("rooflut sweep --merge {}/*.{extension} --out={}{pictures}", shell_quoted(folder), shell_quoted(out))
    }
}

/// Returns a path as text. A leading dash would make a flag of it.
fn text(path: &Path) -> Result<String, Error> {
    let found = path.display().to_string();
    match path.to_str().filter(|text| !text.chars().any(char::is_control)) {
        Some(text) if text.starts_with('-') => Ok(format!("./{text}")),
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::new(format!("--submit: expected a path of printable Unicode, found {found:?}; rename it"))),
    }
}

/// Returns words for a shell, each with a space before it.
fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!(" {}", shell_quoted(word))).collect()
}
