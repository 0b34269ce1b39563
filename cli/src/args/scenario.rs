//! Scenario files: arguments that go before those of the command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Command;
use rooflut_scenario::Entry;

use super::rules::{CONFLICTS, IDLE_WITHOUT, Rule, Wanted};
use crate::error::Error;

/// A command line that names a scenario.
pub(super) struct Given {
    arguments: Vec<OsString>,
    path: PathBuf,
}

/// A scenario whose arguments are part of the command line.
pub(crate) struct Scenario {
    path: PathBuf,
    entries: Vec<Entry>,
    /// Keys that the command line replaces, in the order of the file.
    pub(super) replaced: Vec<&'static str>,
}

/// Arguments before those of `run`: the program and `run`.
const BEFORE: usize = 2;

/// The command line, if it is one of `run` that names a scenario and does not ask for help.
pub(super) fn find(arguments: Vec<OsString>) -> Result<Given, Vec<OsString>> {
    let is_run = arguments.get(1).is_some_and(|command| command == "run");
    let flags = flags(arguments.get(BEFORE..).unwrap_or_default());
    let asks = arguments.iter().any(|a| a == "--help" || a == "-h");
    let named = flags.into_iter().find(|(flag, _)| flag == "scenario");
    match named.and_then(|(_, value)| value) {
        Some(path) if is_run && !asks => Ok(Given {
            path: PathBuf::from(path),
            arguments,
        }),
        _ => Err(arguments),
    }
}

impl Given {
    /// Reads the scenario and puts its arguments before those of the command line, but for what the
    /// command line replaces: the same flags, those that exclude one of them, and those that mean
    /// nothing without one of these.
    pub(super) fn merge(self, command: &Command) -> Result<(Vec<OsString>, Scenario), Error> {
        let Given {
            mut arguments,
            path,
        } = self;
        let entries = read(&path)?;
        let given = flags(arguments.get(BEFORE..).unwrap_or_default());
        let run = command.find_subcommand("run").unwrap_or(command);
        let is_replaced = |entry: &Entry| {
            given.iter().any(|(flag, _)| excludes(run, entry, flag)) || cannot_be(entry, &given)
        };
        let (mut out, kept): (Vec<Entry>, Vec<Entry>) =
            entries.iter().cloned().partition(is_replaced);
        let is_left = |wanted: &Wanted| in_file(&kept, wanted) || on_line(&given, wanted);
        let is_idle = |entry: &Entry| {
            let mut rules = IDLE_WITHOUT.iter().filter(|rule| is(entry, &rule.of));
            rules.any(|Rule { one_of, .. }| {
                one_of.iter().any(|wanted| in_file(&entries, wanted)) && !one_of.iter().any(is_left)
            })
        };
        let (idle, kept): (Vec<Entry>, Vec<Entry>) = kept.iter().cloned().partition(is_idle);
        out.extend(idle);
        out.sort_by_key(|entry| entry.line);
        let theirs = kept.iter().flat_map(Entry::arguments).map(OsString::from);
        arguments.splice(BEFORE..BEFORE, theirs);
        let scenario = Scenario {
            path,
            entries: kept,
            replaced: out.iter().map(|entry| entry.key.name).collect(),
        };
        Ok((arguments, scenario))
    }
}

impl Scenario {
    /// What is wrong, with the line of the flag if that is the scenario's.
    pub(super) fn refuse(&self, flag: Option<&str>, message: String) -> Error {
        match flag.and_then(|flag| self.line(flag)) {
            Some(line) => self.refused(line, message),
            None => Error::new(message),
        }
    }

    /// The same of what is wrong with a run, as far as that is about a flag.
    pub(super) fn place(&self, error: Error) -> Error {
        let mut flags = error.flags().iter();
        match flags.find_map(|flag| self.line(flag)) {
            Some(line) => self.refused(line, error.to_string()),
            None => error,
        }
    }

    /// The line of a flag.
    fn line(&self, flag: &str) -> Option<u64> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| entry.key.flag() == flag);
        entry.map(|entry| entry.line)
    }

    fn refused(&self, line: u64, problem: String) -> Error {
        Error::in_file(&self.path, Some(line), problem)
    }
}

fn read(path: &Path) -> Result<Vec<Entry>, Error> {
    let bytes = std::fs::read(path).map_err(Error::reading(path))?;
    rooflut_scenario::read(&bytes)
        .map_err(|error| Error::in_file(path, Some(error.line), error.problem))
}

