//! A program: an answer or an error, printed or returned.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use rooflut_scenario::{Kind, Stop};

use crate::error::Error;
use crate::host::Host;
use crate::output::{self, Answered};
use crate::temporary;

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Exit codes, as help and manual pages list them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0        answered
  1        a file could not be read or written
  2        wrong use: arguments, contents of files, or what cannot be modelled
  3        asked and not met: run --require, plan, saturate, watch
  4        overloaded under --require, whether or not limits are met
  128 + n  ended by signal n, as 130 by Ctrl-C";

/// Returns the exit code of an error; an answer has 0.
fn exit_code(error: &Error) -> u8 {
    match error.kind() {
        Kind::Io => 1,
        Kind::NotMet => 3,
        Kind::Overloaded => 4,
        _ => 2,
    }
}

/// Prints the answer of a command, or its error, and returns the exit code.
///
/// On Unix, signals end the process from then on, and remove its temporary files.
pub fn main_with(command: impl FnOnce(Host<'_>) -> Result<Answered, Error>) -> u8 {
    match print(command) {
        Ok(()) => 0,
        Err(error) => {
            // Where standard error is closed, the exit code remains.
            let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {error}");
            exit_code(&error)
        }
    }
}

fn print(command: impl FnOnce(Host<'_>) -> Result<Answered, Error>) -> Result<(), Error> {
    #[cfg(unix)]
    temporary::remove_on_signals()?;
    let host = Host { stdout: &mut io::stdout(), shows_progress: true, stop: Stop::default(), command: String::new() };
    let Answered { text, failure } = command(host)?;
    output::print(&text)?;
    failure.map_or(Ok(()), Err)
}

/// Returns the text that a command prints. `stop` ends searches and sweeps early.
///
/// # Errors
/// Every error of the command, including an error that its text describes, such as a failed check.
pub fn answer(command: impl FnOnce(Host<'_>) -> Result<Answered, Error>, stop: Stop) -> Result<String, Error> {
    let mut stdout = Vec::new();
    let host = Host { stdout: &mut stdout, shows_progress: false, stop, command: String::new() };
    let Answered { text, failure } = command(host)?;
    let mut answer = String::from_utf8(stdout)?;
    answer += &anstream::adapter::strip_str(&text).to_string();
    failure.map_or(Ok(answer), Err)
}
