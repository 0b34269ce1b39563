//! A scenario as the command that simulates it.

use rooflut_scenario::{Scenario, VllmCommand, shell_quoted};
use serde_json::Value;

use crate::error::{Error, with_flags};
use crate::output::{text_width, wrapped_at};

/// Returns the words of `rooflut run` with a flag for each key of `scenario` that is given, quoted for a POSIX shell.
pub(crate) fn of(scenario: &Scenario) -> Result<Vec<String>, Error> {
    let mut words = vec!["rooflut".to_owned(), "run".to_owned()];
    let tables = [
        serde_json::to_value(&scenario.target)?,
        serde_json::to_value(&scenario.workload)?,
        serde_json::to_value(&scenario.server)?,
        serde_json::to_value(&scenario.output)?,
    ];
    let keys = tables.iter().filter_map(Value::as_object).flatten();
    for (key, value) in keys {
        let flag = format!("--{}", key.replace('_', "-"));
        match value {
            Value::Null => (),
            Value::Bool(on) => words.push(format!("{flag}={on}")),
            Value::Array(values) => {
                for value in values {
                    words.extend([flag.clone(), shown(value)]);
                }
            }
            value => words.extend([flag, shown(value)]),
        }
    }
    Ok(words)
}

/// Returns a command over as many lines as its label and width need, which a shell reads as one.
pub(crate) fn wrapped(indent: usize, label: &str, words: &[String]) -> String {
    const CONTINUED: &str = " \\";
    let width = text_width().saturating_sub(indent + CONTINUED.len());
    let mut lines: Vec<String> = Vec::new();
    // A value stays with its flag.
    let starts_with = |word: &str| word.starts_with("--");
    for (index, word) in words.iter().enumerate() {
        let value = words.get(index + 1).filter(|next| !starts_with(next)).filter(|_| starts_with(word));
        let needed = word.chars().count() + value.map_or(0, |value| 1 + value.chars().count());
        let is_value = index > 0 && !starts_with(word);
        match lines.last_mut() {
            Some(line) if is_value || line.chars().count() + 1 + needed <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    let separator = format!("{CONTINUED}\n{}", " ".repeat(indent + 2));
    crate::output::labelled(indent, label, &lines.join(&separator))
}

/// Returns the line of the `vllm serve` command of one server, or why there is none.
pub(crate) fn vllm(indent: usize, command: &VllmCommand) -> String {
    match command.words() {
        Ok(words) => wrapped(indent, "vLLM", words),
        Err(why) => wrapped_at(indent, "vLLM", &format!("no command: {}", with_flags(&why))),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shell_quoted(text),
        // Also whole numbers that are stored as floating-point ones.
        Value::Number(number) => {
            number.as_f64().filter(|_| number.is_f64()).map_or_else(|| number.to_string(), |value| value.to_string())
        }
        other => shell_quoted(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_written_as_its_flag_reads_it() {
        let mut scenario = Scenario::default();
        scenario.target.model = Some("it's mine/config.json".to_owned());
        scenario.target.assume_llama = Some(true);
        scenario.workload.rate = Some(30.0);
        scenario.workload.prompt = Some("lognormal:512,0.6@16..4096".parse().unwrap());
        scenario.workload.conditions = Some(vec!["Model=GPT-4 x".parse().unwrap()]);
        scenario.output.goodput = Some(vec!["ttft:200".parse().unwrap(), "tpot:0.5".parse().unwrap()]);
        let words = of(&scenario).unwrap();
        let expected = "rooflut run --model 'it'\\''s mine/config.json' --assume-llama=true --rate 30 --prompt \
                        lognormal:512,0.6@16..4096 --where 'Model=GPT-4 x' --goodput ttft:200 --goodput tpot:0.5";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn a_long_command_continues_on_the_next_line() {
        let mut scenario = Scenario::default();
        scenario.target.model = Some("m".repeat(60));
        scenario.target.tp = Some(2);
        let text = wrapped(11, "command", &of(&scenario).unwrap());
        let text = anstream::adapter::strip_str(&text).to_string();
        let model = "m".repeat(60);
        let expected = format!("  command  rooflut run \\\n             --model {model} \\\n             --tp 2\n");
        assert_eq!(text, expected);
    }
}
