//! The commands of `rooflut-lab` that the documents show.
#![cfg(unix)]

use crate::support::documents::{CHECKOUT, run};

/// Made-up files in place of those of other projects.
const PUBLISHED: &[(&str, &str)] = &[
    ("bench_data", "laboratory/cli/tests/fixtures/import/blis/bench_data"),
    ("systems/data/h100_sxm/vllm/0.24.0", "laboratory/cli/tests/fixtures/import/aiconfigurator"),
    ("data/profiling", "laboratory/cli/tests/fixtures/import/vidur/profiling"),
];

#[test]
fn the_commands_of_the_documents_run() {
    let ran = run(&[
        ("README.md", CHECKOUT),
        ("CONTRIBUTING.md", CHECKOUT),
        ("laboratory/cli/README.md", &[]),
        ("docs/accuracy.md", CHECKOUT),
        ("docs/measurements.md", CHECKOUT),
        ("docs/trust.md", CHECKOUT),
        ("docs/import.md", PUBLISHED),
    ]);
    assert!(ran.commands > 6, "{ran:?}");
}
