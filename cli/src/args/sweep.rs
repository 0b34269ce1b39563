//! Arguments of `rooflut sweep`.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use clap::builder::{NonEmptyStringValueParser, ValueParser};
use clap::{ArgAction, ArgMatches, Args, FromArgMatches, ValueEnum};
use rooflut_scenario::{Scenario, whole};
use rooflut_sweep::{OF_ONE_RUN, Plot, Shard};

use crate::error::Error;
use crate::untrusted::UntrustedArgs;

/// Maximum number of deployments without `--max-points`.
const MAX_POINTS: u64 = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  rooflut sweep --gpu h100,h200 --tp 1,2 --rate 4..20:4 --requests 1000
  rooflut sweep --scenario examples/sweep.toml --shard 1/8";
const AFTER: &str = "\
Each flag of `rooflut run` takes comma-separated values and ranges FROM..TO:STEP: --gpu h100,h200 --tp 1,2,4 --rate \
1..40:2. A value that contains a comma stays whole (--prompt lognormal:200,0.8). A repeated flag takes all of its \
values. The last flag varies fastest. A deployment that cannot run becomes a row with an error.";

/// Arguments of `rooflut sweep`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct SweepArgs {
    /// TOML scenario file, optionally with lists in a table [sweep] (see examples/sweep.toml). Flags given here replace
    /// its keys.
    #[arg(id = "scenario", long = "scenario", value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) untrusted: UntrustedArgs,
    #[command(flatten)]
    pub(crate) lists: Lists,
    /// JSON Lines file with a deployment on each line, {"tp": 2, "rate": 4}, instead of all combinations; flags with one
    /// value hold for all of them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["merge", "untrusted"])]
    pub(crate) points: Option<PathBuf>,
    /// CSV file with a row for each deployment, or NAME.parquet for a folder of Parquet files [default: standard output].
    #[arg(long, value_name = "FILE", help_heading = "Sweep")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the file of an earlier sweep of the same grid.
    #[arg(long, requires = "out", conflicts_with = "merge", help_heading = "Sweep")]
    pub(crate) resume: bool,
    /// Run only the I-th of N parts of the grid.
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE, hide_default_value = true,
          conflicts_with = "merge", help_heading = "Sweep")]
    pub(crate) shard: Shard,
    /// Join the files (or folders) of all shards instead of running anything.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "out", help_heading = "Sweep")]
    pub(crate) merge: Vec<PathBuf>,
    /// Also draw column Y over column X as SVG, beside the CSV file, as in ttft_p99:rate (repeatable).
    #[arg(long, value_name = "Y:X", requires = "out", help_heading = "Sweep")]
    pub(crate) plot: Vec<Plot>,
    /// List the rows of the Pareto front of tokens/s per user over output tokens/s per GPU: no other row is as good in
    /// one and better in the other.
    #[arg(long, requires = "out", help_heading = "Sweep")]
    pub(crate) pareto: bool,
    /// Also write a report with charts of the rows: one HTML file that opens offline. An earlier report is replaced.
    #[arg(long, value_name = "FILE", requires = "out", help_heading = "Sweep")]
    pub(crate) html: Option<PathBuf>,
    /// Maximum number of deployments to run.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>, default_value_t = MAX_POINTS,
          help_heading = "Sweep")]
    pub(crate) max_points: u64,
    /// Threads that simulate [default: the CPUs that the process may use].
    #[arg(long, value_name = "COUNT", value_parser = threads, help_heading = "Sweep")]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Write the progress to standard error; a terminal shows a bar anyway.
    #[arg(long, help_heading = "Sweep")]
    pub(crate) progress: bool,
    /// Print what submits the sweep to a cluster instead of running it: a script or a manifest.
    #[arg(long, value_name = "CLUSTER", requires_all = ["out", "shards"],
          conflicts_with_all = ["merge", "shard", "resume", "untrusted"], help_heading = "Cluster")]
    pub(crate) submit: Option<Cluster>,
    /// Number of jobs of --submit, each of which runs a shard.
    #[arg(long, value_name = "COUNT", value_parser = shards, requires = "submit", help_heading = "Cluster")]
    pub(crate) shards: Option<NonZero<u64>>,
    /// Setting of the jobs: name, parallel; slurm: an option of sbatch, as partition=cpu or exclusive=; kubernetes: image,
    /// claim, memory, namespace, fs-group (repeatable).
    #[arg(long, value_name = "KEY=VALUE", value_parser = job, requires = "submit", help_heading = "Cluster")]
    pub(crate) job: Vec<(String, String)>,
    /// Submit the jobs, too.
    #[arg(long, requires = "submit", help_heading = "Cluster")]
    pub(crate) go: bool,
}

