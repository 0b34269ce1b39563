//! What scenarios say, and what is refused in them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code outside of test functions"
)]

use std::collections::HashSet;

use rooflut_scenario::{KEYS, Kind, Section, read};

fn arguments(text: &str) -> Vec<String> {
    let entries = read(text.as_bytes()).unwrap();
    entries.iter().flat_map(|entry| entry.arguments()).collect()
}

fn refusal(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn values_of_every_kind_become_arguments_in_the_order_of_the_file() {
    let text = "\u{feff}# A comment.
model = 'llama'
tp = 0x10
[output]
json = true
[workload]
priorities = [0.8, 1, 2e-1]
where = ['a=b', 'c=d']
prompt = 1_000
output = \"uniform:1..2\"
rate = 5
think_time = -1.5
[server]
kv-blocks = 99999999999999999999
";
    let expected = [
        "--model=llama",
        "--tp=16",
        "--json",
        "--priorities=0.8,1,2e-1",
        "--where=a=b",
        "--where=c=d",
        "--prompt=1000",
        "--output=uniform:1..2",
        "--rate=5",
        "--think-time=-1.5",
        "--kv-blocks=99999999999999999999",
    ];
    assert_eq!(arguments(text), expected);
    let lines: Vec<u64> = read(text.as_bytes())
        .unwrap()
        .iter()
        .map(|e| e.line)
        .collect();
    assert_eq!(lines, [2, 3, 5, 7, 8, 9, 10, 11, 12, 14]);
}

#[test]
fn switches_that_are_off_and_empty_files_say_nothing() {
    assert!(arguments("").is_empty());
    assert!(arguments("[workload]\n[output]\njson = false").is_empty());
    assert_eq!(
        arguments("workload.seed = 3\noutput = { json = true }").len(),
        2
    );
}

#[test]
fn dashes_are_as_good_as_underscores_but_not_beside_them() {
    let both = "[server]\nmax-num-seqs = 1\n\nmax_num_seqs = 2";
    assert_eq!(
        refusal(both),
        "line 4: max_num_seqs: expected once, found on line 2, too; remove one"
    );
}

#[test]
fn unknown_names_come_with_the_nearest() {
    for (text, expected) in [
        (
            "modle = 'a'",
            "line 1: unknown key \"modle\" (nearest: model, max_model_len); `rooflut run --help`",
        ),
        (
            "[server]\nmax-num-seq = 5",
            "line 2: unknown key \"max-num-seq\" in [server] (nearest: max_num_seqs",
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
            "line 1: unknown key \"scenario\"",
        ),
    ] {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn values_of_another_kind_are_refused_with_both() {
    for (text, expected) in [
        (
            "tp = '2'",
            "line 1: tp: expected a whole number, found the text \"2\"; correct it",
        ),
        (
            "tp = 2.0",
            "tp: expected a whole number, found the number 2.0",
        ),
        (
            "gpu = 5",
            "gpu: expected text in quotes, found the number 5",
        ),
        (
            "[workload]\nrate = 'x'",
            "line 2: rate: expected a number, found the text \"x\"",
        ),
        (
            "[workload]\nprompt = true",
            "a number, or text in quotes, found true",
        ),
        ("[workload]\nprompt = [1]", "found a list"),
        ("[workload]\nprompt = {a = 1}", "found a table"),
        (
            "[workload]\npriorities = 1",
            "a list of numbers, as in [0.8, 0.2], found the number 1",
        ),
        ("[workload]\npriorities = ['a']", "a list of numbers"),
        (
            "[workload]\nwhere = [1]",
            "text in quotes, or a list of such, found a list",
        ),
        (
            "[output]\njson = 'yes'",
            "true or false, found the text \"yes\"",
        ),
        ("gpu = 2020-01-01", "found the time 2020-01-01"),
        (
            "workload = 3",
            "workload: expected the table [workload], found the number 3",
        ),
        (
            "[[server]]\n",
            "server: expected the table [server], found a list",
        ),
    ] {
        let message = refusal(text);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_is_no_toml_is_refused_on_its_line() {
    for text in [
        "a = ",
        "gpu = 'a'\ngpu",
        "gpu = 'a'\ngpu = 'b'",
        "[server\n",
        "x = 'a\u{0}'",
    ] {
        let message = refusal(text);
        assert!(message.contains(": expected TOML: "), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
    assert!(refusal("\n\ngpu = ").starts_with("line 3: "));
    // The parser lets these pass; a fuzzer found them.
    let message = refusal("tp = 1_0\u{0}\u{0}");
    assert!(
        message.contains("tp: expected a whole number, found"),
        "{message:?}"
    );
    assert!(!message.contains(char::is_control), "{message:?}");
    let error = read(b"gpu = 'a'\ntp = \xff").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2: expected UTF-8 text; save the file as such"
    );
}

#[test]
fn names_of_keys_are_unique() {
    let names: HashSet<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    assert!(Section::NAMED.iter().all(|table| *table != Section::Top));
    // A table and a key above the tables cannot share a name.
    let top = KEYS.iter().filter(|key| key.section == Section::Top);
    assert!(
        top.clone()
            .all(|key| Section::NAMED.iter().all(|table| table.name() != key.name))
    );
    assert!(KEYS.iter().any(|key| key.kind == Kind::Switch));
}
