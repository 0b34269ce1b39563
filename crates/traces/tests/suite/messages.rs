//! `messages.txt` has files, with ` / ` for line breaks, and what is said about each. `ROOFLUT_ACCEPT=1 cargo test
//! -p rooflut-traces messages` writes it again.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "../../../../tests/support/messages.rs"]
mod page;

use rooflut_traces::{ColumnNames, Condition, Options};

use crate::formats::{QWEN, SPLITWISE};
use crate::support::collect;
use crate::{azure, burst_gpt, inference_perf, mooncake, vllm};

#[test]
fn each_file_has_its_message() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");
    page::replay(path, |line| {
        let file = line.split_once(':');
        let message = file.map(|(file, text)| message_of(file, text.strip_prefix(' ').unwrap_or(text)));
        message.into_iter().collect()
    });
}

/// Returns the message about a file: `text`, `as FORMAT`, `where COLUMN=VALUE`, `columns NAMES`, or a format, whose sample is changed.
fn message_of(file: &str, text: &str) -> String {
    let mut text = text.replace(" / ", "\n");
    for (escape, character) in [("\\t", "\t"), ("\\r", "\r"), ("\\n", "\n")] {
        text = text.replace(escape, character);
    }
    for character in ["\u{feff}", "\u{15}", "\u{4}"] {
        text = text.replace(&character.escape_unicode().to_string(), character);
    }
    let changed = |sample: &str| {
        text.split(" & ").fold(sample.to_owned(), |sample, change| {
            let (from, to) = change.split_once(" ->").unwrap();
            assert!(sample.contains(from), "{from}");
            sample.replacen(from, to.trim_start(), 1)
        })
    };
    let mut options = Options::default();
    let conditions: [Condition; 1];
    let columns: ColumnNames;
    let text = match file {
        "text" => text,
        "azure" => changed(azure::OF_2023),
        "burstgpt" => changed(burst_gpt::SAMPLE),
        "splitwise" => changed(SPLITWISE),
        "mooncake" => changed(mooncake::SAMPLE),
        "qwen-bailian" => changed(QWEN),
        "inference-perf" => changed(inference_perf::OLD),
        "vllm" => changed(vllm::SAMPLE),
        _ => match file.split_once(' ').unwrap() {
            ("as", format) => {
                options.format = Some(format.parse().unwrap());
                text
            }
            ("columns", names) => {
                columns = match names.parse() {
                    Ok(columns) => columns,
                    Err(error) => return error.to_string(),
                };
                options.columns = Some(&columns);
                text
            }
            (_, condition) => {
                conditions = [condition.parse().unwrap()];
                options.conditions = &conditions;
                text
            }
        },
    };
    match collect(text.as_bytes(), &options) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}
