//! Recognises the format of a file.

use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::json::Json;
use crate::table;

impl Format {
    /// Recognises the format of a file by its columns or keys.
    ///
    /// A CSV is [`Format::Own`] unless more of its columns are those of another format. Reads one line of
    /// CSV, or one object of JSON.
    ///
    /// # Errors
    ///
    /// [`TraceError`] if the file begins as JSON and its first object cannot be read or has keys of no
    /// format.
    ///
    /// ```
    /// use rooflut_traces::Format;
    /// let text = r#"{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}"#;
    /// assert_eq!(Format::detect(text.as_bytes()), Ok(Format::Mooncake));
    /// ```
    pub fn detect(bytes: &[u8]) -> Result<Format, TraceError> {
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
            let names = table::column_names(bytes);
            return Ok(best(&names, true).unwrap_or(Format::Own));
        }
        let found = Json::try_new(bytes)?.first_keys()?;
        best(&found, false).ok_or_else(|| Problem::UnknownKeys { found }.into())
    }

    /// Counts the columns or keys of the format among `names`.
    fn score(self, names: &[String]) -> usize {
        let known = self.required().iter().chain(self.others());
        known
            .filter(|known| names.iter().any(|name| name == *known))
            .count()
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
