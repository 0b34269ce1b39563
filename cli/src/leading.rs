//! `rooflut --tables PATH lookup …`: the flag may stand before the command.

use std::ffi::OsString;

const FLAG: &str = "--tables";

/// Returns the arguments with a leading `--tables PATH` moved behind the command. Without a command, `default` is the
/// command.
pub fn behind_command(mut arguments: Vec<OsString>, default: &str) -> Vec<OsString> {
    let program = 1.min(arguments.len());
    let length = match arguments.get(program).and_then(|first| first.to_str()) {
        Some(FLAG) => 2,
        Some(first) if first.starts_with("--tables=") => 1,
        _ => return arguments,
    };
    let end = (program + length).min(arguments.len());
    if end == arguments.len() {
        arguments.insert(program, default.into());
    } else {
        // The command is the next argument.
        arguments.get_mut(program..=end).unwrap_or_default().rotate_right(1);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_goes_behind_the_command() {
        for (line, expected) in [
            ("rooflut", "rooflut"),
            ("rooflut run --tables d", "rooflut run --tables d"),
            ("rooflut --tables d step --json", "rooflut step --tables d --json"),
            ("rooflut --tables=d lookup gemm", "rooflut lookup --tables=d gemm"),
            ("rooflut --tables d", "rooflut run --tables d"),
            ("rooflut --tables=d", "rooflut run --tables=d"),
            ("rooflut --tables", "rooflut run --tables"),
            ("rooflut --tables d --help", "rooflut --help --tables d"),
            ("rooflut --tablesd d", "rooflut --tablesd d"),
        ] {
            let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = behind_command(line, "run").join(" ".as_ref());
            assert_eq!(found, expected);
        }
        assert!(behind_command(Vec::new(), "run").is_empty());
    }
}
