//! Counts of rows by remark.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A remark on a row. Remarks that differ in one name only are counted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    words: Words,
    name: Option<String>,
}

/// The words around the names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Words {
    /// The words before one name, and before several.
    before: [String; 2],
    after: String,
}

/// Rows with the same remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The remark, with the names of all rows.
    pub text: String,
    /// Lines of the rows, in the order of counting.
    pub lines: Vec<u64>,
}

/// Counts of rows by remark.
#[derive(Debug, Default)]
pub struct Tallies(BTreeMap<Words, Rows>);

#[derive(Debug, Default)]
struct Rows {
    names: BTreeSet<String>,
    lines: Vec<u64>,
}

/// Names that a text lists at most.
const MAX_NAMES: usize = 20;
/// Characters of a name that a text shows at most.
const MAX_NAME_CHARS: usize = 80;

impl Remark {
    /// Creates a remark without a name.
    pub fn new(text: impl Into<String>) -> Remark {
        Remark { words: Words { before: [text.into(), String::new()], after: String::new() }, name: None }
    }

    /// Creates a remark around a name: `before` (for one name, and for several), the name in quotes, then
    /// `after`.
    ///
    /// ```
    /// use rooflut_validation::{Remark, Tallies};
    /// let mut tallies = Tallies::default();
    /// for (line, name) in [(2, "bar"), (3, "foo"), (5, "bar")] {
    ///     tallies.count(line, Remark::naming(["unknown model", "unknown models"], name, "; mend it"));
    /// }
    /// let tally = &tallies.list()[0];
    /// assert_eq!(tally.text, "unknown models \"bar\", \"foo\"; mend it");
    /// assert_eq!(tally.lines, [2, 3, 5]);
    /// ```
    pub fn naming(before: [&str; 2], name: &str, after: &str) -> Remark {
        Remark {
            words: Words { before: before.map(str::to_owned), after: after.to_owned() },
            name: Some(name.to_owned()),
        }
    }

    /// Joins the remarks on one row; `None` if there are none.
    pub(crate) fn joined(mut remarks: Vec<Remark>) -> Option<Remark> {
        match remarks.len() {
            0 | 1 => remarks.pop(),
            _ => {
                let texts: Vec<String> = remarks.iter().map(Remark::to_string).collect();
                Some(Remark::new(texts.join("; ")))
            }
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.text(self.name.iter()))
    }
}

impl Words {
    fn text<'n>(&self, names: impl ExactSizeIterator<Item = &'n String>) -> String {
        let [one, several] = &self.before;
        let count = names.len();
        let before = if count > 1 { several } else { one };
        let names: Vec<String> = names.take(MAX_NAMES).map(|name| quoted(name)).collect();
        let space = if names.is_empty() { "" } else { " " };
        let more = match count.saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{before}{space}{}{more}{}", names.join(", "), self.after)
    }
}

/// Returns `name` in quotes, on one line, without its end if it is long.
pub(crate) fn quoted(name: &str) -> String {
    format!("{:?}", shortened(name))
}

/// Returns `name` without its end, if it is long.
pub(crate) fn shortened(name: &str) -> String {
    let start: String = name.chars().take(MAX_NAME_CHARS).collect();
    let cut = if start.len() < name.len() { "..." } else { "" };
    start + cut
}

impl Tally {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }
}

impl Tallies {
    /// Counts the row on `line`.
    pub fn count(&mut self, line: u64, remark: Remark) {
        let rows = self.0.entry(remark.words).or_default();
        rows.names.extend(remark.name);
        rows.lines.push(line);
    }

    /// Returns the tallies in alphabetical order, independent of the order of the rows.
    pub fn list(&self) -> Vec<Tally> {
        let tally =
            |(words, rows): (&Words, &Rows)| Tally { text: words.text(rows.names.iter()), lines: rows.lines.clone() };
        self.0.iter().map(tally).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_20_names_are_listed() {
        let mut tallies = Tallies::default();
        for line in 0..30 {
            let remark = Remark::naming(["found", "found"], &format!("{line:02}"), "");
            tallies.count(line, remark);
        }
        let [tally] = &tallies.list()[..] else {
            panic!("{tallies:?}");
        };
        assert_eq!(tally.rows(), 30);
        assert!(tally.text.starts_with("found \"00\", \"01\", "));
        assert!(tally.text.ends_with(", \"19\" and 10 more"), "{tally:?}");
    }

    #[test]
    fn names_are_shown_on_one_line_and_cut() {
        let shown = |name: &str| Remark::naming(["found", "found"], name, "").to_string();
        assert_eq!(shown("a\nb"), "found \"a\\nb\"");
        assert_eq!(shown(&"\u{e4}".repeat(80)).chars().count(), 88);
        assert!(shown(&"x".repeat(81)).ends_with("xx...\""));
    }

    #[test]
    fn a_row_with_several_remarks_is_counted_once() {
        let joined = |texts: &[&str]| {
            let remarks = texts.iter().map(|text| Remark::new(*text)).collect();
            Remark::joined(remarks).map(|remark| remark.to_string())
        };
        assert_eq!(joined(&[]), None);
        assert_eq!(joined(&["a"]).unwrap(), "a");
        assert_eq!(joined(&["a", "b"]).unwrap(), "a; b");
    }
}
