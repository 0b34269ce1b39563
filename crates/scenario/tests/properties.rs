//! Whatever the bytes are: no panic, one line, a line that there is.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use proptest::prelude::*;
use rooflut_scenario::{Scenario, ScenarioFile};

/// The keys of all sections.
fn keys() -> Vec<(String, String)> {
    let sections = serde_json::to_value(Scenario::default()).unwrap().as_object().unwrap().clone();
    let keys = sections.into_iter().flat_map(|(section, keys)| {
        let keys = keys.as_object().unwrap().clone();
        keys.into_iter().map(move |(key, _)| (section.clone(), key))
    });
    keys.collect()
}

/// Words that scenarios are made of.
fn word() -> impl Strategy<Value = String> {
    let key = prop::sample::select(keys()).prop_map(|(_, key)| key);
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
    match ScenarioFile::read(bytes) {
        Ok(mut file) => {
            let keys: Vec<(&str, u64)> = file.keys().collect();
            prop_assert!(keys.is_sorted_by_key(|(_, line)| *line));
            prop_assert!(keys.iter().all(|(_, line)| (1..=lines).contains(line)));
            // A scenario that replaces all keys leaves none.
            let all = file.scenario().clone();
            let replaced = file.remove_replaced(&all).unwrap();
            prop_assert!(replaced.iter().eq(keys.iter().map(|(key, _)| key)));
            prop_assert_eq!(file.scenario(), &Scenario::default());
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(!message.contains(char::is_control), "{message:?}");
            let line = error.line().unwrap_or_default();
            prop_assert!((1..=lines).contains(&line), "{message}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        check(&bytes)?;
    }

    #[test]
    fn any_words_are_read_or_rejected(words in prop::collection::vec(word(), 0..24)) {
        check(words.concat().as_bytes())?;
    }

    #[test]
    fn keys_with_values_are_read_or_rejected(
        keys in prop::collection::vec((prop::sample::select(keys()), word()), 0..6),
    ) {
        let lines = keys.iter().map(|((section, key), value)| match section.as_str() {
            "target" => format!("{key} = {value}\n"),
            section => format!("{section}.{key} = {value}\n"),
        });
        check(lines.collect::<String>().as_bytes())?;
    }
}
