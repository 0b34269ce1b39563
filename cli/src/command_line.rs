//! Commands as text.

use rooflut_scenario::VllmCommand;

use crate::error::with_flags;
use crate::output::{text_width, wrapped_at};

/// Returns a command over as many lines as its label and width need, which a shell reads as one.
pub(crate) fn wrapped(indent: usize, label: &str, words: &[String]) -> String {
    const CONTINUED: &str = " \\";
    let width = text_width().saturating_sub(indent + CONTINUED.len());
    let mut lines: Vec<String> = Vec::new();
    // Values stay with their flag.
    for part in words.chunk_by(|_, next| !next.starts_with("--")).map(|part| part.join(" ")) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + part.chars().count() <= width => {
                line.push(' ');
                line.push_str(&part);
            }
            _ => lines.push(part),
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

#[cfg(test)]
mod tests {
    use rooflut_scenario::Scenario;

    use super::*;

    #[test]
    fn a_long_command_continues_on_the_next_line() {
        let mut scenario = Scenario::default();
        scenario.target.model = Some("m".repeat(60));
        scenario.target.tp = Some(2);
        let text = wrapped(11, "command", &scenario.command().unwrap());
        let text = anstream::adapter::strip_str(&text).to_string();
        let model = "m".repeat(60);
        let expected = format!("  command  rooflut run \\\n             --model {model} \\\n             --tp 2\n");
        assert_eq!(text, expected);
    }
}
