//! The pages of `tests/pages`. `ROOFLUT_ACCEPT=1 cargo test -p rooflut-lab pages` writes them again.
#![cfg(target_os = "linux")] // whose errors have these texts

use crate::support::pages::check_all;

const LINKS: [(&str, &str); 5] = [
    ("bench_data", "bench_data"),
    ("predecessors", "laboratory/predecessors"),
    ("aiconfigurator", "laboratory/cli/tests/fixtures/import/aiconfigurator"),
    ("blis", "laboratory/cli/tests/fixtures/import/blis"),
    ("vidur", "laboratory/cli/tests/fixtures/import/vidur"),
];

#[test]
fn pages_show_what_their_commands_print() {
    check_all("laboratory/cli/tests/pages", &[], &LINKS);
}
