//! Predictions are those of `steps.csv`: a change that nobody meant shows, a meant one is accepted
//! with `ROOFLUT_ACCEPT=1 cargo test -p rooflut --all-features --test golden`.
#![cfg(all(
    feature = "a100",
    feature = "b200",
    feature = "h100",
    feature = "h100-infersim",
    feature = "h200",
    feature = "l40s"
))]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code outside of test functions"
)]

mod comparison;
mod grid;

use std::collections::BTreeMap;
use std::io::Write;
use std::{env, fs, io};

use comparison::{ACCEPT, Differences, Line, render};

const STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/steps.csv");

#[test]
fn predictions_are_those_of_the_golden_file() {
    let accept = env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1");
    let predicted = render(&grid::predict());
    let golden = match fs::read_to_string(STEPS) {
        Err(error) if !accept => panic!("{STEPS}: {error}; write it with {ACCEPT}"),
        read => read.unwrap_or_default(),
    };
    let differences = Differences::between(&golden, &predicted);
    if accept {
        fs::write(STEPS, &predicted).expect("the golden file can be written");
        // `println!` of a test that passes is not shown.
        let accepted = format!("\naccepted: {}\n", differences.summary());
        let _ = io::stderr().write_all(accepted.as_bytes());
        return;
    }
    if let Some(failure) = differences.failure() {
        panic!("{failure}");
    }
}

/// Each of these steps does all that the one before it does, and more.
const LONGER: [(&str, &str); 6] = [
    ("decode 1x500", "decode 1x16000"),
    // From 1x500 to 16x1000 it is not so: B200's 8-bit kernels of one row are slower than those of 16.
    ("decode 16x1000", "decode 128x4000"),
    ("decode 128x500", "decode 128x4000"),
    ("prefill 512@0", "prefill 2048@0"),
    ("prefill 512@0", "prefill 512@4096"),
    ("prefill 512@0", "prefill 512@1024 + decode 64x1000"),
];

#[test]
fn more_work_takes_longer_and_a_refusal_does_not_depend_on_the_batch() {
    let mut placements: BTreeMap<String, BTreeMap<String, Option<f64>>> = BTreeMap::new();
    for Line { step, us } in grid::predict() {
        let (placement, batch) = step.rsplit_once(',').expect("columns");
        let batches = placements.entry(placement.to_owned()).or_default();
        batches.insert(batch.to_owned(), us);
    }
    let refused = |batches: &BTreeMap<_, Option<f64>>| batches.values().all(Option::is_none);
    for (placement, batches) in &placements {
        for (less, more) in LONGER {
            let pair = (batches[less], batches[more]);
            let holds = match pair {
                (Some(less), Some(more)) => less < more,
                _ => refused(batches),
            };
            assert!(holds, "{placement}: {less}, {more}: {pair:?}");
        }
    }
    // The grid has both.
    let refusals = placements
        .values()
        .filter(|batches| refused(batches))
        .count();
    assert!((1..placements.len() / 2).contains(&refusals), "{refusals}");
}

/// Steps `a`, `b` … of these times, as a table.
fn table(times: &[Option<f64>]) -> String {
    let names = ('a'..='z').map(|name| format!("{name},h100,1,bf16,decode 1x500"));
    let lines: Vec<Line> = names
        .zip(times)
        .map(|(step, &us)| Line { step, us })
        .collect();
    assert_eq!(lines.len(), times.len());
    render(&lines)
}

fn failure(old: &[Option<f64>], new: &[Option<f64>]) -> Option<String> {
    Differences::between(&table(old), &table(new)).failure()
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
fn lines_that_come_go_or_change_their_kind_fail() {
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
        let message = Differences::between(old, &new)
            .failure()
            .expect("a failure");
        assert!(message.contains("repeated or unreadable: "), "{message}");
    }
    // What accepting writes is read back as it is.
    assert_eq!(Differences::between(&new, &new).failure(), None);
}

#[test]
fn accepting_tells_how_many_lines_change_and_by_how_much() {
    let (old, new) = (
        table(&[Some(1000.0), Some(10.0), Some(20.0), None]),
        table(&[Some(1001.0), Some(12.0), Some(20.0), Some(5.0)]),
    );
    assert_eq!(
        Differences::between(&old, &new).summary(),
        "lines that change: 3; the largest drift: b,h100,1,bf16,decode 1x500: 10.0 us, now 12.0 us \
         (+20.0 %)"
    );
    assert_eq!(
        Differences::between(&old, &old).summary(),
        "lines that change: 0"
    );
}
