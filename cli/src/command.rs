//! The command: arguments in, an answer or an error out.

use std::ffi::OsString;
use std::io::Write;

use anstyle::{AnsiColor, Style};

use crate::args::{self, Command, Invocation};
use crate::error::Error;
use crate::output::{self, Answered};
use crate::{
    compare, engines, fits, generate, import, lookup, models, plan, run, saturate, step, sweep,
    tables, temporary, validate,
};

const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The exit code of every error; success is 0.
const FAILURE: u8 = 2;

/// Runs the command with these arguments, the first of which is the name of the program: prints the answer, or the
/// error, and returns the exit code.
///
/// On Unix, signals end the process from then on, and remove its temporary files.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    match print(arguments) {
        Ok(()) => 0,
        Err(error) => {
            // Where standard error is closed, the exit code remains.
            let _ = writeln!(
                anstream::stderr(),
                "{ERROR}error:{ERROR:#} {}",
                error.one_line()
            );
            FAILURE
        }
    }
}

/// Returns the text that the command prints with these arguments, the first of which is the name of the program.
///
/// ```
/// let models = rooflut_cli::answer(["rooflut", "models", "--json"].map(Into::into))?;
/// assert!(models.contains("llama-3.1-8b"));
/// let error = rooflut_cli::answer(["rooflut", "run", "--rate", "x"].map(Into::into));
/// assert!(error.unwrap_err().to_string().contains("--rate"));
/// # Ok::<(), rooflut_cli::Error>(())
/// ```
///
/// # Errors
/// Every error of the command, also one that its text describes, as that of a failed check.
pub fn answer(arguments: impl IntoIterator<Item = OsString>) -> Result<String, Error> {
    let Answered { text, failure } = answered(arguments)?;
    let text = anstream::adapter::strip_str(&text).to_string();
    failure.map_or(Ok(text), Err)
}

fn print(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    #[cfg(unix)]
    temporary::remove_on_signals()?;
    let Answered { text, failure } = answered(arguments)?;
    output::print(&text)?;
    failure.map_or(Ok(()), Err)
}

fn answered(arguments: impl IntoIterator<Item = OsString>) -> Result<Answered, Error> {
    match args::parse(arguments.into_iter().collect())? {
        Invocation::Command(command) => dispatch(&command),
        Invocation::Text(text) => Ok(text.into()),
    }
}

fn dispatch(command: &Command) -> Result<Answered, Error> {
    Ok(match command {
        Command::Run(args) => run::run(args).map_err(|error| args.place(error))?,
        Command::Plan(args) => plan::run(args)?,
        Command::Saturate(args) => saturate::run(args)?,
        Command::Sweep(args) => sweep::run(args)?,
        Command::Step(args) => step::run(args)?.into(),
        Command::Fits(args) => fits::run(args)?.into(),
        Command::Compare(args) => compare::run(args)?.into(),
        Command::Lookup(args) => lookup::run(args)?.into(),
        Command::Tables(args) => tables::run(args)?,
        Command::Import(args) => import::run(args)?.into(),
        Command::Models(args) => models::run(args)?.into(),
        Command::Engines(args) => engines::run(args)?.into(),
        Command::Validate(args) => validate::run(args)?,
        Command::Completions { shell } => generate::completions(*shell)?.into(),
        Command::Man { command } => generate::man(command)?.into(),
    })
}
