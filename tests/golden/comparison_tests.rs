//! Comparison of predictions, and the messages of failures.

use super::comparison::{ACCEPT, Line};
use super::kv_blocks;
use super::steps::GOLDEN;

/// Returns a table of steps `a`, `b` … with these times.
fn table(times: &[Option<f64>]) -> String {
    let names = ('a'..='z').map(|name| format!("{name},h100,1,bf16,decode 1x500"));
    let lines: Vec<Line> = names.zip(times).map(|(name, &value)| Line { name, value }).collect();
    assert_eq!(lines.len(), times.len());
    GOLDEN.render(&lines)
}

fn failure(old: &str, new: &str) -> Option<String> {
    GOLDEN.compare(old, new).failure(GOLDEN.file)
}

#[test]
fn a_change_above_one_percent_or_of_kind_fails_with_its_line_and_the_command() {
    let (us, refused) = (Some(1000.0), None);
    let of_a = "a,h100,1,bf16,decode 1x500: ";
    for (old, new, expected) in [
        (&[us, us][..], &[Some(1011.0), us][..], "1000.0 us, now 1011.0 us (+1.1 %)"),
        (&[us, us], &[Some(989.0), us], "1000.0 us, now 989.0 us (-1.1 %)"),
        (&[us], &[], "1000.0 us, now no line"),
        (&[], &[us], "no line, now 1000.0 us"),
        (&[], &[refused], "no line, now refused"),
        (&[refused], &[us], "refused, now 1000.0 us"),
        (&[us], &[refused], "1000.0 us, now refused"),
    ] {
        let message = failure(&table(old), &table(new)).unwrap();
        let start = "predictions are not those of tests/golden/steps.csv\ndifferences above 1 %: 1\n";
        assert!(message.starts_with(start), "{message}");
        assert!(message.contains(&format!("{of_a}{expected}")), "{message}");
        assert!(message.ends_with(ACCEPT), "{message}");
    }
    for new in [1009.0, 991.0, 1000.0] {
        let new = table(&[Some(new), refused]);
        assert_eq!(failure(&table(&[us, refused]), &new), None);
    }
}

#[test]
fn the_largest_changes_are_listed_and_the_others_counted() {
    let old = [Some(1000.0); 20];
    let new: Vec<_> = (0..20).map(|place| Some(1000.0 + 4.0 * f64::from(place))).collect();
    let message = failure(&table(&old), &table(&new)).unwrap();
    // 0.4 and 0.8 % pass; of 17 the 10 largest are listed.
    assert!(message.contains("above 1 %: 17\n"), "{message}");
    let percents: Vec<_> = message.lines().filter_map(|line| line.split_once(" us (")).collect();
    assert_eq!(percents.len(), 10);
    assert_eq!((percents[0].1, percents[9].1), ("+7.6 %)", "+4.0 %)"));
}

#[test]
fn a_file_that_cannot_be_read_fails_and_can_be_accepted() {
    let new = table(&[Some(1000.0), None]);
    let merged = format!("<<<<<<< ours\n{new}=======\n{new}");
    let twice = format!("{new}{new}");
    for old in [&merged, &twice, "a,h100,1,bf16,decode 1x500,-1", "a,fast"] {
        let message = failure(old, &new).unwrap();
        assert!(message.contains("repeated or unreadable: "), "{message}");
    }
    // Accepted numbers are read back unchanged.
    assert_eq!(failure(&new, &new), None);
}

#[test]
fn accepting_reports_how_many_lines_change_and_by_how_much() {
    let old = table(&[Some(1000.0), Some(10.0), Some(20.0)]);
    let new = table(&[Some(1001.0), Some(12.0), Some(20.0)]);
    assert_eq!(
        GOLDEN.compare(&old, &new).summary(GOLDEN.file),
        "steps.csv: lines that change: 2; the largest change: b,h100,1,bf16,decode 1x500: 10.0 us, now 12.0 us \
         (+20.0 %)"
    );
    assert_eq!(GOLDEN.compare(&old, &old).summary(GOLDEN.file), "steps.csv: lines that change: 0");
}

#[test]
fn numbers_are_written_as_in_their_file() {
    let golden = &kv_blocks::GOLDEN;
    let table = |value| {
        let name = "a,h100,1,bf16".to_owned();
        golden.render(&[Line { name, value }])
    };
    let (old, new) = (table(Some(1000.0)), table(Some(900.0)));
    let message = golden.compare(&old, &new).failure(golden.file).unwrap();
    let line = "a,h100,1,bf16: 1000 blocks, now 900 blocks (-10.0 %)";
    assert!(message.contains(line), "{message}");
}
