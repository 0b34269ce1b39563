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
        (ErrorKind::UnknownArgument, Some(ContextValue::String(found))) => found,
        _ => return None,
    };
    let Some(found) = found.strip_prefix("--") else {
        return behind_value(found, arguments);
    };
    program.build();
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    let called = words.fold(&program, |command, word| command.find_subcommand(word).unwrap_or(command));
    // The length of the requests of `rooflut fits`.
    let meant = if found == "max-model-len" { Some("context") } else { meant_by(found) };
    let meant = meant.map(|key| key.replace('_', "-")).filter(|meant| flags(called).any(|flag| flag == meant));
    let other = || program.get_subcommands().find(|command| flags(command).any(|flag| flag == found));
    let advice = match (meant, other()) {
        (Some(meant), _) => format!("; use --{meant}"),
        (None, Some(command)) => format!("; it is a flag of `{} {}`", program.get_name(), command.get_name()),
        (None, None) => misspelt(found, flags(called)).map_or_else(String::new, |near| format!("; use --{near}")),
    };
    Some(Error::new(format!("unexpected argument '--{found}' found{advice}; see --help")))
}

/// Returns the error of a word that follows the value of a flag, of which it may be a part.
fn behind_value(found: &str, arguments: &[OsString]) -> Option<Error> {
    let at = arguments.iter().position(|argument| argument == found)?;
    let [flag, value] = arguments.get(at.checked_sub(2)?..at)? else {
        return None;
    };
    let (flag, value) = (flag.to_str()?, value.to_str()?);
    let is_value = flag.starts_with("--") && !flag.contains('=') && !value.starts_with('-');
    is_value.then(|| {
        Error::new(format!(
            "unexpected argument '{found}' found behind {flag} {value}; put a value with spaces in quotes, and commas \
             between several values; see --help"
        ))
    })
}

/// Returns the flags of a command that its help lists.
fn flags(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(clap::Arg::get_long)
}
