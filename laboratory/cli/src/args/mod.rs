//! The arguments.

mod fit;
mod import;
mod step;
mod tables;
mod validate;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use rooflut_cli::leading;
use rooflut_cli::parser::{self, Invocation};

pub(crate) use fit::FitArgs;
pub(crate) use import::{ImportArgs, ImportFrom, SetArgs};
pub(crate) use step::{LatencyModelName, PredecessorArgs};
pub(crate) use tables::{CheckArgs, PlotArgs, ScoreArgs, TablesArgs, TablesCommand};
pub(crate) use validate::ValidateArgs;

use crate::error::Error;

const OTHERS: &str = "\
Your own measurements: rooflut-lab --tables PATH COMMAND, for step, tables, validate.
Predictions, and the list of tables: rooflut.";

/// The laboratory of rooflut: makes, judges and draws tables of measured GPU kernels, and compares predictions with
/// measured servers.
#[derive(Parser)]
#[command(name = "rooflut-lab", after_help = OTHERS, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check a table set, score it against measured kernels, draw it.
    #[command(arg_required_else_help = false)]
    Tables(TablesArgs),
    /// Make a table set from published kernel tables: InferSim, BLIS, AIConfigurator, Vidur.
    #[command(arg_required_else_help = false)]
    Import(Box<ImportArgs>),
    /// Predict measured runs and compare the predictions with the measurements.
    Validate(ValidateArgs),
    /// Time one engine step as InferSim, BLIS or their older calibration do.
    #[command(arg_required_else_help = false)]
    Step(Box<PredecessorArgs>),
    /// Fit the constants of engines to the measured runs of the project. Takes minutes.
    Fit(FitArgs),
    /// Write a script with which a shell completes commands and flags.
    Completions {
        /// Shell that reads the script.
        shell: Shell,
    },
    /// Write a manual page as roff: rooflut-lab man validate | man -l -
    Man {
        /// Command, as in rooflut-lab man tables check [default: the page of rooflut-lab itself].
        command: Vec<String>,
    },
}

/// Reads the command line.
pub(crate) fn parse(given: Vec<OsString>) -> Result<Invocation<Command>, Error> {
    let arguments = leading::behind_command(given, "tables");
    Ok(match parser::parse::<Cli>(command(), arguments)? {
        Invocation::Command((cli, _)) => Invocation::Command(cli.command),
        Invocation::Text(text) => Invocation::Text(text),
    })
}

/// Returns the description of the command line.
pub(crate) fn command() -> clap::Command {
    parser::styled(Cli::command())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        command().debug_assert();
    }
}
