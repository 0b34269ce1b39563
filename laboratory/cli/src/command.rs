//! The command: arguments in, an answer or an error out.

use std::ffi::OsString;

use rooflut_cli::host::Host;
use rooflut_cli::parser::Invocation;
use rooflut_cli::{generate, html, program};
use rooflut_scenario::Stop;

use crate::args::{self, Command};
use crate::error::Error;
use crate::output::Answered;
use crate::{fit, import, step, tables, validate};

/// Runs the command with these arguments, prints the answer or the error, and returns the exit code. The first argument
/// is the name of the program.
///
/// On Unix, signals end the process from then on and remove its temporary files.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    program::main_with(|host| answered(arguments, host))
}

/// Returns the text that the command prints with these arguments. The first argument is the name of the program.
///
/// ```
/// let arguments = ["rooflut-lab", "validate", "--json", "no-such.csv"].map(Into::into);
/// let error = rooflut_lab::answer(arguments).unwrap_err();
/// assert!(error.to_string().contains("no-such.csv"));
/// ```
///
/// # Errors
/// Every error of the command, including an error that its text describes, such as a failed check.
pub fn answer(arguments: impl IntoIterator<Item = OsString>) -> Result<String, Error> {
    program::answer(|host| answered(arguments, host), Stop::default())
}

fn answered(arguments: impl IntoIterator<Item = OsString>, host: Host<'_>) -> Result<Answered, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let host = Host { command: html::command_line(&arguments, "rooflut-lab"), ..host };
    let command = match args::parse(arguments)? {
        Invocation::Command(command) => command,
        Invocation::Text(text) => return Ok(text.into()),
    };
    Ok(match &command {
        Command::Tables(args) => tables::run(args)?,
        Command::Import(args) => import::run(args)?.into(),
        Command::Validate(args) => validate::run(args, &host)?,
        Command::Step(args) => step::run(args, &host.command)?,
        Command::Fit(args) => fit::run(args, host.shows_progress)?.into(),
        Command::Completions { shell } => generate::completions(*shell, args::command())?.into(),
        Command::Man { command } => generate::man(command, args::command())?.into(),
    })
}
