//! `rooflut`: predicts the latency and throughput of a model on GPUs from measured kernel tables.
//!
//! This crate parses arguments, reads and writes files, and lays out text; the libraries compute every
//! number.

mod args;
mod check;
mod command_line;
mod compare;
mod engines;
mod error;
mod fields;
mod fits;
mod flagged;
mod generate;
mod grid;
mod import;
mod input;
mod lookup;
mod lookup_output;
mod model_source;
mod models;
mod output;
mod output_file;
mod outputs;
mod plan;
mod plot;
mod prices;
mod progress;
mod resources;
mod run;
mod saturate;
mod score;
mod score_json;
mod score_output;
mod step;
mod sweep;
mod table_set;
mod tables;
mod tallied;
mod temporary;
mod validate;
mod value;
mod version;

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use args::{Command, Invocation};
use error::Error;

const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The exit code of every error; success is 0.
const FAILURE: u8 = 2;

fn main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where standard error is closed, the exit code remains.
            let _ = writeln!(
                anstream::stderr(),
                "{ERROR}error:{ERROR:#} {}",
                error.one_line()
            );
            ExitCode::from(FAILURE)
        }
    }
}

fn answer() -> Result<(), Error> {
    #[cfg(unix)]
    temporary::remove_on_signals()?;
    match args::parse()? {
        Invocation::Command(command) => dispatch(&command),
        Invocation::Text(text) => output::print(&text),
    }
}

fn dispatch(command: &Command) -> Result<(), Error> {
    let answered = match command {
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
    };
    output::print(&answered.text)?;
    answered.failure.map_or(Ok(()), Err)
}
