//! Why a scenario cannot be run as it is written.

use std::fmt;

use rooflut_error::{either, hint};

/// Why a scenario is wrong: one line that says what was found, what was expected and what to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScenarioError {
    /// The line of the file, from 1; `None` if the problem has no line or the value is not from a file.
    pub line: Option<u64>,
    /// The problem.
    pub problem: Problem,
}

/// A problem of a scenario.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// The file is not UTF-8 text.
    NotText,
    /// The file is not TOML.
    Toml(String),
    /// The scenario cannot be compared key by key, because it cannot be written as JSON.
    Data(String),
    /// No key has this name.
    UnknownKey {
        /// The name as written.
        found: String,
        /// The table that it is in, empty above the first one.
        section: &'static str,
        /// The name that it misspells.
        nearest: Option<&'static str>,
    },
    /// No table has this name.
    UnknownTable {
        /// The name as written.
        found: String,
        /// The name that it misspells.
        nearest: Option<&'static str>,
    },
    /// A key belongs in another table.
    Misplaced {
        /// The key.
        key: &'static str,
        /// The table that it belongs in, empty above the first one.
        section: &'static str,
    },
    /// A key is given with dashes and with underscores.
    Twice {
        /// The key.
        key: &'static str,
        /// The line of the other.
        first: u64,
    },
    /// The file has lists of values, but a run takes one value of each key.
    Lists,
    /// A key of `[sweep]` has neither a list nor a single value.
    List {
        /// The key.
        found: String,
    },
    /// A value of a file has the wrong type or form.
    Type {
        /// The key.
        key: &'static str,
        /// The value as written.
        found: String,
        /// The accepted values.
        expected: String,
    },
    /// A value is out of range.
    Value {
        /// The key.
        key: &'static str,
        /// The accepted values.
        expected: String,
        /// The value.
        found: String,
    },
    /// Two keys contradict each other.
    Conflict {
        /// The key to leave out, with its value (`arrival = gamma`) if only that one conflicts.
        key: &'static str,
        /// The other key, with its value if only that one conflicts.
        with: &'static str,
        /// Why.
        why: Option<&'static str>,
    },
    /// A key has no meaning without others.
    Missing {
        /// The key, with its value if only that one needs others.
        key: &'static str,
        /// The keys, with their values where only these will do: one of each list is needed.
        needs: Vec<&'static [&'static str]>,
    },
    /// A key changes nothing.
    NoEffect {
        /// The key, with its value if only that one changes nothing.
        key: &'static str,
        /// Why.
        why: &'static str,
    },
}

impl Problem {
    pub(crate) fn at_line(self, line: u64) -> ScenarioError {
        ScenarioError { line: Some(line), problem: self }
    }

    /// The key that a problem is about.
    pub(crate) fn key(&self) -> Option<&'static str> {
        match self {
            Problem::Type { key, .. } | Problem::Value { key, .. } => Some(key),
            Problem::Conflict { key, .. } | Problem::Missing { key, .. } | Problem::NoEffect { key, .. } => {
                Some(split(key).0)
            }
            _ => None,
        }
    }
}

impl From<Problem> for ScenarioError {
    fn from(problem: Problem) -> ScenarioError {
        ScenarioError { line: None, problem }
    }
}

impl Problem {
    /// Returns the message, with keys and values of keys as `name` writes them.
    pub fn message(&self, name: KeyName) -> String {
        let named = |wanted| {
            let (key, value) = split(wanted);
            name(key, value)
        };
        match self {
            Problem::NotText => "expected UTF-8 text; save the file as such".to_owned(),
            Problem::Toml(message) => format!("expected TOML: {message}"),
            Problem::Data(message) => {
                format!("expected values that JSON has, too: {message}")
            }
            Problem::UnknownKey { found, section, nearest } => {
                let section = match *section {
                    "" => String::new(),
                    section => format!(" in [{section}]"),
                };
                format!("unknown key {found:?}{section}{}; correct or remove it", hint(nearest.as_slice()))
            }
            Problem::UnknownTable { found, nearest } => {
                format!("unknown table {found:?}{}; use [server], [workload], [output]", hint(nearest.as_slice()))
            }
            Problem::Misplaced { key, section: "" } => {
                format!("{key}: expected above the first table; move it there")
            }
            Problem::Misplaced { key, section } => {
                format!("{key}: expected in [{section}]; move it there")
            }
            Problem::Twice { key, first } => {
                format!("{key}: expected once, also found on line {first}; remove one")
            }
            Problem::Lists => "expected one value of each key, found lists in [sweep]; use `rooflut sweep`".to_owned(),
            Problem::List { found } => {
                format!("{found}: expected a list of numbers and texts, or a text such as \"1..40:2\"; correct it")
            }
            Problem::Type { key, found, expected } => format!("{key}: {expected}; correct {found}"),
            Problem::Value { key, expected, found } => {
                let key = name(key, None);
                format!("{key}: expected {expected}, found {found}")
            }
            Problem::Conflict { key, with, why } => {
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                let (key, with) = (named(key), named(with));
                format!("{key} cannot be used with {with}{why}; leave one of them out")
            }
            Problem::Missing { key, needs } => {
                let one_of = |keys: &&[&'static str]| {
                    let keys: Vec<String> = keys.iter().map(|key| named(key)).collect();
                    either(&keys)
                };
                let needs: Vec<String> = needs.iter().map(one_of).collect();
                let (needs, them) = match needs.as_slice() {
                    [others @ .., last] if !others.is_empty() => (format!("{} and {last}", others.join(", ")), "them"),
                    needs => (needs.concat(), "it"),
                };
                format!("{} needs {needs}; add {them}", named(key))
            }
            Problem::NoEffect { key, why } => {
                format!("{} has no effect: {why}; leave it out", named(key))
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(key_name))
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for ScenarioError {}

/// Returns a key without its value, and the value: `arrival` and `gamma` of `arrival = gamma`.
pub(crate) fn split(key: &'static str) -> (&'static str, Option<&'static str>) {
    let split = key.split_once(" = ");
    split.map_or((key, None), |(key, value)| (key, Some(value)))
}

/// Writes a key in a message, with a value if only that value is meant.
pub type KeyName = fn(key: &str, value: Option<&str>) -> String;

/// A key as a scenario file has it: `arrival = gamma`.
pub(crate) fn key_name(key: &str, value: Option<&str>) -> String {
    value.map_or(key.to_owned(), |value| format!("{key} = {value}"))
}
