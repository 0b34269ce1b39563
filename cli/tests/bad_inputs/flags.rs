//! Every flag of every command, as `--help` lists them, with values that it cannot mean.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a helper of tests fails as tests do")]

use crate::NEEDED;
use crate::bounded::{Place, check_all, says_what_to_do};

const MEASURED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/observe/tests/files/guidellm-0.8.1/concurrency-4.json");
const AGAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/measured/again.json");
const ENGINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/measured/my-server.toml");
const VALUES: [&str; 9] = ["-1", "0", "99999999999999999999", "1e308", "NaN", "inf", "", "ü\u{202e}√", "a\nb"];

/// Returns whether a flag can mean a value after all.
fn can_mean(flag: &str, value: &str) -> bool {
    match flag {
        "--cached-prompt" | "--prefix-hit-rate" | "--q-rank" | "--ratio" | "--seed" | "--warm-up" | "--watermark"
        | "--window" => value == "0",
        // Priorities have shares of all requests.
        "--rate" | "--priorities" => ["99999999999999999999", "1e308"].contains(&value),
        // Names of files.
        "--junit" | "--name" | "--requests-out" | "--steps-out" | "--perfetto" | "--out" | "--scenario-out"
        | "--html" => !value.is_empty(),
        _ => false,
    }
}

/// The commands with their flags that take a value.
fn flags(place: &Place, command: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = place.run(&arguments).expect("it ends well").expect("help");
    // Flags of a command without its subcommand are those of the subcommands, too.
    let usage = help.lines().find(|line| line.starts_with("Usage:"));
    let is_complete = !command.is_empty() && !usage.expect("a usage").ends_with("<COMMAND>");
    let mut is_of_commands = false;
    for line in help.lines() {
        is_of_commands = match line {
            "" => false,
            line => is_of_commands || line == "Commands:",
        };
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("Commands:" | "help"), _) => (),
            // Lines of a wrapped description are indented further.
            (Some(name), Some(_)) if is_of_commands && !line.starts_with("   ") => {
                let command = [command, &[name.to_owned()]].concat();
                flags(place, &command, found);
            }
            (Some(flag), Some(value)) if is_complete && flag.starts_with("--") && value.starts_with('<') => {
                found.push((command.to_vec(), flag.to_owned()));
            }
            _ => (),
        }
    }
}

/// A path that a command is given where it needs one, so that a flag of free text is not refused for itself.
const NO_FILE: &str = "no-such";

/// Returns whether a message names a flag or quotes its value, whose control characters are escaped.
fn is_about(line: &str, flag: &str, value: &str) -> bool {
    let escaped = value.replace('\n', "\\n").replace('\u{202e}', "\\u{202e}");
    let quoted = if value.is_empty() { "\"\"" } else { &escaped };
    [flag, NO_FILE, quoted].into_iter().any(|name| line.contains(name))
}

#[test]
fn every_flag_takes_a_value_that_it_can_mean_and_refuses_others_in_one_line() {
    let place = Place::new();
    let mut found = Vec::new();
    flags(&place, &[], &mut found);
    assert!(found.len() > 20, "{found:?}");
    // Subcommands share flags.
    found.sort_by(|a, b| (&a.0[0], &a.1).cmp(&(&b.0[0], &b.1)));
    found.dedup_by(|a, b| (&a.0[0], &a.1) == (&b.0[0], &b.1));
    let cases: Vec<_> =
        (found.iter()).flat_map(|(command, flag)| VALUES.map(|value| (command, flag.as_str(), value))).collect();
    check_all(&cases, |&(command, flag, value)| {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let name = arguments.join(" ");
        let needed = NEEDED.iter().find(|(command, _)| *command == name);
        let needed: Vec<&str> = needed.map_or("", |(_, needed)| needed).split(' ').collect();
        let others = needed.chunks_exact(2).filter(|pair| pair[0] != flag);
        arguments.extend(others.flatten());
        match name.split(' ').next() {
            Some("import") => arguments.extend([NO_FILE, "new"]),
            Some("observe" | "calibrate") => arguments.push(MEASURED),
            Some("watch") => arguments.extend([ENGINE, AGAIN]),
            Some("compare") => arguments.extend([NO_FILE, NO_FILE]),
            Some("validate") if ["--calibration", "--scatter", "--html"].contains(&flag) => arguments.push(NO_FILE),
            _ if name == "tables score" || name == "tables plot" && flag != "--tables" => arguments.push(NO_FILE),
            _ => (),
        }
        arguments.extend([flag, value]);
        let complaint = match Place::new().run(&arguments) {
            Ok(Ok(_)) if can_mean(flag, value) => return None,
            Ok(Ok(_)) => "is taken".to_owned(),
            Ok(Err(line)) if says_what_to_do(&line) && is_about(&line, flag, value) => return None,
            Ok(Err(line)) => format!("without flag or advice: {line}"),
            Err(complaint) => complaint,
        };
        Some(format!("{arguments:?}: {complaint}"))
    });
}
