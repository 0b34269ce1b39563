//! The command: arguments in, an answer or an error out.

use std::ffi::OsString;

use rooflut_scenario::Stop;

use crate::args::{self, Command};
use crate::error::Error;
use crate::host::Host;
use crate::output::{Answered, plural};
use crate::parser::Invocation;
use crate::progress::Ticker;
use crate::{
    calibrate, compare, engines, fits, generate, html, lookup, models, observe, plan, program, report, run, saturate,
    step, sweep, tables, watch,
};

/// Runs the command with these arguments, prints the answer or the error, and returns the exit code. The first argument
/// is the name of the program.
///
/// On Unix, signals end the process from then on and remove its temporary files.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    program::main_with(|host| answered(arguments, host))
}

/// Returns the text that the command prints with these arguments. The first argument is the name of the program. `stop`
/// ends searches and sweeps early; they then fail.
///
/// ```
/// use rooflut_scenario::Stop;
/// let models = rooflut_cli::answer(["rooflut", "models", "--json"].map(Into::into), Stop::default())?;
/// assert!(models.contains("llama-3.1-8b"));
/// let error = rooflut_cli::answer(["rooflut", "run", "--rate", "x"].map(Into::into), Stop::default());
/// assert!(error.unwrap_err().to_string().contains("--rate"));
/// # Ok::<(), rooflut_cli::Error>(())
/// ```
///
/// # Errors
/// Every error of the command, including an error that its text describes, such as a failed check.
pub fn answer(arguments: impl IntoIterator<Item = OsString>, stop: Stop) -> Result<String, Error> {
    program::answer(|host| answered(arguments, host), stop)
}

fn answered(arguments: impl IntoIterator<Item = OsString>, host: Host<'_>) -> Result<Answered, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let host = Host { command: html::command_line(&arguments, "rooflut"), ..host };
    match args::parse(arguments)? {
        Invocation::Command(command) => dispatch(&command, host),
        Invocation::Text(text) => Ok(text.into()),
    }
}

fn dispatch(command: &Command, host: Host<'_>) -> Result<Answered, Error> {
    Ok(match command {
        Command::Run(args) => run::run(args, &host.command).map_err(|error| args.place(error))?,
        Command::Plan(args) => {
            let _ticker = ticker(&host);
            plan::run(args, host.stop, &host.command)?
        }
        Command::Saturate(args) => {
            let _ticker = ticker(&host);
            saturate::run(args, host.stop, &host.command)?
        }
        Command::Sweep(args) => sweep::run(args, host)?,
        Command::Step(args) => step::run(args, &host.command)?,
        Command::Fits(args) => fits::run(args)?.into(),
        Command::Compare(args) => compare::run(args, &host.command)?,
        Command::Observe(args) => observe::run(args)?.into(),
        Command::Calibrate(args) => calibrate::run(args)?.into(),
        Command::Watch(args) => watch::run(args)?,
        Command::Report(args) => report::run(args, &host.command)?,
        Command::Lookup(args) => lookup::run(args)?.into(),
        Command::Tables(args) => tables::run(args)?.into(),
        Command::Models(args) => models::run(args)?.into(),
        Command::Engines(args) => engines::run(args)?.into(),
        Command::Completions { shell } => generate::completions(*shell, args::command())?.into(),
        Command::Man { command } => man(command)?.into(),
    })
}

fn man(path: &[String]) -> Result<String, Error> {
    args::in_laboratory(path).map_or_else(|| generate::man(path, args::command()), Err)
}

/// Shows how far a search is.
fn ticker(host: &Host<'_>) -> Option<Ticker> {
    let stop = host.stop.clone();
    let done = move || plural(stop.simulations(), "simulation");
    host.shows_progress.then(|| Ticker::start(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [&str; 5] = ["--model", "llama-3.1-8b", "--requests", "20", "--rate=4,8"];

    fn arguments<'a>(command: &'a [&'a str]) -> impl Iterator<Item = OsString> + 'a {
        ["rooflut"].iter().chain(command).map(OsString::from)
    }

    #[test]
    fn the_rows_of_a_sweep_are_part_of_the_answer() {
        let text = answer(arguments(&[&["sweep"], SMALL.as_slice()].concat()), Stop::default()).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("index,grid,"), "{text}");
    }

    #[test]
    fn searches_and_sweeps_end_where_they_are_stopped() {
        let stop = Stop::default();
        stop.stop();
        let load = ["--requests", "500", "--goodput", "ttft:500"];
        for command in [
            [&["sweep"], SMALL.as_slice()].concat(),
            [&["plan", "--rate", "20"], load.as_slice()].concat(),
            [&["saturate"], load.as_slice()].concat(),
        ] {
            let error = answer(arguments(&command), stop.clone()).unwrap_err();
            assert!(error.to_string().contains("stopped before its end"), "{error}");
            assert!(answer(arguments(&command), Stop::default()).is_ok(), "{command:?}");
        }
    }
}
