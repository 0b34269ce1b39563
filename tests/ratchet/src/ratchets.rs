//! The values of `.ci/ratchets.toml` beside what was measured.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use toml::de::{DeTable, DeValue};

/// The file of the values, below the repository's folder.
const FILE: &str = ".ci/ratchets.toml";

/// A value that may rise only with a reason.
#[derive(Debug, PartialEq)]
struct Ratchet {
    value: f64,
    /// Relative difference by which a measurement may exceed the value.
    tolerance: f64,
    /// Why the value is what it is.
    reason: String,
}

/// Compares measured values with the file, and the file with its version before.
pub(crate) fn check(repository: &Path, measured: &[(&str, f64)]) -> Result<ExitCode, Box<dyn Error>> {
    let text = fs::read_to_string(repository.join(FILE))?;
    let ratchets = read(&text)?;
    let mut failures = Vec::new();
    let mut written = text.clone();
    for &(name, measured) in measured {
        let ratchet = ratchets.get(name).ok_or_else(|| format!("{FILE}: expected [{name}]"))?;
        println!("{name}: {measured}, at most {}", ratchet.value);
        let difference = measured / ratchet.value - 1.0;
        if difference.abs() > ratchet.tolerance {
            written = with_value(&written, name, measured);
            if difference > 0.0 {
                failures.push(format!("{name}: expected {} at most, found {measured}", ratchet.value));
            }
        }
    }
    if env::var_os("ROOFLUT_ACCEPT").is_some() {
        fs::write(repository.join(FILE), written)?;
        println!("{FILE} has what was measured; give a value that has risen another reason");
        return Ok(ExitCode::SUCCESS);
    }
    if !failures.is_empty() {
        failures.push(format!("make it less, or raise the value in {FILE} with the reason beside it"));
    } else if written != text {
        println!("lower the values: ROOFLUT_ACCEPT=1 tests/ratchet/check.sh");
    }
    if let Some(before) = before(repository, &text)? {
        failures.extend(raised(&read(&before)?, &ratchets));
    }
    for failure in &failures {
        eprintln!("{failure}");
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(text: &str) -> Result<BTreeMap<String, Ratchet>, Box<dyn Error>> {
    let mut ratchets = BTreeMap::new();
    for (name, table) in DeTable::parse(text)?.get_ref() {
        let (name, table) = (name.get_ref(), table.get_ref());
        let of = |key: &str| table.get(key).ok_or_else(|| format!("{FILE}: {name}: expected {key}"));
        let number = |key: &str| match of(key)?.get_ref() {
            DeValue::Integer(number) => Ok(number.as_str().replace('_', "").parse()?),
            DeValue::Float(number) => Ok(number.as_str().parse()?),
            _ => Err(Box::<dyn Error>::from(format!("{FILE}: {name}: {key}: expected a number"))),
        };
        let reason = of("reason")?.get_ref().as_str().unwrap_or_default().to_owned();
        if reason.is_empty() {
            return Err(format!("{FILE}: {name}: expected a reason").into());
        }
        let ratchet = Ratchet { value: number("value")?, tolerance: number("tolerance")?, reason };
        ratchets.insert(name.to_string(), ratchet);
    }
    Ok(ratchets)
}

/// Returns the text with the value of a ratchet replaced.
fn with_value(text: &str, name: &str, value: f64) -> String {
    let mut section = "";
    let mut lines = String::new();
    for line in text.lines() {
        section = if line.starts_with('[') { line } else { section };
        if section == format!("[{name}]") && line.starts_with("value = ") {
            lines += &format!("value = {value}\n");
        } else {
            lines += line;
            lines.push('\n');
        }
    }
    lines
}

/// Returns the latest committed version of the file that differs from `text`; none without a history.
fn before(repository: &Path, text: &str) -> Result<Option<String>, Box<dyn Error>> {
    let git = |arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let output = Command::new("git").current_dir(repository).args(arguments).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    for commit in git(&["log", "--format=%H", "--", FILE])?.lines() {
        let version = git(&["show", &format!("{commit}:{FILE}")])?;
        if version != text {
            return Ok(Some(version));
        }
    }
    Ok(None)
}

/// Returns a message for each value that is higher than before for the same reason.
fn raised(before: &BTreeMap<String, Ratchet>, now: &BTreeMap<String, Ratchet>) -> Vec<String> {
    let pairs = now.iter().filter_map(|(name, now)| Some((name, before.get(name)?, now)));
    pairs
        .filter(|(_, before, now)| now.value > before.value && now.reason == before.reason)
        .map(|(name, before, now)| {
            format!(
                "{FILE}: {name} rises from {} to {} without a reason of its own; write why",
                before.value, now.value
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "[a]\nvalue = 10\ntolerance = 0\nreason = \"one\"\n\n[b]\nvalue = 2.5\ntolerance = 0.1\nreason = \"two\"\n";

    #[test]
    fn a_value_rises_only_with_another_reason() {
        let before = read(TEXT).unwrap();
        let higher = with_value(TEXT, "b", 3.0);
        assert_eq!(higher, TEXT.replace("2.5", "3"));
        let messages = raised(&before, &read(&higher).unwrap());
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("b rises from 2.5 to 3"), "{messages:?}");
        let explained = higher.replace("two", "three");
        assert_eq!(raised(&before, &read(&explained).unwrap()), [""; 0]);
        let lower = with_value(TEXT, "a", 9.0);
        assert_eq!(raised(&before, &read(&lower).unwrap()), [""; 0]);
    }

    #[test]
    fn a_value_without_a_reason_is_refused() {
        let message = read(&TEXT.replace("two", "")).unwrap_err().to_string();
        assert_eq!(message, ".ci/ratchets.toml: b: expected a reason");
    }
}