/// Whether a flag of the command line is that of the entry, or cannot stand beside it.
fn excludes(run: &Command, entry: &Entry, flag: &str) -> bool {
    let own = entry.key.flag();
    own == flag || refuses(run, &own, flag) || refuses(run, flag, &own)
}

/// Whether an entry cannot be together with what the command line gives, by [`CONFLICTS`].
fn cannot_be(entry: &Entry, given: &[(String, Option<OsString>)]) -> bool {
    let mut conflicts = CONFLICTS.iter();
    conflicts.any(|conflict| {
        let (of, with) = (&conflict.of, &conflict.with);
        (is(entry, of) && on_line(given, with)) || (is(entry, with) && on_line(given, of))
    })
}

/// Whether one flag says that it conflicts with another.
fn refuses(run: &Command, flag: &str, other: &str) -> bool {
    let Some(arg) = run.get_arguments().find(|arg| arg.get_long() == Some(flag)) else {
        return false;
    };
    let conflicts = run.get_arg_conflicts_with(arg);
    conflicts.iter().any(|arg| arg.get_long() == Some(other))
}

fn in_file(entries: &[Entry], wanted: &Wanted) -> bool {
    entries.iter().any(|entry| is(entry, wanted))
}

fn is(entry: &Entry, wanted: &Wanted) -> bool {
    let value = |value| entry.values.iter().any(|found| found == value);
    entry.key.flag() == wanted.flag && wanted.value.is_none_or(value)
}

fn on_line(given: &[(String, Option<OsString>)], wanted: &Wanted) -> bool {
    given.iter().any(|(flag, found)| {
        let value = |value| found.as_deref() == Some(OsStr::new(value));
        flag == wanted.flag && wanted.value.is_none_or(value)
    })
}

/// The flags of a command line without dashes, each with what comes behind it, unless that is a flag.
fn flags(arguments: &[OsString]) -> Vec<(String, Option<OsString>)> {
    let is_value = |next: &&OsString| !next.to_string_lossy().starts_with("--");
    let next = arguments.iter().skip(1).map(Some).chain([None]);
    let named = arguments.iter().zip(next).filter_map(|(argument, next)| {
        let argument = argument.to_string_lossy();
        let flag = argument.strip_prefix("--")?;
        Some(match flag.split_once('=') {
            Some((flag, value)) => (flag.to_owned(), Some(value.into())),
            None => (flag.to_owned(), next.filter(is_value).cloned()),
        })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use rooflut_scenario::{KEYS, Kind, Section};

    use super::*;
    use crate::args::Cli;

    /// Flags of `run` that say nothing about the run.
    const NO_KEYS: [&str; 2] = ["help", "scenario"];

    #[test]
    fn every_flag_has_its_key_and_every_key_its_flag() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let flags = run.get_arguments().filter_map(|arg| arg.get_long());
        let mut flags: Vec<&str> = flags.filter(|flag| !NO_KEYS.contains(flag)).collect();
        let mut keys: Vec<String> = KEYS.iter().map(|key| key.flag()).collect();
        flags.sort_unstable();
        keys.sort_unstable();
        assert_eq!(flags, keys, "crates/scenario/src/key.rs has the keys");
    }

    #[test]
    fn keys_have_the_sections_and_kinds_of_their_flags() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        for key in &KEYS {
            let mut args = run.get_arguments();
            let arg = args.find(|arg| arg.get_long() == Some(&key.flag()));
            let arg = arg.unwrap();
            let section = match arg.get_help_heading() {
                Some("Workload" | "Trace") => Section::Workload,
                Some("Server" | "Policies" | "Speculative decoding" | "Disaggregation") => {
                    Section::Server
                }
                Some("Output") => Section::Output,
                _ => Section::Top,
            };
            assert_eq!(key.section, section, "{}", key.name);
            let takes_values = arg.get_action().takes_values();
            assert_eq!(key.kind != Kind::Switch, takes_values, "{}", key.name);
            // Rules and errors take one for the other.
            assert_eq!(arg.get_id().as_str(), key.name);
        }
    }

    #[test]
    fn flags_are_found_with_their_values() {
        let line = ["--rate=5", "--json", "--prompt", "7", "-h"].map(OsString::from);
        let found = flags(&line);
        let expected = [("rate", Some("5")), ("json", None), ("prompt", Some("7"))];
        let expected = expected.map(|(flag, value)| (flag.to_owned(), value.map(Into::into)));
        assert_eq!(found, expected);
    }
}
