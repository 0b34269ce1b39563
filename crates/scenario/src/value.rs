//! Values of TOML, as flags take them.

use toml::de::{DeInteger, DeValue};

use crate::key::Kind;

/// The values of a flag for a `value` of this kind; none where it is of another.
pub(crate) fn values(kind: Kind, value: &DeValue<'_>) -> Option<Vec<String>> {
    let one = |value: Option<String>| value.map(|value| vec![value]);
    match kind {
        Kind::Text => one(text(value)),
        Kind::Whole => one(whole(value)),
        Kind::Number => one(number(value)),
        Kind::NumberOrText => one(number(value).or_else(|| text(value))),
        Kind::Numbers => {
            let numbers: Option<Vec<String>> = list(value)?.map(number).collect();
            one(numbers.map(|numbers| numbers.join(",")))
        }
        Kind::Texts => match list(value) {
            Some(texts) => texts.map(text).collect(),
            None => one(text(value)),
        },
        Kind::Switch => matches!(value, DeValue::Boolean(_)).then(Vec::new),
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn whole(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(integer) => decimal(integer),
        _ => None,
    }
}

/// An integer in decimal digits, whichever it is written in. (The parser leaves it to others to see
/// that it is one.)
fn decimal(integer: &DeInteger<'_>) -> Option<String> {
    match integer.radix() {
        10 => {
            let text = integer.as_str();
            let digits = text.trim_start_matches(['+', '-']);
            let is_decimal = digits.bytes().all(|digit| digit.is_ascii_digit());
            is_decimal.then(|| text.to_owned())
        }
        radix => {
            let integer = u128::from_str_radix(integer.as_str(), radix).ok()?;
            Some(integer.to_string())
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Float(float) => {
            let text = float.as_str();
            text.parse::<f64>().is_ok().then(|| text.to_owned())
        }
        other => whole(other),
    }
}

fn list<'v>(value: &'v DeValue<'v>) -> Option<impl Iterator<Item = &'v DeValue<'v>>> {
    match value {
        DeValue::Array(values) => Some(values.iter().map(|value| value.get_ref())),
        _ => None,
    }
}

fn numeral(text: &str) -> String {
    format!("the number {}", shortened(text).escape_debug())
}

/// The most characters of a text that a message shows.
const SHOWN: usize = 40;

/// A value, as messages call it.
pub(crate) fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {:?}", shortened(text)),
        DeValue::Integer(integer) => numeral(integer.as_str()),
        DeValue::Float(float) => numeral(float.as_str()),
        DeValue::Boolean(switch) => switch.to_string(),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// `text` without its end, if it is long.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
