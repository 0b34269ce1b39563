//! Compares two tables of predictions line by line.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// The command that accepts changed predictions.
pub(crate) const ACCEPT: &str =
    "ROOFLUT_ACCEPT=1 cargo test -p rooflut --all-features --test golden";

/// The text in place of a missing number.
const REFUSED: &str = "refused";
/// Relative change up to which numbers count as equal.
const LIMIT: f64 = 0.01;
/// Number of listed differences of a kind; the others are counted.
const LISTED: usize = 10;

/// A file of `tests/golden/` and the format of its numbers.
pub(crate) struct Golden {
    pub(crate) file: &'static str,
    pub(crate) header: &'static str,
    pub(crate) unit: &'static str,
    /// Decimals of a written number.
    pub(crate) decimals: usize,
}

/// A predicted number.
pub(crate) struct Line {
    /// All columns except the number.
    pub(crate) name: String,
    /// `None` if the prediction is an error.
    pub(crate) value: Option<f64>,
}

impl Golden {
    /// Renders `lines` as a table.
    pub(crate) fn render(&self, lines: &[Line]) -> String {
        let mut table = format!("{}\n", self.header);
        for Line { name, value } in lines {
            let value = value.map_or(REFUSED.to_owned(), |value| self.number(value));
            table.push_str(&format!("{name},{value}\n"));
        }
        table
    }

    fn number(&self, value: f64) -> String {
        format!("{value:.*}", self.decimals)
    }

    fn with_unit(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit)
    }
}

/// A table by the names of its lines, and its unreadable lines, such as those of a merge.
#[derive(Default)]
struct Table<'t> {
    values: BTreeMap<&'t str, Option<f64>>,
    unreadable: Vec<&'t str>,
}

impl<'t> Table<'t> {
    fn read(text: &'t str, header: &str) -> Table<'t> {
        let mut table = Table::default();
        for line in text.lines().filter(|line| *line != header) {
            let read = read_line(line).filter(|(name, _)| !table.values.contains_key(name));
            match read {
                Some((name, value)) => {
                    table.values.insert(name, value);
                }
                None => table.unreadable.push(line),
            }
        }
        table
    }
}

fn read_line(line: &str) -> Option<(&str, Option<f64>)> {
    let (name, value) = line.rsplit_once(',')?;
    if value == REFUSED {
        return Some((name, None));
    }
    let value: f64 = value.parse().ok()?;
    (value.is_finite() && value > 0.0).then_some((name, Some(value)))
}

/// A number that changed.
struct Drift<'t> {
    golden: &'t Golden,
    name: &'t str,
    old: f64,
    new: f64,
}

impl Drift<'_> {
    fn change(&self) -> f64 {
        self.new / self.old - 1.0
    }
}

impl fmt::Display for Drift<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [old, new] = [self.old, self.new].map(|value| self.golden.with_unit(value));
        let percent = 100.0 * self.change();
        write!(f, "{}: {old}, now {new} ({percent:+.1} %)", self.name)
    }
}

/// The differences between two tables.
pub(crate) struct Differences<'t> {
    golden: &'t Golden,
    /// Numbers that changed, the largest change first.
    drifts: Vec<Drift<'t>>,
    /// Lines that were added or removed, changed between number and error, or cannot be read.
    others: Vec<String>,
}

impl<'t> Differences<'t> {
    pub(crate) fn between(golden: &'t Golden, old: &'t str, new: &'t str) -> Differences<'t> {
        let [old, new] = [old, new].map(|text| Table::read(text, golden.header));
        let mut differences = Differences {
            golden,
            drifts: Vec::new(),
            others: Vec::new(),
        };
        for line in old.unreadable.iter().chain(&new.unreadable) {
            differences.other(format!("repeated or unreadable: {line}"));
        }
        for (&name, &value) in &old.values {
            match new.values.get(name) {
                Some(&new_value) => differences.compare(name, value, new_value),
                None => differences.other(format!("no longer there: {name}")),
            }
        }
        let came = |name: &&&str| !old.values.contains_key(**name);
        for name in new.values.keys().filter(came) {
            differences.other(format!("not in the file: {name}"));
        }
        let size = |drift: &Drift| drift.change().abs();
        let drifts = &mut differences.drifts;
        drifts.sort_by(|one, other| size(other).total_cmp(&size(one)));
        differences
    }

    fn compare(&mut self, name: &'t str, old: Option<f64>, new: Option<f64>) {
        let golden = self.golden;
        match (old, new) {
            (Some(old), Some(new)) if old.total_cmp(&new).is_ne() => {
                self.drifts.push(Drift {
                    golden,
                    name,
                    old,
                    new,
                });
            }
            (None, Some(new)) => {
                let new = golden.with_unit(new);
                self.other(format!("was refused, now {new}: {name}"));
            }
            (Some(old), None) => {
                let old = golden.with_unit(old);
                self.other(format!("was {old}, now refused: {name}"));
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn other(&mut self, difference: String) {
        self.others.push(difference);
    }

    /// Returns the drifts beyond the limit.
    fn beyond(&self) -> &[Drift<'t>] {
        let is_beyond = |drift: &Drift| drift.change().abs() > LIMIT;
        &self.drifts[..self.drifts.partition_point(is_beyond)]
    }

    /// Returns a failure message if the tables differ by more than the limit.
    pub(crate) fn failure(&self) -> Option<String> {
        let beyond = self.beyond();
        if beyond.is_empty() && self.others.is_empty() {
            return None;
        }
        let file = self.golden.file;
        let mut text = format!("predictions are not those of tests/golden/{file}\n");
        let drifts = format!("drifts above {} %", 100.0 * LIMIT);
        list(&mut text, &drifts, beyond);
        list(&mut text, "other differences", &self.others);
        let _ = write!(
            text,
            "If this is meant, accept it, and list in CHANGELOG.md what it prints:\n  {ACCEPT}"
        );
        Some(text)
    }

    /// Returns the lines for CHANGELOG.md if the new numbers are accepted.
    pub(crate) fn summary(&self) -> String {
        let changed = self.drifts.len() + self.others.len();
        let mut text = format!("{}: lines that change: {changed}", self.golden.file);
        if let Some(largest) = self.drifts.first() {
            let _ = write!(text, "; the largest drift: {largest}");
        }
        text
    }
}

/// Writes the first differences of a kind, and their number.
fn list<D: fmt::Display>(text: &mut String, kind: &str, differences: &[D]) {
    if differences.is_empty() {
        return;
    }
    // Writing to a String does not fail.
    let _ = writeln!(text, "{kind}: {}", differences.len());
    for difference in differences.iter().take(LISTED) {
        let _ = writeln!(text, "  {difference}");
    }
    if let Some(more @ 1..) = differences.len().checked_sub(LISTED) {
        let _ = writeln!(text, "  and {more} more");
    }
}
