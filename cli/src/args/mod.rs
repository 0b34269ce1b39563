//! The arguments.

mod disaggregation;
mod import;
mod leading;
mod lookup;
mod policy;
mod rules;
mod run;
mod scenario;
mod speculation;
mod step;
mod tables;
mod validate;
mod workload;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;

pub(crate) use disaggregation::DisaggregationArgs;
pub(crate) use import::{ImportArgs, ImportFrom, SetArgs};
pub(crate) use lookup::{AttentionArgs, Kernel, LookupArgs};
pub(crate) use policy::PolicyArgs;
pub(crate) use run::{RunArgs, ServerArgs};
pub(crate) use speculation::{DraftModel, SpeculationArgs};
pub(crate) use step::{LatencyModelName, StepArgs};
pub(crate) use tables::{CheckArgs, PlotArgs, ScoreArgs, TablesArgs, TablesCommand};
pub(crate) use validate::ValidateArgs;
pub(crate) use workload::{Arrival, TraceArgs, WorkloadArgs};

use crate::error::Error;
use crate::table_set::WhichSet;
use crate::value;

/// The model where none is named.
const MODEL: &str = "llama-3.1-8b";
/// The table set where none is named.
const GPU: &str = "h100";
/// The engine where none is named.
pub(crate) const ENGINE: &str = "vllm-0.15.1";

const TABLES: &str = "\
Measurements of your own: rooflut --tables PATH COMMAND, with run, step, lookup, tables, validate.";

/// What latency and throughput a model on a GPU would serve, from measured kernel tables.
///
/// Alone it simulates a default scenario: `rooflut run` with its defaults.
#[derive(Parser)]
#[command(name = "rooflut", version, disable_help_subcommand = true, after_help = TABLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The command line without a command.
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    run: RunArgs,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a server: TTFT, TPOT, end-to-end latency, throughput.
    Run(Box<RunArgs>),
    /// Time one engine step, part by part.
    Step(StepArgs),
    /// Look up one kernel in the tables.
    #[command(arg_required_else_help = false)]
    Lookup(LookupArgs),
    /// List the compiled-in tables: operations, shapes, ranges, sources; score, check and plot them.
    Tables(TablesArgs),
    /// Make a table set of what others published: InferSim, BLIS, AIConfigurator, Vidur.
    Import(Box<ImportArgs>),
    /// List the models known by name.
    Models(ListArgs),
    /// List the engine stacks: scheduling, and what each adds to the kernels.
    Engines(ListArgs),
    /// Predict measured runs and compare.
    Validate(ValidateArgs),
}

/// The model and the GPUs that it runs on.
#[derive(Args)]
pub(crate) struct Target {
    /// Built-in name, Hugging Face id, or path of a config.json.
    #[arg(long, default_value = MODEL)]
    pub(crate) model: String,
    /// Table set (`rooflut tables` lists them).
    #[arg(long, default_value = GPU)]
    gpu: String,
    /// Measurements of your own in place of --gpu: a folder like those of bench_data/, or one file made of it.
    #[arg(long, value_name = "PATH", conflicts_with = "gpu")]
    tables: Option<PathBuf>,
    /// Tensor parallelism: GPUs that share each layer.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tp: u32,
    /// Pipeline parallelism; only 1 is modelled.
    #[arg(long, default_value_t = 1, value_parser = value::pipeline)]
    pub(crate) pp: u32,
    /// Data parallelism; only 1 is modelled (see --replicas of `rooflut run`).
    #[arg(long, default_value_t = 1, value_parser = value::data_parallel)]
    pub(crate) dp: u32,
    /// Format of the weights: bf16, fp8, fp8_block, nvfp4 [default: the model's own].
    #[arg(long, value_name = "DTYPE")]
    pub(crate) dtype: Option<Dtype>,
    /// Format of the KV cache: bf16 or fp8.
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = value::kv_dtype)]
    pub(crate) kv_dtype: Dtype,
    /// Engine whose overheads and scheduling are added (`rooflut engines` lists them).
    #[arg(long, value_name = "NAME", default_value = ENGINE, value_parser = value::engine)]
    pub(crate) engine: &'static EngineStack,
}

impl Target {
    /// The table set that is asked for.
    pub(crate) fn set(&self) -> WhichSet<'_> {
        match &self.tables {
            Some(path) => WhichSet::At(path),
            None => WhichSet::Named(&self.gpu),
        }
    }
}

/// Arguments of the commands that list something.
#[derive(Args)]
pub(crate) struct ListArgs {
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a command line asks for.
pub(crate) enum Invocation {
    /// To run a command.
    Command(Command),
    /// To print help or the version.
    Text(String),
}

/// Reads the command line, and the scenario that it names.
pub(crate) fn parse() -> Result<Invocation, Error> {
    let command = negative_values(Cli::command());
    let arguments = leading::behind_command(std::env::args_os().collect());
    let (arguments, scenario) = match scenario::find(arguments) {
        Ok(given) => {
            let (arguments, scenario) = given.merge(&command)?;
            (arguments, Some(scenario))
        }
        Err(arguments) => (arguments, None),
    };
    match read(command, arguments) {
        Ok(mut command) => {
            if let (Command::Run(run), Some(scenario)) = (&mut command, scenario) {
                run.merged = Some(scenario);
            }
            Ok(Invocation::Command(command))
        }
        Err(Mistake::Text(text)) => Ok(Invocation::Text(text)),
        Err(Mistake::Refused { flag, message }) => Err(match scenario {
            Some(scenario) => scenario.refuse(flag.as_deref(), message),
            None => Error::new(message),
        }),
    }
}

/// Why there is no command to run.
enum Mistake {
    /// Help or the version was asked for.
    Text(String),
    /// The arguments mean nothing.
    Refused {
        /// The flag that it is about, without dashes, if it is about one.
        flag: Option<String>,
        message: String,
    },
}

fn read(mut command: clap::Command, arguments: Vec<OsString>) -> Result<Command, Mistake> {
    let matches = command.try_get_matches_from_mut(arguments)?;
    if let Some(run) = matches.subcommand_matches("run") {
        rules::check(run)?;
    }
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    match cli.command {
        Some(command) => Ok(command),
        None => Ok(default_scenario()?),
    }
}

impl From<clap::Error> for Mistake {
    fn from(error: clap::Error) -> Mistake {
        let text = error.render().to_string();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Mistake::Text(text),
            _ => Mistake::Refused {
                flag: flag_of(&error),
                message: one_line(&text),
            },
        }
    }
}

/// The flag that an error is about: `rate` of `--rate <REQUESTS_PER_S>`.
fn flag_of(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let flag = argument.strip_prefix("--")?;
    flag.split([' ', '=']).next().map(str::to_owned)
}

/// Takes `-1` for a value wherever one is due, so that the argument's own range refuses it.
fn negative_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    let names: Vec<String> = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, negative_values)
    })
}

/// `rooflut run` with its defaults.
fn default_scenario() -> Result<Command, clap::Error> {
    let mut run = Alone::try_parse_from(["rooflut"])?.run;
    run.alone = true;
    Ok(Command::Run(Box::new(run)))
}

/// What clap says over several lines, without its label and usage.
fn one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let cause: Vec<&str> = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    format!("{}; see --help", cause.join(" ").replace(" tip: ", "; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        negative_values(Cli::command()).debug_assert();
    }

    #[test]
    fn called_alone_it_runs_the_defaults() {
        let Ok(Command::Run(args)) = default_scenario() else {
            panic!("not a run");
        };
        assert!(args.alone);
        assert_eq!(args.target.model, MODEL);
    }
}
