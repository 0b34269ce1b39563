//! The arguments.

mod calibrate;
mod compare;
mod fits;
mod limits;
mod lookup;
mod observe;
mod plan;
mod prices;
mod report;
mod run;
mod saturate;
mod step;
mod sweep;
mod tables;
mod watch;

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use calibrate::CalibrateArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use fits::FitsArgs;
pub(crate) use limits::LimitArgs;
pub(crate) use lookup::{LookupArgs, Question};
pub(crate) use observe::{MeasuredArgs, ObserveArgs};
pub(crate) use plan::{Choices, PlanArgs};
pub(crate) use prices::PriceArgs;
pub(crate) use report::ReportArgs;
pub(crate) use run::RunArgs;
pub(crate) use saturate::SaturateArgs;
pub use step::StepArgs;
pub(crate) use sweep::{Cluster, SweepArgs};
pub(crate) use tables::TablesArgs;
pub(crate) use watch::WatchArgs;

use crate::deferred::Deferred;
use crate::error::Error;
use crate::leading;
use crate::parser::{self, Invocation};
use crate::program::EXIT_CODES;

const OTHERS: &str = "\
Your own measurements: rooflut --tables PATH COMMAND, for run, step, lookup, tables.
Make, judge and draw tables, compare predictions with measured servers: rooflut-lab.";

const OF_STEP: &str = "\
Examples:
  rooflut step --decode 64x1000
  rooflut step --model llama-3.3-70b --tp 4 --prefill 2048 --decode 32x500";

/// Commands of `rooflut-lab`.
const LABORATORY: [&str; 6] = ["import", "validate", "fit", "tables check", "tables score", "tables plot"];

/// Predicts latency and throughput of LLM servers from measured GPU kernels.
///
/// Without arguments, simulates a default scenario: `rooflut run` with its defaults.
#[derive(Parser)]
#[command(name = "rooflut", after_help = format!("{OTHERS}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

/// A command.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a server: TTFT, TPOT, end-to-end latency, throughput.
    Run(Deferred<RunArgs>),
    /// Find the cheapest deployment that serves a load within latency limits.
    Plan(Deferred<PlanArgs>),
    /// Find the highest rate at which servers meet latency limits, and the latencies around that rate.
    Saturate(Deferred<SaturateArgs>),
    /// Run a grid of deployments and loads in parallel: one row each, as CSV.
    Sweep(Deferred<SweepArgs>),
    /// Time one engine step, part by part.
    #[command(after_help = OF_STEP)]
    Step(Deferred<StepArgs>),
    /// List the GPUs that hold a model: longest context, largest batch, KV capacity, smallest deployment.
    Fits(Deferred<FitsArgs>),
    /// Compare two scenarios or reports: the differences, and the terms that explain them.
    #[command(arg_required_else_help = false)]
    Compare(Deferred<CompareArgs>),
    /// Read what clients and servers measured: the load as sent, the figures, the deployment, as a scenario.
    Observe(Deferred<ObserveArgs>),
    /// Fit the constants of an engine to what was measured of a server.
    Calibrate(Deferred<CalibrateArgs>),
    /// Tell whether a calibrated server is as fast as it was.
    Watch(Deferred<WatchArgs>),
    /// Write a report with charts, one HTML file, from the outputs of other commands.
    #[command(arg_required_else_help = false)]
    Report(Deferred<ReportArgs>),
    /// Look up one kernel in the tables.
    #[command(arg_required_else_help = false)]
    Lookup(Deferred<LookupArgs>),
    /// List the compiled-in tables: operations, shapes, ranges, sources.
    Tables(Deferred<TablesArgs>),
    /// List the models known by name.
    Models(ListArgs),
    /// List the engine stacks: scheduling, and the overhead that each adds to the kernels.
    Engines(ListArgs),
    /// Write a script with which a shell completes commands and flags.
    Completions {
        /// Shell that reads the script.
        shell: Shell,
    },
    /// Write a manual page as roff: rooflut man run | man -l -
    Man {
        /// Command, as in rooflut man lookup gemm [default: the page of rooflut itself].
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

/// Reads the command line, and the scenario file that it names.
pub(crate) fn parse(given: Vec<OsString>) -> Result<Invocation<Command>, Error> {
    let mut arguments = leading::behind_command(given.clone(), "run");
    if arguments.get(1).is_some_and(|command| command == "plan") {
        for (flag, key) in [("--rate", "rate"), ("--trace-speed", "trace_speed")] {
            arguments = plan::with_values(arguments, flag, key)?;
        }
    }
    let invocation = parser::parse::<Cli>(command(), arguments.clone())
        .map_err(|error| moved(&arguments).unwrap_or_else(|| hint_at_command(error, &given)))?;
    let (Cli { command }, matches) = match invocation {
        Invocation::Command(parsed) => parsed,
        Invocation::Text(text) => return Ok(Invocation::Text(text)),
    };
    Ok(Invocation::Command(match (command, matches.subcommand().map(|(_, matches)| matches)) {
        (Some(Command::Run(run)), _) => Command::Run(Deferred(Box::new(run.0.merge()?))),
        (Some(Command::Plan(plan)), Some(matches)) => Command::Plan(Deferred(Box::new(plan.0.with_choices(matches)))),
        (Some(command), _) => command,
        (None, _) => Command::Run(Deferred(Box::new(RunArgs::defaults()))),
    }))
}

/// Returns the description of the command line.
pub(crate) fn command() -> clap::Command {
    let cli = Cli::command()
        .mut_subcommand("plan", |plan| plan.defer(PlanArgs::described))
        .mut_subcommand("saturate", |saturate| saturate.defer(SaturateArgs::described))
        .mut_subcommand("fits", |fits| fits.defer(FitsArgs::described));
    parser::styled(cli)
}

/// Returns the error of a command or flag that `rooflut-lab` has.
fn moved(given: &[OsString]) -> Option<Error> {
    let mut arguments = given.iter().filter_map(|argument| argument.to_str());
    if arguments.any(|argument| argument.starts_with("--latency-model")) {
        return Some(Error::new(
            "--latency-model is a flag of rooflut-lab; run rooflut-lab step --latency-model NAME (from source: cargo run \
             --release -p rooflut-lab -- step --latency-model NAME)",
        ));
    }
    let words = given.iter().skip(1).filter_map(|argument| argument.to_str());
    let words: Vec<&str> = words.filter(|word| !word.starts_with('-') && *word != "help").collect();
    in_laboratory(&words)
}

/// Returns the error of a command, by its path, that `rooflut-lab` has.
pub(crate) fn in_laboratory<W: AsRef<str>>(path: &[W]) -> Option<Error> {
    let begins = |command: &&str| {
        let mut words = path.iter().map(AsRef::as_ref);
        command.split(' ').all(|word| words.next() == Some(word))
    };
    let command = LABORATORY.into_iter().find(begins)?;
    Some(Error::new(format!(
        "{command:?} is a command of rooflut-lab; run rooflut-lab {command} (from source: cargo run --release -p \
         rooflut-lab -- {command})"
    )))
}

/// Says where a flag belongs that stands in place of the command.
fn hint_at_command(error: Error, given: &[OsString]) -> Error {
    let given = || given.iter().skip(1).filter_map(|argument| argument.to_str());
    let mut cli = Cli::command();
    cli.build();
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
        Some(command) if takes(command, flag) => {
            Error::new(format!("--{flag} must follow the command; use rooflut {command} --{flag} ..."))
        }
        None if takes("run", flag) => {
            Error::new(format!("--{flag} is a flag of `rooflut run`; use rooflut run --{flag} ..."))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        command().debug_assert();
    }
}