/// The system of a cluster that runs jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cluster {
    /// An array job, and a job that joins its shards
    Slurm,
    /// An Indexed Job
    Kubernetes,
}

impl SweepArgs {
    /// The threads, by default as many as the CPUs that the process may use.
    pub(crate) fn threads(&self) -> usize {
        let available = || thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(available, NonZero::get)
    }

    /// Returns the arguments that describe the grid.
    ///
    /// # Errors
    /// A path that is not Unicode.
    pub(crate) fn words(&self) -> Result<Vec<String>, Error> {
        let mut words = vec![format!("--max-points={}", self.max_points)];
        for (flag, path) in [("--scenario", &self.path), ("--points", &self.points)] {
            if let Some(path) = path {
                let expected = || Error::new(format!("{flag}: expected a path of Unicode; rename the file"));
                words.push(format!("{flag}={}", path.to_str().ok_or_else(expected)?));
            }
        }
        for (key, occurrences) in &self.lists.0 {
            let flag = format!("--{}", key.replace('_', "-"));
            for texts in occurrences {
                match texts.as_slice() {
                    [one] => words.push(format!("{flag}={one}")),
                    several => words.extend([&flag].into_iter().chain(several).cloned()),
                }
            }
        }
        Ok(words)
    }
}

/// Reads a number of threads.
fn threads(text: &str) -> Result<NonZero<usize>, &'static str> {
    whole(text).ok().and_then(NonZero::new).ok_or("expected a whole number from 1")
}

/// Reads a setting of a job.
fn job(text: &str) -> Result<(String, String), &'static str> {
    let is_key = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_lowercase()) && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let setting = text.split_once('=').filter(|(key, value)| is_key(key) && !value.chars().any(char::is_control));
    let (key, value) = setting.ok_or("expected KEY=VALUE, as in memory=4Gi")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Reads a number of shards.
fn shards(text: &str) -> Result<NonZero<u64>, &'static str> {
    let count = whole(text).ok().filter(|count| *count <= Shard::MOST).and_then(NonZero::new);
    count.ok_or("expected a whole number from 1 to 1_000_000")
}

/// Flags of a scenario that are given, in their order: the texts of each occurrence.
#[derive(Debug, Clone)]
pub(crate) struct Lists(pub(crate) Vec<(String, Vec<Vec<String>>)>);

/// Returns the flags of a scenario.
fn flags() -> Vec<clap::Arg> {
    let scenario = Scenario::augment_args(clap::Command::new("scenario"));
    let flags = scenario.get_arguments();
    let kept = flags.filter(|flag| !OF_ONE_RUN.contains(&flag.get_id().as_str()));
    kept.cloned().collect()
}

impl Args for Lists {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(flags().into_iter().map(|flag| {
            let parser = ValueParser::from(NonEmptyStringValueParser::new());
            flag.action(ArgAction::Append).value_parser(parser)
        }))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Lists::augment_args(command)
    }
}

impl FromArgMatches for Lists {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Lists, clap::Error> {
        let mut given = Vec::new();
        for flag in flags() {
            let key = flag.get_id().as_str();
            let first = matches.indices_of(key).and_then(|mut indices| indices.next());
            let occurrences = matches.get_occurrences::<String>(key);
            if let Some((first, occurrences)) = first.zip(occurrences) {
                let texts = occurrences.map(|texts| texts.cloned().collect()).collect();
                given.push((first, (key.to_owned(), texts)));
            }
        }
        given.sort_by_key(|(first, _)| *first);
        Ok(Lists(given.into_iter().map(|(_, list)| list).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Lists::from_arg_matches(matches)?;
        Ok(())
    }
}
