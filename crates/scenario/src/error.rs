//! Why a scenario cannot be run as it is written.

use std::fmt;

use rooflut_nearest::hint;

/// Why a scenario is wrong: one line that says what was found, what was expected and what to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScenarioError {
    /// The line of the file, from 1; `None` where the problem has none or the value is not from a file.
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
    /// The scenario cannot be compared key by key, as it cannot be written as JSON.
    Data(String),
    /// No key has this name.
    UnknownKey {
        /// The name as written.
        found: String,
        /// The table that it is in, empty above the first one.
        section: &'static str,
        /// Similar names.
        nearest: Vec<&'static str>,
    },
    /// No table has this name.
    UnknownTable {
        /// The name as written.
        found: String,
        /// Similar names.
        nearest: Vec<&'static str>,
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
    /// A value of a file has the wrong type or form.
    Type {
        /// The key.
        key: &'static str,
        /// The expected and the found value.
        message: String,
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
        /// The key to leave out, with the value that conflicts, if only one does.
        key: (&'static str, Option<&'static str>),
        /// The other key.
        with: &'static str,
        /// Why.
        why: Option<&'static str>,
    },
    /// A key has no meaning without another.
    Missing {
        /// The key, with the value that needs others, if only one does.
        key: (&'static str, Option<&'static str>),
        /// The keys of which one is needed, with their values.
        one_of: &'static [(&'static str, Option<&'static str>)],
    },
}

impl Problem {
    pub(crate) fn at_line(self, line: u64) -> ScenarioError {
        ScenarioError {
            line: Some(line),
            problem: self,
        }
    }

    /// The key that a problem is about.
    pub(crate) fn key(&self) -> Option<&'static str> {
        match self {
            Problem::Type { key, .. } | Problem::Value { key, .. } => Some(key),
            Problem::Conflict { key, .. } | Problem::Missing { key, .. } => Some(key.0),
            _ => None,
        }
    }
}

impl From<Problem> for ScenarioError {
    fn from(problem: Problem) -> ScenarioError {
        ScenarioError {
            line: None,
            problem,
        }
    }
}

impl Problem {
    /// Returns the message, with keys and values of keys as `name` writes them.
    pub fn message(&self, name: KeyName) -> String {
        match self {
            Problem::NotText => "expected UTF-8 text; save the file as such".to_owned(),
            Problem::Toml(message) => format!("expected TOML: {message}"),
            Problem::Data(message) => {
                format!("expected values that JSON has, too: {message}")
            }
            Problem::UnknownKey {
                found,
                section,
                nearest,
            } => {
                let section = match *section {
                    "" => String::new(),
                    section => format!(" in [{section}]"),
                };
                format!(
                    "unknown key {found:?}{section}{}; correct or remove it",
                    hint(nearest)
                )
            }
            Problem::UnknownTable { found, nearest } => format!(
                "unknown table {found:?}{}; use [server], [workload], [output]",
                hint(nearest)
            ),
            Problem::Misplaced { key, section: "" } => {
                format!("{key}: expected above the first table; move it there")
            }
            Problem::Misplaced { key, section } => {
                format!("{key}: expected in [{section}]; move it there")
            }
            Problem::Twice { key, first } => {
                format!("{key}: expected once, found on line {first}, too; remove one")
            }
            Problem::Type { key, message } => format!("{key}: {message}"),
            Problem::Value {
                key,
                expected,
                found,
            } => {
                let key = name(key, None);
                format!("{key}: expected {expected}, found {found}")
            }
            Problem::Conflict { key, with, why } => {
                let (key, with) = (name(key.0, key.1), name(with, None));
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                format!("{key} cannot be used with {with}{why}; leave one of them out")
            }
            Problem::Missing { key, one_of } => {
                let one_of: Vec<String> = one_of.iter().map(|key| name(key.0, key.1)).collect();
                let key = name(key.0, key.1);
                format!("{key} needs {}; add it", one_of.join(" or "))
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

/// Writes a key in a message, with a value where only that one is meant.
pub type KeyName = fn(key: &str, value: Option<&str>) -> String;

/// A key as a scenario file has it: `arrival = gamma`.
pub(crate) fn key_name(key: &str, value: Option<&str>) -> String {
    value.map_or(key.to_owned(), |value| format!("{key} = {value}"))
}
