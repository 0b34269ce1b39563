//! Comparison of predictions, and the messages of failures.

use super::comparison::{ACCEPT, Differences, Golden, Line};
use super::kv_blocks;
use super::steps::GOLDEN;

/// Returns a table of steps `a`, `b` … with these times.
fn table(times: &[Option<f64>]) -> String {
    let names = ('a'..='z').map(|name| format!("{name},h100,1,bf16,decode 1x500"));
    let lines: Vec<Line> = names
        .zip(times)
        .map(|(name, &value)| Line { name, value })
        .collect();
    assert_eq!(lines.len(), times.len());
    GOLDEN.render(&lines)
}

fn failure(old: &[Option<f64>], new: &[Option<f64>]) -> Option<String> {
    Differences::between(&GOLDEN, &table(old), &table(new)).failure()
}

#[test]
fn a_drift_above_one_percent_fails_with_its_size_and_the_command() {
    for (new, percent) in [(1011.0, "+1.1 %"), (989.0, "-1.1 %")] {
        let message = failure(&[Some(1000.0), Some(5.0)], &[Some(new), Some(5.0)]);
        let message = message.expect("a failure");
        let line = format!("a,h100,1,bf16,decode 1x500: 1000.0 us, now {new:.1} us ({percent})");
        assert!(message.contains("drifts above 1 %: 1\n"), "{message}");
        assert!(message.contains(&line), "{message}");
        assert!(message.ends_with(ACCEPT), "{message}");
        assert!(
            !message.contains("b,h100") && !message.contains("other"),
            "{message}"
        );
    }
    for new in [1009.0, 991.0, 1000.0] {
        assert_eq!(failure(&[Some(1000.0)], &[Some(new)]), None);
    }
}

#[test]
fn added_removed_and_changed_kinds_of_lines_fail() {
    let (us, refused) = (Some(1000.0), None);
    for (old, new, words) in [
        (&[us, us][..], &[us][..], "no longer there: b,h100"),
        (&[us], &[us, us], "not in the file: b,h100"),
        (&[us], &[us, refused], "not in the file: b,h100"),
        (&[refused], &[us], "was refused, now 1000.0 us: a,h100"),
        (&[us], &[refused], "was 1000.0 us, now refused: a,h100"),
    ] {
        let message = failure(old, new).expect("a failure");
        assert!(message.contains("other differences: 1\n"), "{message}");
        assert!(
            message.contains(words) && message.ends_with(ACCEPT),
            "{message}"
        );
    }
    assert_eq!(failure(&[refused, us], &[refused, us]), None);
}

#[test]
fn the_largest_drifts_are_listed_and_the_others_counted() {
    let old = [Some(1000.0); 20];
    let new: Vec<_> = (0..20)
        .map(|place| Some(1000.0 + 4.0 * f64::from(place)))
        .collect();
    let message = failure(&old, &new).expect("a failure");
    // 0.4 and 0.8 % pass; of 17 the 10 largest are listed.
    assert!(message.contains("drifts above 1 %: 17\n"), "{message}");
    assert!(message.contains("  and 7 more\n"), "{message}");
    let listed = message.lines().filter(|line| line.contains(" us, now "));
    let percents: Vec<_> = listed.filter_map(|line| line.split_once('(')).collect();
    assert_eq!(percents.len(), 10);
    assert_eq!((percents[0].1, percents[9].1), ("+7.6 %)", "+4.0 %)"));
}

#[test]
fn a_file_that_cannot_be_read_fails_and_can_be_accepted() {
    let new = table(&[Some(1000.0), None]);
    let merged = format!("<<<<<<< ours\n{new}=======\n{new}");
    for old in [merged.as_str(), "a,h100,1,bf16,decode 1x500,-1", "a,fast"] {
        let message = Differences::between(&GOLDEN, old, &new)
            .failure()
            .expect("a failure");
        assert!(message.contains("repeated or unreadable: "), "{message}");
    }
    // Accepted numbers are read back unchanged.
    assert_eq!(Differences::between(&GOLDEN, &new, &new).failure(), None);
}

#[test]
fn accepting_reports_how_many_lines_change_and_by_how_much() {
    let (old, new) = (
        table(&[Some(1000.0), Some(10.0), Some(20.0), None]),
        table(&[Some(1001.0), Some(12.0), Some(20.0), Some(5.0)]),
    );
    assert_eq!(
        Differences::between(&GOLDEN, &old, &new).summary(),
        "steps.csv: lines that change: 3; the largest drift: b,h100,1,bf16,decode 1x500: 10.0 us, now 12.0 us \
         (+20.0 %)"
    );
    assert_eq!(
        Differences::between(&GOLDEN, &old, &old).summary(),
        "steps.csv: lines that change: 0"
    );
}

#[test]
fn a_failure_names_its_file_and_writes_numbers_as_the_file_does() {
    let golden: &Golden = &kv_blocks::GOLDEN;
    let table = |value| {
        let name = "a,h100,1,bf16".to_owned();
        golden.render(&[Line { name, value }])
    };
    let (old, new, refused) = (table(Some(1000.0)), table(Some(900.0)), table(None));
    let message = Differences::between(golden, &old, &new).failure();
    let message = message.expect("a failure");
    let start = "predictions are not those of tests/golden/kv_blocks.csv\n";
    assert!(message.starts_with(start), "{message}");
    let line = "a,h100,1,bf16: 1000 blocks, now 900 blocks (-10.0 %)";
    assert!(message.contains(line), "{message}");
    let message = Differences::between(golden, &old, &refused).failure();
    let message = message.expect("a failure");
    assert!(
        message.contains("was 1000 blocks, now refused: a"),
        "{message}"
    );
}
