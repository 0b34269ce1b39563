//! Figures as a table without scripts.

use serde_json::Value;

use crate::text::escaped;

/// Maximum number of lines of the table.
const MAX_FACTS: usize = 200;

/// Returns a table of the figures and texts at the first two levels of an answer; null where it has none.
pub(crate) fn table(name: &str, answer: &Value) -> String {
    let mut facts = Vec::new();
    for (key, value) in answer.as_object().into_iter().flatten() {
        match value {
            Value::Object(inner) => {
                facts.extend(inner.iter().filter_map(|(field, value)| Some((format!("{key} {field}"), shown(value)?))));
            }
            value => facts.extend(shown(value).map(|value| (key.clone(), value))),
        }
    }
    let rows: String = (facts.iter().take(MAX_FACTS))
        .map(|(key, value)| format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(key), escaped(value)))
        .collect();
    format!("<table>\n<caption>{}</caption>\n{rows}</table>\n", escaped(name))
}

/// Returns a number, text or truth as text.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
