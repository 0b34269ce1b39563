//! Compares two tables of predictions line by line.

use std::collections::BTreeMap;

/// The command that accepts changed predictions.
pub(crate) const ACCEPT: &str = "ROOFLUT_ACCEPT=1 cargo test -p rooflut --all-features --test golden";

/// The text in place of a missing number.
const REFUSED: &str = "refused";
/// Relative change up to which numbers count as equal.
const LIMIT: f64 = 0.01;
/// Number of listed differences; the others are counted.
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
            let value = value.map_or(REFUSED.to_owned(), |value| format!("{value:.*}", self.decimals));
            table.push_str(&format!("{name},{value}\n"));
        }
        table
    }

    /// Returns the written numbers by the names of their lines, or a line that cannot be read, as of a merge.
    fn read<'t>(&self, table: &'t str) -> Result<BTreeMap<&'t str, &'t str>, &'t str> {
        let mut values = BTreeMap::new();
        for line in table.lines().filter(|line| *line != self.header) {
            let (name, value) = line.rsplit_once(',').ok_or(line)?;
            let is_positive = |value: f64| value.is_finite() && value > 0.0;
            let is_number = value.parse().is_ok_and(is_positive) || value == REFUSED;
            if !is_number || values.insert(name, value).is_some() {
                return Err(line);
            }
        }
        Ok(values)
    }

    /// Compares the tables `old` and `new`.
    pub(crate) fn compare(&self, old: &str, new: &str) -> Comparison {
        let (old, new) = match (self.read(old), self.read(new)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(line), _) | (_, Err(line)) => {
                let unreadable = (f64::INFINITY, format!("repeated or unreadable: {line}"));
                return Comparison { differences: vec![unreadable] };
            }
        };
        let names: BTreeMap<_, _> = old.iter().chain(&new).collect();
        let difference = |name: &str| {
            let [before, now] = [&old, &new].map(|table| table.get(name).copied());
            if before == now {
                return None;
            }
            let shown = |value: Option<&str>| match value {
                None => "no line".to_owned(),
                Some(REFUSED) => REFUSED.to_owned(),
                Some(number) => format!("{number} {}", self.unit),
            };
            let number = |value: Option<&str>| value?.parse::<f64>().ok();
            let change = match (number(before), number(now)) {
                (Some(before), Some(now)) => now / before - 1.0,
                _ => f64::INFINITY,
            };
            let text = format!("{name}: {}, now {} ({:+.1} %)", shown(before), shown(now), 100.0 * change);
            Some((change, text))
        };
        let mut differences: Vec<_> = names.keys().filter_map(|name| difference(name)).collect();
        differences.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
        Comparison { differences }
    }
}

/// The lines that differ, each with its relative change and a text, the largest change first. A line that is not in
/// both tables, or without a number in one, has an infinite change.
pub(crate) struct Comparison {
    differences: Vec<(f64, String)>,
}

impl Comparison {
    /// Returns a failure message if the tables differ by more than the limit.
    pub(crate) fn failure(&self, file: &str) -> Option<String> {
        let is_beyond = |(change, _): &&(f64, String)| change.abs() > LIMIT;
        let beyond = self.differences.iter().filter(is_beyond);
        let count = beyond.clone().count();
        if count == 0 {
            return None;
        }
        let listed: String = beyond.take(LISTED).map(|(_, text)| format!("  {text}\n")).collect();
        Some(format!(
            "predictions are not those of tests/golden/{file}\ndifferences above {} %: {count}\n{listed}If this is \
             meant, accept it, and list in CHANGELOG.md what it prints:\n  {ACCEPT}",
            100.0 * LIMIT
        ))
    }

    /// Returns the lines for CHANGELOG.md if the new numbers are accepted.
    pub(crate) fn summary(&self, file: &str) -> String {
        let largest =
            self.differences.first().map_or_else(String::new, |(_, text)| format!("; the largest change: {text}"));
        format!("{file}: lines that change: {}{largest}", self.differences.len())
    }
}
