//! Recognises the format of a file.

use rooflut_error::{Error, key, misspelt};

use crate::column_names::guess;
use crate::error::{Shown, contents, names};
use crate::format::Format;
use crate::measurement::Measurement;
use crate::{foreign, json, table};

impl Format {
    /// Recognises the format of a file by its columns or keys; `head` is the file or its beginning.
    ///
    /// A CSV is [`Format::Own`] unless its columns match another format better. Reads one line of CSV, or one object of
    /// JSON.
    ///
    /// # Errors
    ///
    /// If the file is known to be no trace, or begins as JSON and its first object cannot be read or matches no format.
    ///
    /// ```
    /// use rooflut_traces::Format;
    /// let text = r#"{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}"#;
    /// assert_eq!(Format::detect(text.as_bytes()), Ok(Format::Mooncake));
    /// ```
    pub fn detect(head: &[u8]) -> Result<Format, Error> {
        let (text, is_json) = text_of(head);
        let found = if is_json { json::first_keys(text)? } else { table::column_names(text) };
        foreign::check_names(&found, is_json)?;
        match best(&found, !is_json) {
            Some(format) => Ok(format),
            None if is_json => {
                let formats = Format::ALL.into_iter().filter(|format| !format.is_csv());
                let formats = formats.map(|format| format!("{format} ({})", format.expected()));
                let expected = formats.collect::<Vec<_>>().join(", ");
                let or_named = guess(&found).map(|guess| format!(", or {} {guess}", key("columns")));
                let (found, or_named) = (names(&found), or_named.unwrap_or_default());
                Err(contents(format!("keys of no known format: {found}; expected the keys of {expected}{or_named}")))
            }
            None => foreign::check_measured(Measurement::of_lines(text)).map(|()| Format::Own),
        }
    }

    /// Counts the columns or keys of the format among `found`.
    fn score(self, found: &[String]) -> usize {
        let known = self.names();
        known.filter(|known| found.iter().any(|name| name == known)).count()
    }

    /// Returns the columns or keys that are not those of the format.
    ///
    /// # Errors
    ///
    /// If one of them looks like an optional one that is missing.
    pub(crate) fn ignored(self, found: &[&str]) -> Result<Vec<String>, Error> {
        let missing = self.optional().iter().filter(|name| !found.contains(name));
        let missing: Vec<&'static str> = missing.copied().collect();
        let unknown = found.iter().filter(|found| !found.is_empty() && !self.names().any(|known| known == **found));
        let ignored = unknown.map(|found| match misspelt(found, missing.iter().copied()) {
            None => Ok((*found).to_owned()),
            Some(meant) => Err(contents(format!(
                "unknown {} {}; did you mean {meant}? rename or remove it",
                self.part(),
                Shown(found)
            ))),
        });
        ignored.collect()
    }
}

/// Logs and metrics are recognised within as many bytes.
const LONGEST_HEAD: usize = 1 << 18;

impl Measurement {
    /// Recognises a file by its content; `head` is the file or its beginning.
    ///
    /// # Errors
    ///
    /// If the file is in no form that can be read, or begins as JSON and its first object cannot be read.
    ///
    /// ```
    /// use rooflut_traces::Measurement;
    /// let text = r#"{"request_throughput": 4.5, "tokenizer_id": "m", "mean_ttft_ms": 31.0}"#;
    /// assert_eq!(Measurement::detect(text.as_bytes()), Ok(Some(Measurement::VllmBench)));
    /// assert_eq!(Measurement::detect(b"arrival_ms,prompt_tokens,output_tokens\n"), Ok(None));
    /// ```
    pub fn detect(head: &[u8]) -> Result<Option<Measurement>, Error> {
        foreign::check_bytes(head)?;
        let (text, is_json) = text_of(head);
        let text = if is_json { text } else { text.get(..LONGEST_HEAD).unwrap_or(text) };
        let names = if is_json { json::first_keys(text)? } else { table::column_names(text) };
        let found = match is_json {
            true => Measurement::of_keys(&names),
            false => Measurement::of_columns(&names).or_else(|| Measurement::of_lines(text)),
        };
        match found {
            Some(kind) => Ok(Some(kind)),
            None => foreign::check_names(&names, is_json).map(|()| None),
        }
    }
}

/// Rejects a CSV that lacks columns of its recognised format and has others for each of them, with the names to give.
pub(crate) fn check_columns(format: Format, head: &[u8]) -> Result<(), Error> {
    let (text, is_json) = text_of(head);
    let found = if is_json { Vec::new() } else { table::column_names(text) };
    let mut required = format.required().iter();
    let missing = required.find(|name| !found.iter().any(|found| found == *name));
    match missing.zip(guess(&found)) {
        Some((name, guess)) => {
            let (columns, found) = (key("columns"), names(&found));
            Err(contents(format!("no column {name}, found {found}; use {columns} {guess}")))
        }
        None => Ok(()),
    }
}

/// Returns the format of a file whose columns or keys are named by the user.
pub(crate) fn named(head: &[u8]) -> Format {
    if text_of(head).1 { Format::Keys } else { Format::Columns }
}

/// Returns the bytes behind a byte order mark, and whether they begin as JSON.
fn text_of(head: &[u8]) -> (&[u8], bool) {
    let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    (text, matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')))
}

/// Returns the format with the most of its columns or keys among `names`, the first of equal ones.
fn best(names: &[String], csv: bool) -> Option<Format> {
    let mut best = (0, None);
    for format in Format::ALL {
        let score = format.score(names);
        if format.is_csv() == csv && score > best.0 {
            best = (score, Some(format));
        }
    }
    best.1
}
