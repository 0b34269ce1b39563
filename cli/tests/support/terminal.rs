//! Text as a terminal shows it.

use std::process::Output;

use super::{rooflut, success};

/// The output of a command with these variables set.
pub(crate) fn with_env(line: &str, env: &[(&str, &str)]) -> Output {
    let mut command = rooflut(line);
    command.env_remove("COLUMNS").env_remove("NO_COLOR");
    command.envs(env.iter().copied());
    command.output().expect("it starts")
}

/// Standard output of a command with these variables set.
pub(crate) fn stdout(line: &str, env: &[(&str, &str)]) -> String {
    String::from_utf8(with_env(line, env).stdout).expect("UTF-8")
}

/// The commands that the help of a command lists, as in `run` or `tables check`.
fn commands_below(path: &str) -> Vec<String> {
    let help = stdout(&format!("{path} --help"), &[]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names.map(|name| format!("{path} {name}").trim().to_owned()).collect()
}

/// Asserts that the text of commands fits into 80 columns, into those that there are, and that the titles fit into 40.
pub(crate) fn assert_fit(lines: &[&str]) {
    for line in lines {
        for (env, width) in [(&[][..], 80), (&[("COLUMNS", "100")][..], 100)] {
            let text = stdout(line, env);
            assert!(text.lines().count() > 9, "{line}: {text}");
            let long = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(long, None, "{line}");
        }
    }
    // One begins with its table.
    for line in lines.iter().filter(|line| **line != "models") {
        let text = stdout(line, &[("COLUMNS", "40")]);
        let title: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(title.iter().all(|line| line.len() <= 40), "{line}: {title:?}");
    }
}

/// Asserts that the help of each command wraps and has a manual page, and that `known` are among them.
pub(crate) fn assert_help(known: &[&str]) {
    let mut commands = vec![String::new()];
    let mut place = 0;
    while let Some(command) = commands.get(place).cloned() {
        commands.extend(commands_below(&command));
        place += 1;
    }
    for known in known {
        assert!(commands.iter().any(|command| command == known), "{commands:?}");
    }
    for command in &commands {
        let help = stdout(&format!("{command} --help"), &[]);
        let long = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{command}");
        assert_eq!(stdout(&format!("help {command}"), &[]), help, "{command}");
        let page = success(&format!("man {command}"));
        assert!(page.contains(".SH OPTIONS") && page.contains(".TH rooflut"), "{page}");
    }
}

/// Asserts that the version of a program names the commit and the data.
pub(crate) fn assert_version(program: &str) {
    let line = success("--version");
    let (version, rest) = line.trim_end().split_once(" (").expect("what was built");
    assert_eq!(version, format!("{program} {}", env!("CARGO_PKG_VERSION")));
    let (source, data) = rest.split_once(", data ").expect("the data");
    match source.strip_prefix("commit ") {
        Some(commit) => assert!(commit.len() == 12 && is_hex(commit), "{line}"),
        None => assert_eq!(source, "built without git"),
    }
    let data = data.strip_suffix(')').expect("a parenthesis");
    assert!(data.len() == 8 && is_hex(data), "{line}");
}

fn is_hex(text: &str) -> bool {
    text.chars().all(|digit| digit.is_ascii_hexdigit())
}
