//! Scenario files: accepted and rejected.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code outside of test functions"
)]

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
    assert_eq!(
        (inline.workload.seed, inline.output.json),
        (Some(3), Some(true))
    );
}

#[test]
fn dashes_are_as_good_as_underscores_but_not_beside_them() {
    let both = "[server]\nmax-num-seqs = 1\n\nmax_num_seqs = 2";
    assert_eq!(
        rejection(both),
        "line 4: max_num_seqs: expected once, found on line 2, too; remove one"
    );
}

#[test]
fn unknown_names_come_with_the_nearest() {
    for (text, expected) in [
        (
            "modle = 'a'",
            "line 1: unknown key \"modle\" (nearest: model); correct or remove it (`rooflut run --help`",
        ),
        (
            "[server]\nmax-num-seq = 5",
            "line 2: unknown key \"max-num-seq\" in [server] (nearest: max_num_seqs);",
        ),
        (
            "\n[sever]\n",
            "line 2: unknown table \"sever\" (nearest: server); use [server], [workload], [output]",
        ),
        (
            "rate = 5",
            "line 1: rate: expected in [workload]; move it there",
        ),
        (
            "[output]\nmodel = 'a'",
            "line 2: model: expected above the first table; move it there",
        ),
        ("\"\\n\" = 1", "line 1: unknown key \"\\n\""),
        (
            "scenario = 'other.toml'",
            "line 1: unknown key \"scenario\"; correct",
        ),
    ] {
        let message = rejection(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn values_of_another_type_are_rejected_with_their_line() {
    let whole = "expected a whole number of at least 0, as in 1000, 1_000, 1,000 or 1e3";
    let real = "expected a number, as in 1000";
    let either = "expected a number, or text in quotes";
    for (text, written, expected) in [
        ("tp = 'two'", "line 1: tp = 'two'", whole),
        ("tp = 2.5", "tp = 2.5", whole),
        ("tp = true", "tp = true", either),
        (
            "tp = 99999999999999999999",
            "tp = 99999999999999999999",
            "of at most 4,294,967,295",
        ),
        (
            "[server]\nkv-blocks = 4294967296",
            "line 2: kv_blocks = 4294967296",
            "of at most 4,294,967,295",
        ),
        ("gpu = 5", "gpu = 5", "expected text in quotes"),
        ("model = ['a']", "model = ['a']", "expected text in quotes"),
        (
            "output.perfetto = true",
            "perfetto = true",
            "expected text in quotes",
        ),
        (
            "[workload]\nrate = \"fast\"",
            "line 2: rate = \"fast\"",
            real,
        ),
        (
            "[workload]\narrival = 'bursty'",
            "arrival = 'bursty'",
            "expected one of poisson, constant, gamma",
        ),
        (
            "[server]\nrouter = 'best'",
            "router = 'best'",
            "expected one of round-robin",
        ),
        ("[workload]\nprompt = true", "prompt = true", either),
        ("[workload]\nprompt = [1]", "prompt = [1]", either),
        (
            "[workload]\nprompt = {a = 1}",
            "line 2: prompt = {a = 1}",
            either,
        ),
        (
            "[workload]\nprompt = 1979-05-27",
            "prompt = 1979-05-27",
            either,
        ),
        (
            "[workload]\nseed = 1\npriorities = [\n0.5,\n'a']",
            "line 3: priorities = [ 0.5, 'a']",
            "expected shares with commas between them",
        ),
        (
            "[workload]\npriorities = [0.5, 0.6]",
            "priorities = [0.5, 0.6]",
            "whose sum is 1, found the sum 1.1",
        ),
        ("[workload]\nwhere = [1]", "where = [1]", "expected COLUMN"),
        (
            "[workload]\nwhere = [true]",
            "where = [true]",
            "text in quotes, or a list of such",
        ),
        (
            "[output]\njson = 'yes'",
            "json = 'yes'",
            "expected true or false",
        ),
        (
            "workload = 3",
            "workload = 3",
            "expected the table [workload]",
        ),
        (
            "[[server]]\n",
            "server = [[server]]",
            "expected the table [server]",
        ),
    ] {
        let message = rejection(text);
        let (key, found) = written.split_once(" = ").unwrap();
        let (start, end) = (format!("{key}: "), format!("; correct {found}"));
        assert!(
            message.contains(&start) && message.contains(expected),
            "{message}"
        );
        assert!(message.ends_with(&end), "{message}");
    }
    let message = rejection("[workload]\nrate = inf");
    assert!(
        message.contains("line 2: rate: expected a positive, finite number"),
        "{message}"
    );
}

#[test]
fn what_is_not_toml_is_rejected_on_its_line() {
    for text in [
        "a = ",
        "gpu = 'a'\ngpu",
        "gpu = 'a'\ngpu = 'b'",
        "[server\n",
        "x = 'a\u{0}'",
    ] {
        let message = rejection(text);
        assert!(message.contains(": expected TOML: "), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
    assert!(rejection("\n\ngpu = ").starts_with("line 3: "));
    // The parser lets these pass; a fuzzer found them.
    let message = rejection("tp = 1_0\u{0}\u{0}");
    assert!(
        message.contains("line 1: tp: expected a whole number"),
        "{message:?}"
    );
    assert!(!message.contains(char::is_control), "{message:?}");
    let error = ScenarioFile::read(b"gpu = 'a'\ntp = \xff").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2: expected UTF-8 text; save the file as such"
    );
}

#[test]
fn keys_are_unique_over_the_sections() {
    let sections = serde_json::to_value(Scenario::default()).unwrap();
    let sections = sections.as_object().unwrap();
    let keys = sections
        .values()
        .flat_map(|keys| keys.as_object().unwrap().keys());
    let names: HashSet<&String> = keys.clone().collect();
    assert_eq!(names.len(), keys.count());
    // A table and a key above the tables cannot share a name.
    assert!(
        sections
            .keys()
            .all(|section| sections["target"].get(section).is_none())
    );
}

#[test]
fn numbers_have_the_forms_of_the_command_line() {
    let read = |text: &str| ScenarioFile::read(text.as_bytes()).unwrap();
    let forms = read(
        "tp = 2.0\ndtype = 'FP8'\n[workload]\npriorities = '0.2,0.8'\nrate = '1e3'\nrequests = 1e3\nusers = '1,000'\nthink_time = '500ms'\n\
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
