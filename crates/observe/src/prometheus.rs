//! The text format of Prometheus.

use rooflut_error::Error;

use crate::json::contents;

/// A value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample<'t> {
    pub(crate) name: &'t str,
    pub(crate) labels: Vec<(&'t str, String)>,
    pub(crate) value: f64,
}

impl Sample<'_> {
    /// Returns the value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| *label == name).map(|(_, value)| value.as_str())
    }
}

/// Reads all samples. The last line must have an end: a number may be cut off otherwise.
pub(crate) fn read(text: &str) -> Result<Vec<Sample<'_>>, Error> {
    if !text.ends_with('\n') {
        return Err(contents("the last line has no end; fetch the metrics again"));
    }
    let lines = text.lines().zip(1_u64..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let samples = lines.map(|(line, number)| {
        sample(line).ok_or_else(|| {
            contents("expected a metric as in name{label=\"value\"} 1.5, found another line; fetch the metrics again")
                .at_line(number)
        })
    });
    samples.collect()
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    // A time may follow.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// Reads labels up to the brace; returns the rest of the line, too.
fn labels(mut rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = behind.char_indices();
        rest = loop {
            match characters.next()? {
                (at, '"') => break behind.get(at + 1..)?,
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        labels.push((name.trim(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_labels() {
        let text = "# HELP a b\na_total{x=\"1, }\",y=\"q\\\"\\n\"} 1.5e3 1700000000\nb 2\nc{} NaN\n";
        let read = read(text).unwrap();
        let first = read.first().unwrap();
        assert_eq!((first.name, first.value), ("a_total", 1500.0));
        assert_eq!([first.label("x"), first.label("y"), first.label("z")], [Some("1, }"), Some("q\"\n"), None]);
        assert_eq!(read.iter().map(|sample| sample.name).collect::<Vec<_>>(), ["a_total", "b", "c"]);
    }

    #[test]
    fn lines_that_are_cut_off_are_errors() {
        for text in ["a 1", "a{x=\"1 2\n", "a\n", "a{x=\"1\"}\n"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
