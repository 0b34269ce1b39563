//! A scenario as the command that simulates it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fields::fields;
use crate::fleet::Fleet;
use crate::scenario::Scenario;
use crate::vllm::shell_quoted;

/// Keys of the output that change no figure.
const OF_OUTPUT: [&str; 6] = ["windows_out", "json", "requests_out", "steps_out", "perfetto", "progress"];
/// Keys whose flags take a list; for `sweep`, a flag that is repeated is an axis.
const LISTS: [&str; 5] = ["lose", "prefill", "decode", "goodput", "price"];

impl Scenario {
    /// Returns the words of the `rooflut run` command that repeats a run of this scenario, quoted for a POSIX shell: a
    /// flag for each key that is given, except for files and forms of the output. Files have their paths as given.
    ///
    /// `None` if flags cannot say it: a trace from standard input, and `[[fleet]]` tables of the scenario itself.
    ///
    /// ```
    /// use rooflut_scenario::ScenarioFile;
    /// let file = ScenarioFile::read(b"tp = 2\n[workload]\nrate = 3\nprompt = 'uniform:1..9'\n")?;
    /// let words = file.scenario().command().unwrap_or_default();
    /// assert_eq!(words.join(" "), "rooflut run --tp 2 --rate 3 --prompt uniform:1..9");
    /// # Ok::<(), rooflut_scenario::Error>(())
    /// ```
    pub fn command(&self) -> Option<Vec<String>> {
        let is_stdin = |path: &Path| ["-", "/dev/stdin"].map(Path::new).contains(&path);
        let from_stdin = self.workload.trace.as_deref().is_some_and(is_stdin);
        let fleet = self.server.fleet.as_ref().map(Fleet::path);
        if from_stdin || fleet == Some(None) {
            return None;
        }
        let mut words = vec!["rooflut".to_owned(), "run".to_owned()];
        let keys = in_order(&self.target)?.into_iter().chain(in_order(&self.workload)?);
        let keys = keys.chain(in_order(&self.server)?).chain(in_order(&self.output)?);
        for (key, value) in keys.filter(|(key, _)| !OF_OUTPUT.contains(key)) {
            let flag = format!("--{}", key.replace('_', "-"));
            match (key, &value, fleet.flatten()) {
                ("fleet", _, Some(path)) => words.extend([flag, shell_quoted(&path.display().to_string())]),
                (_, Value::Null, _) => (),
                (_, Value::Bool(on), _) => words.push(format!("{flag}={on}")),
                // Shares.
                (_, Value::Array(values), _) if values.iter().all(Value::is_number) => {
                    words.extend([flag, values.iter().map(shown).collect::<Vec<_>>().join(",")]);
                }
                (_, Value::Array(values), _) if LISTS.contains(&key) => {
                    words.extend([flag].into_iter().filter(|_| !values.is_empty()));
                    words.extend(values.iter().map(shown));
                }
                (_, Value::Array(values), _) => {
                    for value in values {
                        words.extend([flag.clone(), shown(value)]);
                    }
                }
                (_, value, _) => words.extend([flag, shown(value)]),
            }
        }
        Some(words)
    }
}

/// Returns the fields of a table with their values, in the order of the struct. Whether an object of serde_json keeps that
/// order is a matter of its features.
fn in_order<T: Serialize + Deserialize<'static>>(table: &T) -> Option<Vec<(&'static str, Value)>> {
    let values = serde_json::to_value(table).ok()?;
    let value = |name: &&'static str| Some((*name, values.get(*name)?.clone()));
    Some(fields::<T>().iter().filter_map(value).collect())
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
        scenario.workload.priorities = Some("0.8,0.2".parse().unwrap());
        scenario.server.prefill = Some(vec!["tp=2".parse().unwrap(), "max_num_seqs=64".parse().unwrap()]);
        scenario.output.goodput = Some(vec!["ttft:200".parse().unwrap(), "tpot:0.5".parse().unwrap()]);
        let words = scenario.command().unwrap();
        let expected = "rooflut run --model 'it'\\''s mine/config.json' --assume-llama=true --rate 30 --prompt \
                        lognormal:512,0.6@16..4096 --priorities 0.8,0.2 --where 'Model=GPT-4 x' --prefill tp=2 \
                        max_num_seqs=64 --goodput ttft:200 tpot:0.5";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn outputs_of_the_command_are_left_out_and_what_flags_cannot_say_has_none() {
        let mut scenario = Scenario::default();
        scenario.output.json = Some(true);
        scenario.output.requests_out = Some("requests.csv".into());
        scenario.output.windows = Some("auto".parse().unwrap());
        assert_eq!(scenario.command().unwrap().join(" "), "rooflut run --windows auto");
        scenario.workload.trace = Some("-".into());
        assert_eq!(scenario.command(), None);
        let mut scenario = Scenario::default();
        scenario.server.fleet = Fleet::read(b"[[fleet]]\ngpu = 'h100'\n").ok();
        assert_eq!(scenario.command(), None);
    }
}
