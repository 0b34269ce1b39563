//! Whatever the bytes are: no panic, one line, a line that there is.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use proptest::prelude::*;
use rooflut_scenario::{KEYS, read};

/// Words that scenarios are made of.
fn word() -> impl Strategy<Value = String> {
    let key = prop::sample::select(&KEYS[..]).prop_map(|key| key.name.to_owned());
    let other = prop::sample::select(
        &[
            "=",
            "\n",
            " ",
            "[",
            "]",
            "[server]",
            "[workload]",
            "[output]",
            "{",
            "}",
            ",",
            "1",
            "-2.5",
            "0xff",
            "true",
            "false",
            "'a'",
            "\"\\u0007\"",
            "'''\n'''",
            "#",
            "inf",
            ".",
            "1979-05-27",
            "\u{0}",
            "\r",
        ][..],
    );
    prop_oneof![key, other.prop_map(str::to_owned)]
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    match read(bytes) {
        Ok(entries) => {
            prop_assert!(entries.is_sorted_by_key(|entry| entry.line));
            prop_assert!(
                entries
                    .iter()
                    .all(|entry| (1..=lines).contains(&entry.line))
            );
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(!message.contains(char::is_control), "{message:?}");
            prop_assert!((1..=lines).contains(&error.line), "{message}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        check(&bytes)?;
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(word(), 0..24)) {
        check(words.concat().as_bytes())?;
    }

    #[test]
    fn keys_with_values_are_read_or_refused(
        keys in prop::collection::vec((prop::sample::select(&KEYS[..]), word()), 0..6),
    ) {
        let lines = keys.iter().map(|(key, value)| format!("{}.{} = {value}\n", key.section.name(), key.name));
        let text: String = lines.map(|line| line.trim_start_matches('.').to_owned()).collect();
        check(text.as_bytes())?;
    }
}
