//! JSON as Python writes it.

use std::path::Path;

use rooflut_error::JsonSize;
use serde_json::{Map, Value};

use crate::error::ConfigError;

/// Maximum size of a file in memory, MiB.
const MAX_MIB: u64 = 256;

/// Parses an object, of a file `beside` the `config.json` if that is named.
///
/// Python writes numbers that JSON has no words for as `Infinity`, `-Infinity` and `NaN`. They become strings, so that
/// a dimension with such a value is refused by what the file says. A byte order mark is skipped.
pub(crate) fn parse(json: &[u8], beside: Option<&'static str>) -> Result<Map<String, Value>, ConfigError> {
    JsonSize::VALUES.check(json, MAX_MIB).map_err(|error| match beside {
        Some(file) => ConfigError::TooLarge(error.in_file(Path::new(file))),
        None => ConfigError::TooLarge(error),
    })?;
    let json = json.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(json);
    let strict = serde_json::from_slice(json);
    // The error of the text as given has the right line and column.
    let read = strict.or_else(|error| serde_json::from_slice(&quoted(json)).map_err(|_| error));
    read.map_err(|error| match beside {
        Some(file) => ConfigError::Beside { file, error },
        None => ConfigError::Json(error),
    })
}

/// Returns the text with the numbers of Python in quotes.
fn quoted(json: &[u8]) -> Vec<u8> {
    const NUMBERS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let mut text = Vec::with_capacity(json.len());
    let mut rest = json;
    let mut in_string = false;
    while let [first, tail @ ..] = rest {
        let number = NUMBERS.into_iter().find(|number| rest.starts_with(number));
        let taken = match (in_string, number) {
            (false, Some(number)) => {
                text.push(b'"');
                text.extend_from_slice(number);
                text.push(b'"');
                number.len()
            }
            // The character behind a backslash does not end the string.
            (true, _) if *first == b'\\' => {
                text.push(*first);
                text.extend(tail.first());
                2
            }
            _ => {
                in_string ^= *first == b'"';
                text.push(*first);
                1
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_python_writes_them_are_read() {
        let text = br#"{"limit": [0.0, Infinity], "low": -Infinity, "nan": NaN, "say \"Infinity": "NaN\\"}"#;
        let object = parse(text, None).unwrap();
        assert_eq!(object["limit"][1], "Infinity");
        assert_eq!(object["low"], "-Infinity");
        assert_eq!(object["nan"], "NaN");
        assert_eq!(object[r#"say "Infinity"#], r"NaN\");
        assert_eq!(parse(b"\xEF\xBB\xBF{\"a\": 1}", None).unwrap()["a"], 1);
    }

    #[test]
    fn other_texts_keep_their_error() {
        for text in ["", "[1]", "\u{0}\u{1}", "{\"a\": Infinity,", "{\"a\": Inf}"] {
            let Err(ConfigError::Json(error)) = parse(text.as_bytes(), None) else {
                panic!("{text}");
            };
            assert_eq!(error.to_string(), serde_json::from_str::<Map<String, Value>>(text).unwrap_err().to_string());
        }
    }

    #[test]
    fn a_small_text_of_many_values_is_refused_before_it_takes_memory() {
        let text = format!("{{\"model_type\": \"llama\",\n\"x\": [{}0]}}", "0,".repeat(2 << 20));
        let error = parse(text.as_bytes(), Some("beside.json")).unwrap_err();
        let expected = "beside.json:2: expected JSON that takes at most 256 MiB in memory, found more";
        assert!(matches!(error, ConfigError::TooLarge(_)) && error.to_string().starts_with(expected), "{error}");
    }
}
