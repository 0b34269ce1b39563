//! The questions of `tests/questions.toml`, each answered by one command.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use serde::Deserialize;
use serde_json::Value;

use crate::support::{LLAMA, rooflut, workspace};

/// Questions that have one command.
const LEAST_ANSWERED: usize = 48;

#[derive(Deserialize)]
struct Page {
    question: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    number: u32,
    ask: String,
    command: Option<String>,
    #[serde(default)]
    exit: i32,
    /// Words of the answer, on either stream.
    #[serde(default)]
    says: Vec<String>,
    /// Pointers to figures, with their ranges.
    #[serde(default)]
    json: BTreeMap<String, (f64, f64)>,
    /// Rows of CSV on standard output.
    rows: Option<usize>,
    /// A file in the folder.
    writes: Option<String>,
    /// Why there is no command.
    none: Option<String>,
}

fn questions() -> Vec<Question> {
    let text = fs::read_to_string(workspace().join("cli/tests/questions.toml")).expect("the questions");
    let page: Page = toml::from_str(&text).expect("questions");
    page.question
}

#[test]
fn nearly_every_question_has_one_command_and_each_other_says_why_it_has_none() {
    let questions = questions();
    let numbers: Vec<u32> = questions.iter().map(|question| question.number).collect();
    assert_eq!(numbers, (1..=56).collect::<Vec<u32>>());
    for Question { ask, command, none, says, json, writes, .. } in &questions {
        assert!(command.is_some() != none.is_some(), "{ask}: a command or a reason");
        let is_checked = !says.is_empty() || !json.is_empty() || writes.is_some();
        assert!(command.is_none() || is_checked, "{ask}: a command whose answer is not looked at");
    }
    let answered = questions.iter().filter(|question| question.command.is_some()).count();
    assert!(answered >= LEAST_ANSWERED, "{answered} of {}", questions.len());
}

#[test]
fn each_command_answers_its_question() {
    let questions = questions();
    let (left, complaints) = (Mutex::new(questions.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("no panic").next();
                    let Some(question) = next else {
                        return;
                    };
                    let found = question.complaints();
                    complaints.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("no panic");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

impl Question {
    /// Returns what is wrong with the answer.
    fn complaints(&self) -> Vec<String> {
        let Some(command) = self.command.as_ref() else {
            return Vec::new();
        };
        let folder = tempfile::tempdir().expect("a folder");
        lay_out(folder.path());
        let mut command = command.replace("DIR", folder.path().to_str().expect("UTF-8"));
        if !self.json.is_empty() {
            command.push_str(" --json");
        }
        let output = rooflut(&command).output().expect("the binary starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let said = format!("{stdout} {stderr}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut wrong = Vec::new();
        if output.status.code() != Some(self.exit) {
            wrong.push(format!("{}, expected {}: {stderr}", output.status, self.exit));
        }
        wrong.extend(
            self.says.iter().filter(|words| !said.contains(*words)).map(|words| format!("no {words:?} in {said}")),
        );
        let answer: Value = serde_json::from_str(&stdout).unwrap_or_default();
        for (pointer, (from, to)) in &self.json {
            let figure = answer.pointer(pointer).and_then(Value::as_f64);
            if figure.is_none_or(|figure| !(*from..=*to).contains(&figure)) {
                wrong.push(format!("{pointer} is {figure:?}, expected {from} to {to}"));
            }
        }
        let rows = stdout.lines().count().saturating_sub(1);
        wrong.extend(
            self.rows.filter(|expected| *expected != rows).map(|expected| format!("{rows} rows, expected {expected}")),
        );
        let missing = self.writes.as_ref().filter(|file| !folder.path().join(file).is_file());
        wrong.extend(missing.map(|file| format!("no file {file}")));
        wrong.into_iter().map(|wrong| format!("{} ({}): {wrong}", self.number, self.ask)).collect()
    }
}

/// Writes the files that commands name.
fn lay_out(folder: &Path) {
    let fleet = "[[fleet]]\ngpu = \"h100\"\n[[fleet]]\ngpu = \"l40s\"\n";
    for (name, text) in [("config.json", LLAMA), ("fleet.toml", fleet)] {
        fs::write(folder.join(name), text).expect("a file");
    }
}
