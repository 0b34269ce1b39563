//! The library and the command line give the same answer to the same question.

#[allow(dead_code, reason = "the test calls what its main calls")]
#[path = "../../../examples/simulate.rs"]
mod simulate;

use crate::support::success;

/// The flags of `rooflut run` that match the example.
const FLAGS: [&str; 10] = [
    "run",
    "--model",
    "llama-3.1-8b",
    "--requests",
    "200",
    "--rate",
    "10",
    "--prompt",
    "512",
    "--output=128",
];

#[test]
fn the_readme_shows_the_example() {
    let readme = include_str!("../../../README.md");
    let example = include_str!("../../../examples/simulate.rs");
    let (_, code) = example.split_once("\n\n").expect("a header and code");
    assert!(
        readme.contains(code),
        "README.md does not have the code of examples/simulate.rs"
    );
}

#[test]
fn the_readmes_example_gives_each_request_the_nanoseconds_of_the_command_line() {
    let path = std::env::temp_dir().join(format!("rooflut-library-{}.csv", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    success(&[&FLAGS[..], &["--requests-out", file]].concat());
    let written = std::fs::read_to_string(&path).expect("a file of requests");
    std::fs::remove_file(&path).expect("it can be removed");
    let mut lines = written.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name| {
        header
            .iter()
            .position(|column| *column == name)
            .expect(name)
    };
    let (arrival, ttft, e2e) = (column("arrival_ms"), column("ttft_ms"), column("e2e_ms"));

    let report = simulate::simulate().expect("a report");
    assert_eq!(report.records.len(), 200);
    for record in &report.records {
        let cells: Vec<&str> = lines
            .next()
            .expect("a line per request")
            .split(',')
            .collect();
        let nanos = |column: usize| -> u64 {
            (cells[column].parse::<f64>().expect("a number") * 1e6).round() as u64
        };
        let (expected, timing) = (&record.request, record.timing().expect("served"));
        assert_eq!(nanos(arrival), expected.arrival_ns);
        assert_eq!(nanos(ttft), timing.first_token_ns - expected.arrival_ns);
        assert_eq!(nanos(e2e), timing.finish_ns - expected.arrival_ns);
    }
    // The time of the API server is part of it.
    let ttft = report.summary.ttft.expect("served");
    assert!(ttft.p50.ms() > 7.7, "{}", ttft.p50);
}
