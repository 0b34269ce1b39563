//! The keys of a scenario that a sweep can vary.

use std::fmt::Write;

use rooflut_error::{hint, misspelt};
use rooflut_scenario::{Error, Kind, Scenario};
use serde_json::{Map, Value};

/// Maximum number of characters of a cell that an error quotes.
const MAX_QUOTED: usize = 60;

/// Keys of `[output]` that name files or the form of one run's answer.
pub const OF_ONE_RUN: [&str; 10] = [
    "json",
    "require",
    "attainment",
    "requests_out",
    "steps_out",
    "perfetto",
    "windows",
    "windows_out",
    "quantiles",
    "progress",
];

/// Returns the section of a [`Scenario`] that has `key`.
///
/// # Errors
/// No key has this name, or it belongs to the output of a single run.
pub(crate) fn section(key: &str) -> Result<String, Error> {
    let sections = Scenario::default().sections()?;
    let has_key = |keys: &Value| keys.get(key).is_some() && !OF_ONE_RUN.contains(&key);
    let found = sections.iter().find(|(_, keys)| has_key(keys));
    if let Some((section, _)) = found {
        return Ok(section.clone());
    }
    let keys = sections.values().filter_map(Value::as_object).flatten();
    let known = keys.map(|(key, _)| key.as_str()).filter(|key| !OF_ONE_RUN.contains(key));
    let near = hint(misspelt(key, known).as_slice());
    Err(Error::new(Kind::UnknownName, format!("unknown key {key:?}{near}; correct or remove it")))
}

/// Returns the value of a key as the scenario holds it, for a number `1000` for `1e3`.
///
/// # Errors
/// The accepted values, as `expected ...`.
pub(crate) fn canonical(section: &str, key: &str, value: Value) -> Result<Value, String> {
    let keys = Map::from_iter([(key.to_owned(), value)]);
    let sections = Map::from_iter([(section.to_owned(), Value::Object(keys))]);
    let scenario = Scenario::try_from_sections(sections).map_err(|error| error.to_string())?;
    scenario.check_values().map_err(|wrong| format!("expected {}", wrong.expected))?;
    let mut written = scenario.section(section).map_err(|error| error.to_string())?;
    Ok(written.get_mut(key).map(Value::take).unwrap_or_default())
}

/// First characters of texts that a spreadsheet would run, and the mark that keeps it from that.
const MARKED: [char; 5] = ['=', '+', '-', '@', MARK];
const MARK: char = '\'';

/// Whether a spreadsheet would run a cell.
pub(crate) fn is_formula(cell: &str) -> bool {
    cell.starts_with(MARKED) && !cell.starts_with(MARK) && cell.parse::<f64>().is_err()
}

/// Returns the text of a cell without its mark.
pub(crate) fn unmarked(cell: &str) -> &str {
    cell.strip_prefix(MARK).unwrap_or(cell)
}

/// Returns a value as the text of a cell: as JSON has it, text without quotes, nothing for null. Texts that a spreadsheet
/// would run have a mark before them.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(MARKED) => format!("'{text}"),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Adds the cell of a value to a line of CSV.
pub(crate) fn push(line: &mut String, value: &Value) {
    match value {
        Value::Null => (),
        // A `String` takes whatever is written.
        Value::Number(number) => drop(write!(line, "{number}")),
        Value::String(text) if !text.starts_with(MARKED) => push_text(line, text),
        value => push_text(line, &cell(value)),
    }
}

/// Adds a cell to a line of CSV, in quotes where it needs them.
fn push_text(line: &mut String, cell: &str) {
    if cell.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        *line += &format!("\"{}\"", cell.replace('"', "\"\""));
    } else {
        *line += cell;
    }
}

/// Returns the beginning of a text as an error quotes it.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_no_formulas() {
        let values = json!(["=HYPERLINK(\"a\")", "+1", "@a", "'=a", "a=b", -1.5, ["-a", 2]]);
        let values = values.as_array().unwrap();
        let cells: Vec<String> = values.iter().map(cell).collect();
        assert_eq!(cells, ["'=HYPERLINK(\"a\")", "'+1", "'@a", "''=a", "a=b", "-1.5", "'-a 2"]);
        // A text comes back.
        assert!(values.iter().zip(&cells).take(5).all(|(value, cell)| value == unmarked(cell)));
    }
}
