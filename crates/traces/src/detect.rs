//! Recognises the format of a file.

use rooflut_error::misspelt;

use crate::error::{Problem, TraceError};
use crate::foreign::Foreign;
use crate::format::Format;
use crate::{json, table};

impl Format {
    /// Recognises the format of a file by its columns or keys; `head` is the file or its beginning.
    ///
    /// A CSV is [`Format::Own`] unless its columns match another format better. Reads one line of CSV, or one object of
    /// JSON.
    ///
    /// # Errors
    ///
    /// [`TraceError`] if the file is known to be no trace. Also if the file begins as JSON and its first object cannot
    /// be read or matches no format.
    ///
    /// ```
    /// use rooflut_traces::Format;
    /// let text = r#"{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}"#;
    /// assert_eq!(Format::detect(text.as_bytes()), Ok(Format::Mooncake));
    /// ```
    pub fn detect(head: &[u8]) -> Result<Format, TraceError> {
        let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
        let is_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
        let found = if is_json { json::first_keys(text)? } else { table::column_names(text) };
        if let Some(foreign) = Foreign::of_names(&found, is_json) {
            return Err(Problem::Foreign(foreign).into());
        }
        match best(&found, !is_json) {
            Some(format) => Ok(format),
            None if is_json => Err(Problem::UnknownKeys { found }.into()),
            None => Ok(Format::Own),
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
    /// [`Problem::Misspelt`] if one of them looks like an optional one that is missing.
    pub(crate) fn ignored(self, found: &[&str]) -> Result<Vec<String>, Problem> {
        let missing = self.optional().iter().filter(|name| !found.contains(name));
        let missing: Vec<&'static str> = missing.copied().collect();
        let unknown = found.iter().filter(|found| !found.is_empty() && !self.names().any(|known| known == **found));
        let ignored = unknown.map(|found| match misspelt(found, missing.iter().copied()) {
            None => Ok((*found).to_owned()),
            Some(meant) => Err(Problem::Misspelt { found: (*found).to_owned(), meant, is_csv: self.is_csv() }),
        });
        ignored.collect()
    }
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
