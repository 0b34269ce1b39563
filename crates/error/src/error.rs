//! One error for all that reads, checks and runs scenarios.

use std::path::Path;
use std::{fmt, io};

use crate::nearest::either;
use crate::printable::printable;

/// Why something cannot be done: a message of one line that says what was found, what was expected and what to do.
///
/// A message names [settings](key), which are keys in a scenario file and flags of the command.
/// [`Error::message`] writes them as its reader does.
///
/// ```
/// use rooflut_error::{Error, Kind, key, setting};
///
/// let (budget, requests) = (key("max_num_batched_tokens"), setting("max_num_seqs", 256));
/// let error = Error::new(Kind::Value, format!("{budget}: expected at least {requests}, found 64; raise it"));
/// let flag = |key: &str, value: Option<&str>| format!("--{} {}", key.replace('_', "-"), value.unwrap_or_default());
/// assert_eq!(
///     error.to_string(),
///     "max_num_batched_tokens: expected at least max_num_seqs = 256, found 64; raise it"
/// );
/// assert_eq!(
///     error.message(flag),
///     "--max-num-batched-tokens : expected at least --max-num-seqs 256, found 64; raise it"
/// );
/// assert_eq!(error.keys(), ["max_num_batched_tokens", "max_num_seqs"]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<Parts>);

#[derive(Debug, Clone, PartialEq)]
struct Parts {
    kind: Kind,
    path: Option<String>,
    line: Option<u64>,
    /// Keys that the error is about; those of the text where there are none.
    keys: Vec<&'static str>,
    /// The message. Keys stand between marks.
    text: String,
    shortage: Option<Shortage>,
}

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A value is out of range or has the wrong form.
    Value,
    /// Settings contradict or lack each other, or one changes nothing.
    Conflict,
    /// No key, column, model, GPU or engine has this name.
    UnknownName,
    /// A file has other contents than expected.
    Contents,
    /// A file cannot be read or written, or a thread cannot be started.
    Io,
    /// The model, or a combination of settings, is not modelled.
    NotModelled,
    /// GPUs cannot share the model in this way.
    Parallelism,
    /// The table set has no such kernel.
    NotMeasured,
    /// The answer is less certain than is accepted.
    Uncertain,
    /// The model, or a request, does not fit in the memory of the GPU.
    DoesNotFit,
    /// A run cannot answer the question: too few requests, or no load at which the servers are as asked for.
    NoAnswer,
    /// Limits are missed, or something else that was asked for does not hold.
    NotMet,
    /// The servers do not keep up with the load.
    Overloaded,
    /// The clock cannot hold the time of a step.
    StepTime,
    /// The run was stopped.
    Stopped,
}

/// A model that does not fit in the memory of each GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortage {
    /// The GPU.
    pub gpu: String,
    /// The share of its memory that the server may use.
    pub utilization: f64,
    /// Bytes that each GPU needs.
    pub needed_bytes: f64,
    /// Bytes that each GPU has at this share.
    pub usable_bytes: f64,
}

impl Error {
    /// Creates an error. Its text names settings by [`key`] and [`setting`].
    pub fn new(kind: Kind, text: impl Into<String>) -> Error {
        Error(Box::new(Parts { kind, path: None, line: None, keys: Vec::new(), text: text.into(), shortage: None }))
    }

    /// Adds the line of the file, from 1, where the error has none.
    #[must_use]
    pub fn at_line(mut self, line: impl Into<Option<u64>>) -> Error {
        self.0.line = self.0.line.or(line.into());
        self
    }

    /// Removes the line, where a program made the file.
    #[must_use]
    pub fn without_line(mut self) -> Error {
        self.0.line = None;
        self
    }

