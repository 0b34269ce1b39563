//! Scenario files: accepted and rejected.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code outside of test functions")]

use std::collections::HashSet;

use rooflut_scenario::{LengthDistribution, Scenario, ScenarioFile};

fn read(text: &str) -> Scenario {
    let file = ScenarioFile::read(text.as_bytes()).unwrap();
    file.scenario().clone()
}

fn rejection(text: &str) -> String {
    let error = ScenarioFile::read(text.as_bytes()).unwrap_err();
    error.to_string()
}

#[test]
fn values_of_every_kind_are_read_with_their_lines() {
    let text = "\u{feff}# A comment.
model = 'llama'
tp = 0x10
[output]
json = true
goodput = 'ttft:200'
[workload]
priorities = [0.3, 0.5, 2e-1]
where = ['a=b', 'c=d']
prompt = 1_000
output = \"uniform:1..2\"
rate = 5
think_time = 1.5
[server]
kv-blocks = 99
";
    let scenario = read(text);
    assert_eq!(scenario.target.model(), "llama");
    assert_eq!(scenario.target.tp(), 16);
    assert_eq!(scenario.output.json, Some(true));
    assert_eq!(scenario.output.goodput.unwrap().len(), 1);
    let workload = scenario.workload;
    assert_eq!(workload.priorities.unwrap().shares(), [0.3, 0.5, 0.2]);
    let conditions = workload.conditions.unwrap();
    let conditions: Vec<String> = conditions.iter().map(ToString::to_string).collect();
    assert_eq!(conditions, ["a=b", "c=d"]);
    assert_eq!(workload.prompt, Some(LengthDistribution::fixed(1_000)));
    assert_eq!(workload.output.unwrap().to_string(), "uniform:1..2");
    assert_eq!(workload.rate, Some(5.0));
    assert_eq!(workload.think_time.unwrap().to_string(), "1.5");
    assert_eq!(scenario.server.kv_blocks, Some(99));
    let file = ScenarioFile::read(text.as_bytes()).unwrap();
    let lines: Vec<u64> = file.keys().map(|(_, line)| line).collect();
    assert_eq!(lines, [2, 3, 5, 6, 8, 9, 10, 11, 12, 13, 15]);
}

#[test]
fn a_scenario_comes_back_from_json() {
    let text = "tables = 'a b'\n[workload]\nprompt = 'lognormal:512,0.6@16..4096'\n\
                think_time = 'exponential:20'\nprefixes = '4x1000'\nseed = 7\n\
                trace_format = 'azure'\nwhere = 'a=b'\n[server]\nrouter = 'least-tokens'\n\
                [output]\nstrict = 'smoothed,inside'\ngoodput = ['ttft:0.1', 'e2e:3']\n";
    let scenario = read(text);
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    assert!(serde_json::from_str::<Scenario>("{\"target\": {\"modle\": \"a\"}}").is_err());
}

#[test]
fn empty_files_and_tables_say_nothing() {
    assert_eq!(read(""), Scenario::default());
    assert_eq!(read("[workload]\n[output]"), Scenario::default());
    let inline = read("workload.seed = 3\noutput = { json = true }");
    assert_eq!((inline.workload.seed, inline.output.json), (Some(3), Some(true)));
}

#[test]
fn what_is_not_toml_is_rejected_on_its_line() {
    assert!(rejection("x = 'a\u{0}'").contains(": invalid TOML: "));
    // The parser lets these pass; a fuzzer found them.
    let message = rejection("tp = 1_0\u{0}\u{0}");
    assert!(message.contains("line 1: tp: expected a whole number"), "{message:?}");
    assert!(!message.contains(char::is_control), "{message:?}");
    let error = ScenarioFile::read(b"gpu = 'a'\ntp = \xff").unwrap_err();
    assert_eq!(error.to_string(), "line 2: expected UTF-8 text; save the file as such");
}

#[test]
fn keys_are_unique_over_the_sections() {
    let sections = serde_json::to_value(Scenario::default()).unwrap();
    let sections = sections.as_object().unwrap();
    let keys = sections.values().flat_map(|keys| keys.as_object().unwrap().keys());
    let names: HashSet<&String> = keys.clone().collect();
    assert_eq!(names.len(), keys.count());
    // A table and a key above the tables cannot share a name.
    assert!(sections.keys().all(|section| sections["target"].get(section).is_none()));
}

#[test]
fn numbers_have_the_forms_of_the_command_line() {
    let read = |text: &str| ScenarioFile::read(text.as_bytes()).unwrap();
    let forms = read(
        "tp = 2.0\ndtype = 'FP8'\n[workload]\npriorities = '0.2,0.8'\nrate = '1e3'\nrequests = 1e3\nusers = '1_000'\nthink_time = '500ms'\n\
         [server]\nlink_latency = '0.1ms'\n[output]\ngoodput = 'ttft:0.2s'",
    );
    let plain = read(
        "tp = 2\ndtype = 'fp8'\n[workload]\npriorities = [0.2, 0.8]\nrate = 1000\nrequests = 1000\nusers = 1000\nthink_time = 0.5\n\
         [server]\nlink_latency = 100\n[output]\ngoodput = 'ttft:200'",
    );
    assert_eq!(forms.scenario(), plain.scenario());
    let mut json = serde_json::to_value(Scenario::default()).unwrap();
    json["workload"]["seed"] = u64::MAX.into();
    let scenario: Scenario = serde_json::from_value(json).unwrap();
    assert_eq!(scenario.workload.seed, Some(u64::MAX));
}
