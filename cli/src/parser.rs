//! Command lines, as `rooflut` and `rooflut-lab` read them.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches};
use colorchoice_clap::Color;
use rooflut_scenario::Kind;

use crate::error::Error;
use crate::{output, unknown, version};

/// A parsed command line.
pub enum Invocation<C> {
    /// To run a command.
    Command(C),
    /// To print help or the version.
    Text(String),
}

/// Reads the command line of a [`styled`] description.
///
/// # Errors
/// A command line that clap rejects, on one line.
pub fn parse<C: FromArgMatches>(
    mut command: clap::Command,
    arguments: Vec<OsString>,
) -> Result<Invocation<(C, ArgMatches)>, Error> {
    let arguments = with_negative_values(arguments);
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) => {
            return unknown::flag(&error, command, &arguments).map_or_else(|| text_or_error(&error), Err);
        }
    };
    let parsed = C::from_arg_matches(&matches).and_then(|parsed| {
        Color::from_arg_matches(&matches)?.write_global();
        Ok(parsed)
    });
    match parsed {
        Ok(parsed) => Ok(Invocation::Command((parsed, matches))),
        Err(error) => text_or_error(&error.format(&mut command)),
    }
}

/// Returns a description of a command line with `--color`, and with the width and the version of all commands.
pub fn styled(command: clap::Command) -> clap::Command {
    Color::augment_args(command)
        .term_width(output::text_width())
        .version(version::version())
        .mut_arg("color", |color| color.help("Use of colours in text").display_order(900))
}

/// Help and the version are no errors.
fn text_or_error<C>(error: &clap::Error) -> Result<Invocation<C>, Error> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Invocation::Text(text.ansi().to_string())),
        _ => Err(unreadable(error).unwrap_or_else(|| Error::new(one_line(&text.to_string())))),
    }
}

/// Returns the error of a flag whose file cannot be read.
fn unreadable(error: &clap::Error) -> Option<Error> {
    let cause = std::error::Error::source(error)?.downcast_ref::<rooflut_scenario::Error>()?;
    (cause.kind() == Kind::Io).then(|| cause.clone().into())
}

/// Writes `--warm-up -1,2` as `--warm-up=-1,2`, so that the argument's own range refuses it and not the parser, which takes
/// `-1,2` for flags.
fn with_negative_values(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match joined.last_mut() {
            Some(flag) if is_bare_flag(flag) && is_negative(&argument) => {
                flag.push("=");
                flag.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

fn is_bare_flag(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    bytes.len() > 2 && bytes.starts_with(b"--") && !bytes.contains(&b'=')
}

/// Whether an argument starts as a negative number does, or a list of them.
fn is_negative(argument: &OsStr) -> bool {
    matches!(argument.as_encoded_bytes(), [b'-', digit, ..] if digit.is_ascii_digit() || *digit == b'.')
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
