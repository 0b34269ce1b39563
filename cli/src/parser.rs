//! Command lines, as `rooflut` and `rooflut-lab` read them.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches};
use colorchoice_clap::Color;

use crate::error::Error;
use crate::{output, version};

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
    let matches = match command.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error) => return text_or_error(&error),
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

/// Returns a description of a command line with `--color`, and with the width, the version and the handling of numbers
/// of all commands.
pub fn styled(command: clap::Command) -> clap::Command {
    Color::augment_args(negative_values(command))
        .term_width(output::text_width())
        .version(version::version())
        .mut_arg("color", |color| color.help("Use of colours in text").display_order(900))
}

/// Help and the version are no errors.
fn text_or_error<C>(error: &clap::Error) -> Result<Invocation<C>, Error> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Invocation::Text(text.ansi().to_string())),
        _ => Err(Error::new(one_line(&text.to_string()))),
    }
}

/// Takes `-1` for a value wherever one is due, so that the argument's own range refuses it.
pub(crate) fn negative_values(command: clap::Command) -> clap::Command {
    let command =
        command.mut_args(|arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg });
    let names: Vec<String> = command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, negative_values))
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
