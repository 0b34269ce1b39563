//! Flags that a command does not have.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rooflut_error::misspelt;
use rooflut_scenario::meant_by;

use crate::error::Error;

/// Returns the error of an unknown flag, with the flag that is meant: by meaning, by the command that has it, or by
/// spelling. `None` for other errors. `program` has read `arguments`.
pub(crate) fn flag(error: &clap::Error, mut program: Command, arguments: &[OsString]) -> Option<Error> {
    let found = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(found))) => found.strip_prefix("--")?,
        _ => return None,
    };
    program.build();
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    let called = words.fold(&program, |command, word| command.find_subcommand(word).unwrap_or(command));
    let meant =
        meant_by(found).map(|key| key.replace('_', "-")).filter(|meant| flags(called).any(|flag| flag == meant));
    let other = || program.get_subcommands().find(|command| flags(command).any(|flag| flag == found));
    let advice = match (meant, other()) {
        (Some(meant), _) => format!("; use --{meant}"),
        (None, Some(command)) => format!("; it is a flag of `{} {}`", program.get_name(), command.get_name()),
        (None, None) => misspelt(found, flags(called)).map_or_else(String::new, |near| format!("; use --{near}")),
    };
    Some(Error::new(format!("unexpected argument '--{found}' found{advice}; see --help")))
}

/// Returns the flags of a command that its help lists.
fn flags(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(clap::Arg::get_long)
}