    /// Adds the file, where the error has none; `-` is the standard input.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| named_path(path));
        self
    }

    /// Adds what is missing.
    #[must_use]
    pub fn short_of(mut self, shortage: Shortage) -> Error {
        self.0.shortage = Some(shortage);
        self
    }

    /// Says which settings the error is about, if not those that its text names in their order.
    #[must_use]
    pub fn about(mut self, keys: impl IntoIterator<Item = &'static str>) -> Error {
        self.0.keys = keys.into_iter().collect();
        self
    }

    /// Puts the text into a longer one, of which a shortage of memory is only a part.
    #[must_use]
    pub fn map(mut self, text: impl FnOnce(&str) -> String) -> Error {
        self.0.text = text(&self.0.text);
        self.0.shortage = None;
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The line of the file, from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The memory that is missing, where that is known.
    pub fn shortage(&self) -> Option<&Shortage> {
        self.0.shortage.as_ref()
    }

    /// The settings that the error is about; the first one that is given is the one to correct.
    pub fn keys(&self) -> Vec<&str> {
        if self.0.keys.is_empty() { keys(&self.0.text).collect() } else { self.0.keys.clone() }
    }

    /// Returns the message, one line, with settings as `name` writes them. Control characters of what it quotes are escaped.
    pub fn message(&self, name: impl Fn(&str, Option<&str>) -> String) -> String {
        let Parts { path, line, text, .. } = &*self.0;
        let place = match (path, line) {
            (Some(path), Some(line)) => format!("{path}:{line}: "),
            (Some(path), None) => format!("{path}: "),
            (None, Some(line)) => format!("line {line}: "),
            (None, None) => String::new(),
        };
        printable(place + &named(text, name))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(in_file_form))
    }
}

impl std::error::Error for Error {}

/// A setting as a scenario file has it: `arrival = gamma`.
fn in_file_form(key: &str, value: Option<&str>) -> String {
    value.map_or(key.to_owned(), |value| format!("{key} = {value}"))
}

/// A setting in the text of an [`Error`], which each reader knows by another name.
#[derive(Debug, Clone)]
pub struct Key<'k, V> {
    key: &'k str,
    value: Option<V>,
}

/// Names a setting in the text of an [`Error`]. `arrival = gamma` is `gamma` of `arrival`.
pub fn key(key: &str) -> Key<'_, &str> {
    let (key, value) = split(key);
    Key { key, value }
}

/// Returns a key without its value, and the value: `arrival` and `gamma` of `arrival = gamma`.
pub fn split(setting: &str) -> (&str, Option<&str>) {
    setting.split_once(" = ").map_or((setting, None), |(key, value)| (key, Some(value)))
}

/// Names a setting with its value in the text of an [`Error`].
pub fn setting<V: fmt::Display>(key: &str, value: V) -> Key<'_, V> {
    Key { key, value: Some(value) }
}

/// A key does not take a value.
pub fn value(key: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Error {
    Error::new(Kind::Value, format!("{}: expected {expected}, found {found}", self::key(key)))
}

/// Two settings exclude each other. A setting is a key or one value of it, as for [`key`].
pub fn conflict(setting: &'static str, with: &str, why: Option<&str>) -> Error {
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    let text = format!("{} cannot be used with {}{why}; leave one of them out", key(setting), key(with));
    Error::new(Kind::Conflict, text).about([key(setting).key])
}

/// A setting says nothing without others: one of each list.
pub fn missing(setting: &str, needs: &[&[&str]]) -> Error {
    let one_of = |settings: &&[&str]| {
        let settings: Vec<String> = settings.iter().map(|setting| key(setting).to_string()).collect();
        either(&settings)
    };
    let needs: Vec<String> = needs.iter().map(one_of).collect();
    let (needs, them) = match needs.as_slice() {
        [others @ .., last] if !others.is_empty() => (format!("{} and {last}", others.join(", ")), "them"),
        needs => (needs.concat(), "it"),
    };
    Error::new(Kind::Conflict, format!("{} needs {needs}; add {them}", key(setting)))
}

/// A setting changes nothing.
pub fn no_effect(setting: &str, why: &str) -> Error {
    Error::new(Kind::Conflict, format!("{} has no effect: {why}; leave it out", key(setting)))
}

/// Bytes are no text.
pub fn not_text() -> Error {
    Error::new(Kind::Contents, "expected UTF-8 text; save the file as such")
}

/// A scenario cannot be written as JSON.
pub fn not_json(error: impl fmt::Display) -> Error {
    Error::new(Kind::Value, format!("expected values that JSON has, too: {error}"))
}

/// Returns the error of reading the file at `path`.
pub fn reading(path: &Path) -> impl Fn(io::Error) -> Error {
    |error| {
        let advice = match error.kind() {
            io::ErrorKind::FileTooLarge => return Error::new(Kind::Contents, error.to_string()).in_file(path),
            io::ErrorKind::TimedOut => "start its writer first",
            _ => "check the path",
        };
        Error::new(Kind::Io, format!("cannot read {}: {error}; {advice}", named_path(path)))
    }
}

fn named_path(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

// Unicode keeps these code points for use within a program: no text has them.
const BEGIN: char = '\u{fdd0}';
const VALUE: char = '\u{fdd1}';
const END: char = '\u{fdd2}';

impl<V: fmt::Display> fmt::Display for Key<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{BEGIN}{}{VALUE}{value}{END}", self.key),
            None => write!(f, "{BEGIN}{}{END}", self.key),
        }
    }
}

