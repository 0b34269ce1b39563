//! Arguments of `rooflut run`.

use std::path::{Path, PathBuf};

use clap::Args;
use rooflut_error::{Whole, no_effect};
use rooflut_scenario::{Scenario, ScenarioFile};

use crate::destination::is_stdout;
use crate::error::Error;
use crate::html::HtmlArgs;
use crate::input;
use crate::untrusted::UntrustedArgs;
use crate::vllm::{Merged, VllmArgs};

const EXAMPLES: &str = "\
Examples:
  rooflut run --model llama-3.3-70b --tp 4 --rate 3 --prompt 1000 --output 300
  rooflut run --users 32 --prompt lognormal:500,0.8 --output lognormal:200,0.8
  rooflut run --vllm 'vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --kv-cache-dtype fp8' --rate 3
  rooflut run --scenario examples/scenario.toml --json";
const AFTER: &str = "\
The FILE of an output may be a pipe. With -, the output goes to standard output and the report to standard error.

LENGTHS are 512, uniform:100..900, normal:512,100 (mean, standard deviation), lognormal:512,0.6 \
(median, sigma) or file:lengths.txt (LENGTH or LENGTH,WEIGHT on each line); the last three may end with a range that \
clamps the lengths, as in lognormal:512,0.6@16..4096.";

/// Arguments of `rooflut run`.
#[derive(Args, Default)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct RunArgs {
    /// TOML scenario file, with a key for every flag but --force, --html and --untrusted (see examples/scenario.toml). Flags given
    /// here replace its keys.
    #[arg(id = "scenario", long = "scenario", value_name = "FILE")]
    path: Option<PathBuf>,
    #[command(flatten)]
    untrusted: UntrustedArgs,
    #[command(flatten)]
    vllm: VllmArgs,
    /// The scenario: the keys of its file, replaced by flags.
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
    /// Replace existing files even if they are not earlier outputs of the same kind. Files that the run reads are never
    /// replaced.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// The file of the scenario.
    #[arg(skip)]
    pub(crate) file: Option<FromFile>,
    /// The settings of a vLLM command, replaced by flags.
    #[arg(skip)]
    pub(crate) from_vllm: Option<Merged>,
    /// Whether `rooflut` was called without arguments.
    #[arg(skip)]
    pub(crate) is_default: bool,
}

/// A scenario file, without the keys that flags replace.
pub(crate) struct FromFile {
    pub(crate) path: PathBuf,
    file: ScenarioFile,
    /// The keys that flags replace, in the order of the file.
    pub(crate) replaced: Vec<&'static str>,
}

impl RunArgs {
    /// The arguments of `rooflut` alone.
    pub(super) fn defaults() -> RunArgs {
        RunArgs { is_default: true, ..RunArgs::default() }
    }

    /// Returns the arguments that a scenario stands for.
    pub(crate) fn of_scenario(scenario: Scenario) -> RunArgs {
        RunArgs { scenario, ..RunArgs::default() }
    }

    /// Returns the scenario of a file, without its output: what it would write is left out.
    pub(crate) fn of_file(path: &Path, file: ScenarioFile, untrusted: UntrustedArgs) -> Result<RunArgs, Error> {
        untrusted.check_file(path, &file)?;
        let mut args = RunArgs {
            scenario: file.scenario().clone(),
            file: Some(FromFile { path: path.to_owned(), file, replaced: Vec::new() }),
            ..RunArgs::default()
        };
        let output = std::mem::take(&mut args.scenario.output);
        args.scenario.output.goodput = output.goodput;
        args.scenario.output.prices = output.prices;
        args.scenario.output.price = output.price;
        args.scenario.output.strict = output.strict;
        args.scenario.workload.seeds = None;
        let checked = args.scenario.check();
        checked.map_err(|error| args.place(error.into()))?;
        Ok(args)
    }

    /// Reads the scenario file and the vLLM command, if they are given, and checks the scenario.
    pub(super) fn merge(mut self) -> Result<RunArgs, Error> {
        let in_file = |error: rooflut_scenario::Error, path: &Path| Error::of(error.kind(), error.in_file(path));
        let mut file = None;
        if let Some(path) = self.path.clone() {
            let bytes = input::read(&path, Whole::Scenario).map_err(Error::reading(&path))?;
            let read = ScenarioFile::read(&bytes).map_err(|error| in_file(error, &path))?;
            // Before a vLLM command, which may open the engine of the file.
            let mut own = read.clone();
            own.remove_replaced(&self.scenario).map_err(|error| in_file(error, &path))?;
            self.untrusted.check_file(&path, &own)?;
            file = Some((path, read));
        }
        let below = file.as_ref().map(|(_, file)| &file.scenario().target);
        self.from_vllm = self.vllm.under(&self.scenario, below)?;
        if let Some(merged) = &self.from_vllm {
            self.scenario = merged.scenario.clone();
        }
        if let Some((path, mut file)) = file {
            let replaced = file.remove_replaced(&self.scenario).map_err(|error| in_file(error, &path))?;
            self.scenario = file.scenario().clone().overlaid(&self.scenario)?.0;
            self.file = Some(FromFile { path, file, replaced });
        }
        let untrusted = self.untrusted.check_use(self.path.as_deref());
        let checked = untrusted.and_then(|()| self.scenario.check()).and_then(|()| self.check_force());
        checked.map_err(|error| self.place(error.into()))?;
        Ok(self)
    }

    /// Refuses `--force` where no file is written.
    fn check_force(&self) -> Result<(), rooflut_scenario::Error> {
        let mut files = self.scenario.output.paths().map(|(_, path)| path).chain(self.html.html.as_deref());
        if self.force && files.all(is_stdout) { Err(no_effect("force", "no file is written")) } else { Ok(()) }
    }

    /// Returns the scenario file as a report names it.
    pub(crate) fn scenario_file(&self) -> Option<rooflut_report::ScenarioFile> {
        let file = self.file.as_ref()?;
        Some(rooflut_report::ScenarioFile {
            path: file.path.display().to_string(),
            replaced: file.replaced.iter().map(|key| (*key).to_owned()).collect(),
        })
    }

    /// Adds the line of the scenario file to an error on one of its keys.
    pub(crate) fn place(&self, error: Error) -> Error {
        let keys = error.keys();
        let file = self.file.as_ref();
        let line = file.and_then(|file| keys.iter().find_map(|key| file.file.line(key)));
        match (file.zip(line), &self.from_vllm) {
            (Some((FromFile { path, .. }, line)), _) => error.placed(path, line),
            (None, Some(merged)) => merged.place(error),
            (None, None) => error,
        }
    }
}
