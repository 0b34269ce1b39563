//! Why a scenario cannot be read.

use std::fmt;

use rooflut_nearest::hint;

use crate::key::{Kind, Section};

/// Why a scenario cannot be read: one line that says what was found, what was expected and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is no UTF-8 text.
    NotText,
    /// It is no TOML.
    Toml(String),
    /// No key has this name.
    UnknownKey {
        /// As it is written.
        found: String,
        /// Where it is.
        section: Section,
        /// The keys of this section with a name like it.
        nearest: Vec<&'static str>,
    },
    /// No table has this name.
    UnknownTable {
        /// As it is written.
        found: String,
        /// The tables and keys with a name like it.
        nearest: Vec<&'static str>,
    },
    /// A key belongs elsewhere.
    Elsewhere {
        /// The key.
        key: &'static str,
        /// Where it belongs.
        section: Section,
    },
    /// A key is there with dashes and with underscores.
    Twice {
        /// The key.
        key: &'static str,
        /// The line where it is, too.
        first: u64,
    },
    /// A value is not what it should be.
    Value {
        /// The key.
        key: &'static str,
        /// What it should be.
        expected: Kind,
        /// What it is.
        found: String,
    },
    /// A key has the name of a table.
    NotATable {
        /// The table.
        section: Section,
        /// What it is.
        found: String,
    },
}

impl Problem {
    /// The same, with the line on which it is.
    pub(crate) fn on_line(self, line: u64) -> ScenarioError {
        ScenarioError {
            line,
            problem: self,
        }
    }
}

const ALL: &str = "`rooflut run --help` lists all, with dashes for underscores";

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotText => f.write_str("expected UTF-8 text; save the file as such"),
            Problem::Toml(message) => write!(f, "expected TOML: {message}; correct it"),
            Problem::UnknownKey {
                found,
                section,
                nearest,
            } => {
                let (inside, hint) = (inside(*section), hint(nearest));
                write!(f, "unknown key {found:?}{inside}{hint}; {ALL}")
            }
            Problem::UnknownTable { found, nearest } => {
                let tables = Section::NAMED.map(|section| format!("[{}]", section.name()));
                let (hint, tables) = (hint(nearest), tables.join(", "));
                write!(f, "unknown table {found:?}{hint}; use {tables}")
            }
            Problem::Elsewhere { key, section } => match section {
                Section::Top => write!(f, "{key}: expected above the first table; move it there"),
                named => write!(f, "{key}: expected in [{}]; move it there", named.name()),
            },
            Problem::Twice { key, first } => {
                write!(
                    f,
                    "{key}: expected once, found on line {first}, too; remove one"
                )
            }
            Problem::Value {
                key,
                expected,
                found,
            } => {
                let expected = expected.expected();
                write!(f, "{key}: expected {expected}, found {found}; correct it")
            }
            Problem::NotATable { section, found } => {
                let name = section.name();
                write!(
                    f,
                    "{name}: expected the table [{name}], found {found}; correct it"
                )
            }
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for ScenarioError {}

fn inside(section: Section) -> String {
    match section {
        Section::Top => String::new(),
        named => format!(" in [{}]", named.name()),
    }
}