/// Splits a text after its marked keys: each part has a text and then a key, with its value.
fn parts(text: &str) -> impl Iterator<Item = (&str, Option<(&str, Option<&str>)>)> {
    text.split(END).map(|part| match part.split_once(BEGIN) {
        Some((text, key)) => match key.split_once(VALUE) {
            Some((key, value)) => (text, Some((key, Some(value)))),
            None => (text, Some((key, None))),
        },
        None => (part, None),
    })
}

fn keys(text: &str) -> impl Iterator<Item = &str> {
    parts(text).filter_map(|(_, key)| Some(key?.0))
}

fn named(text: &str, name: impl Fn(&str, Option<&str>) -> String) -> String {
    let written = parts(text).map(|(text, key)| {
        let key = key.map(|(key, value)| name(key, value));
        text.to_owned() + &key.unwrap_or_default()
    });
    written.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_quotes_does_nothing_to_a_terminal() {
        let error = Error::new(Kind::Value, format!("{}: found \u{1b}[2J\n\u{202e}é; correct it", key("a\tb")));
        let error = error.in_file(Path::new("x\u{7}"));
        assert_eq!(error.to_string(), r"x\u{7}: a\tb: found \u{1b}[2J\n\u{202e}é; correct it");
    }

    #[test]
    fn a_place_comes_first_and_the_innermost_one_counts() {
        let error = Error::new(Kind::Contents, "no rows; add one").at_line(3).at_line(7);
        assert_eq!(error.to_string(), "line 3: no rows; add one");
        assert_eq!(error.line(), Some(3));
        let error = error.in_file(Path::new("a.csv")).in_file(Path::new("b.csv"));
        assert_eq!(error.to_string(), "a.csv:3: no rows; add one");
        let error = Error::new(Kind::Contents, "no rows").in_file(Path::new("-"));
        assert_eq!(error.to_string(), "standard input: no rows");
    }

    #[test]
    fn the_keys_of_a_text_are_those_that_it_is_about_unless_others_are_named() {
        let text = format!("{} needs {}; add it", key("arrival = gamma"), key("burstiness"));
        let error = Error::new(Kind::Conflict, text);
        assert_eq!(error.to_string(), "arrival = gamma needs burstiness; add it");
        assert_eq!(error.keys(), ["arrival", "burstiness"]);
        assert_eq!(error.clone().about(["rate"]).keys(), ["rate"]);
        let quoted = error.map(|text| format!("the first: {text}"));
        assert_eq!(quoted.message(|key, _| key.to_uppercase()), "the first: ARRIVAL needs BURSTINESS; add it");
    }

    #[test]
    fn marks_of_others_do_no_harm() {
        let error = Error::new(Kind::Value, format!("a{END}b{VALUE}c{BEGIN}d"));
        assert_eq!(error.to_string(), format!("ab{VALUE}cd"));
    }
}
