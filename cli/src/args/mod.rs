//! The arguments.

mod compare;
mod fits;
mod import;
mod leading;
mod limits;
mod lookup;
mod plan;
mod run;
mod saturate;
mod step;
mod sweep;
mod tables;
mod validate;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use colorchoice_clap::Color;

pub(crate) use compare::CompareArgs;
pub(crate) use fits::FitsArgs;
pub(crate) use import::{ImportArgs, ImportFrom, SetArgs};
pub(crate) use limits::LimitArgs;
pub(crate) use lookup::{LookupArgs, Question};
pub(crate) use plan::PlanArgs;
pub(crate) use run::RunArgs;
pub(crate) use saturate::SaturateArgs;
pub(crate) use step::{LatencyModelName, StepArgs};
pub(crate) use sweep::SweepArgs;
pub(crate) use tables::{CheckArgs, PlotArgs, ScoreArgs, TablesArgs, TablesCommand};
pub(crate) use validate::ValidateArgs;

use crate::error::Error;
use crate::{output, version};

const TABLES: &str = "\
Measurements of your own: rooflut --tables PATH COMMAND, with run, step, lookup, tables, validate.";

/// Predicts latency and throughput of LLM servers from measured GPU kernels.
///
/// Alone it simulates a default scenario: `rooflut run` with its defaults.
#[derive(Parser)]
#[command(name = "rooflut", after_help = TABLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    color: Color,
}

/// A command.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a server: TTFT, TPOT, end-to-end latency, throughput.
    Run(Box<RunArgs>),
    /// Find the cheapest deployment that serves a load within latency limits.
    Plan(Box<PlanArgs>),
    /// Find the highest rate that servers serve within latency limits, and latencies around it.
    Saturate(Box<SaturateArgs>),
    /// Run a grid of deployments and loads in parallel: one row each, as CSV.
    Sweep(Box<SweepArgs>),
    /// Time one engine step, part by part.
    Step(Box<StepArgs>),
    /// List the GPUs that hold a model: longest context, largest batch, KV capacity, smallest deployment.
    Fits(Box<FitsArgs>),
    /// Compare two scenarios or reports: what differs, and which terms it consists of.
    #[command(arg_required_else_help = false)]
    Compare(CompareArgs),
    /// Look up one kernel in the tables.
    #[command(arg_required_else_help = false)]
    Lookup(LookupArgs),
    /// List the compiled-in tables: operations, shapes, ranges, sources; score, check and plot them.
    Tables(TablesArgs),
    /// Make a table set from published kernel tables: InferSim, BLIS, AIConfigurator, Vidur.
    #[command(arg_required_else_help = false)]
    Import(Box<ImportArgs>),
    /// List the models known by name.
    Models(ListArgs),
    /// List the engine stacks: scheduling, and what each adds to the kernels.
    Engines(ListArgs),
    /// Predict measured runs and compare.
    Validate(ValidateArgs),
    /// Write a script that completes commands and flags, for a shell to read.
    Completions {
        /// Shell that reads the script.
        shell: Shell,
    },
    /// Write a manual page as roff: rooflut man run | man -l -
    Man {
        /// Command, as in rooflut man tables check [default: the page of rooflut itself].
        command: Vec<String>,
    },
}

/// Arguments of the commands that list something.
#[derive(Args)]
pub(crate) struct ListArgs {
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A parsed command line.
pub(crate) enum Invocation {
    /// To run a command.
    Command(Command),
    /// To print help or the version.
    Text(String),
}

/// Reads the command line, and the scenario file that it names.
pub(crate) fn parse(given: Vec<OsString>) -> Result<Invocation, Error> {
    let mut command = command();
    let arguments = leading::behind_command(given.clone());
    let matches = match command.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error) => return text_or_error(&error).map_err(|error| hint_at_command(error, &given)),
    };
    let command = match Cli::from_arg_matches(&matches) {
        Ok(Cli { command, color }) => {
            color.write_global();
            command
        }
        Err(error) => return text_or_error(&error.format(&mut command)),
    };
    Ok(Invocation::Command(
        match (command, matches.subcommand().map(|(_, matches)| matches)) {
            (Some(Command::Run(run)), Some(matches)) => Command::Run(Box::new(run.merge(matches)?)),
            (Some(Command::Plan(plan)), Some(matches)) => {
                Command::Plan(Box::new(plan.with_choices(matches)))
            }
            (Some(command), _) => command,
            (None, _) => Command::Run(Box::new(RunArgs::defaults())),
        },
    ))
}

/// Returns the description of the command line.
pub(crate) fn command() -> clap::Command {
    negative_values(Cli::command().mut_subcommand("plan", PlanArgs::with_lists))
        .term_width(output::text_width())
        .version(version::version())
        .mut_arg("color", |color| {
            color.help("Use of colours in text").display_order(900)
        })
}

/// Says where a flag belongs that stands in place of the command.
fn hint_at_command(error: Error, given: &[OsString]) -> Error {
    let given = || {
        given
            .iter()
            .skip(1)
            .filter_map(|argument| argument.to_str())
    };
    let cli = Cli::command();
    let takes = |command: &str, flag: &str| {
        let command = cli.find_subcommand(command);
        let mut arguments = command.into_iter().flat_map(clap::Command::get_arguments);
        arguments.any(|argument| argument.get_long() == Some(flag))
    };
    let first = given().next().and_then(|first| first.strip_prefix("--"));
    let Some(flag) = first.and_then(|first| first.split('=').next()) else {
        return error;
    };
    match given().find(|argument| cli.find_subcommand(argument).is_some()) {
        Some(command) if takes(command, flag) => Error::new(format!(
            "--{flag} must follow the command; use rooflut {command} --{flag} ..."
        )),
        None if takes("run", flag) => Error::new(format!(
            "--{flag} is a flag of `rooflut run`; use rooflut run --{flag} ..."
        )),
        _ => error,
    }
}

/// Help and the version are no errors.
fn text_or_error(error: &clap::Error) -> Result<Invocation, Error> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Ok(Invocation::Text(text.ansi().to_string()))
        }
        _ => Err(Error::new(one_line(&text.to_string()))),
    }
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

/// Returns clap's message on one line, without its label and usage.
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
        command().debug_assert();
    }
}
