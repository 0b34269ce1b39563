//! `messages.txt` has files, with ` / ` for line breaks, and what is said about each. `ROOFLUT_ACCEPT=1 cargo test
//! -p rooflut-validation messages` writes it again.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "../../../../tests/support/messages.rs"]
mod page;

use rooflut_validation::{Predictor, read, validate};

#[test]
fn each_file_has_its_message() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");
    let mut sample = String::new();
    page::replay(path, |line| {
        if line.contains(" ->") {
            messages(&changed(&sample, line))
        } else if line.is_empty() || line.starts_with("== ") {
            Vec::new()
        } else {
            sample = line.replace(" / ", "\n");
            messages(&sample)
        }
    });
}

fn changed(sample: &str, changes: &str) -> String {
    changes.split(" & ").fold(sample.to_owned(), |sample, change| {
        let (from, to) = change.split_once(" ->").unwrap();
        assert!(sample.contains(from), "{from}");
        sample.replacen(from, to.trim_start(), 1)
    })
}

/// Returns the messages about a file, or the metrics that are compared.
fn messages(text: &str) -> Vec<String> {
    let report = match read("f.csv", text) {
        Ok(dataset) => validate(&dataset, &Predictor::default()),
        Err(error) => return vec![error.to_string()],
    };
    let cases = report.cases.iter().flat_map(|case| &case.comparisons);
    let compared: Vec<&str> = cases.map(|compared| compared.metric.name()).collect();
    let mut said = vec![format!("compared: {}", compared.join(", "))];
    said.retain(|_| !compared.is_empty());
    for (kind, tallies) in [("skipped", report.skipped), ("partly", report.partly), ("note", report.notes)] {
        said.extend(tallies.iter().map(|tally| format!("{kind}: {}", tally.text)));
    }
    said
}
