//! The commands of `rooflut` that the documents show.
#![cfg(unix)]

use crate::support::documents::{CHECKOUT, run};

#[test]
fn the_commands_of_the_documents_run() {
    let ran = run(&[
        ("README.md", CHECKOUT),
        ("CONTRIBUTING.md", CHECKOUT),
        ("cli/README.md", &[]),
    ]);
    assert!(ran > 30, "{ran} commands");
}
