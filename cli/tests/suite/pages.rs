//! The pages of `tests/pages`, and `docs/recipes.md`, which shows users what to ask.
//! `ROOFLUT_ACCEPT=1 cargo test -p rooflut-cli pages` writes the pages again.
#![cfg(target_os = "linux")] // whose errors have these texts

use crate::support::pages::check_all;

#[test]
fn pages_show_what_their_commands_print() {
    let links = [("bench_data", "bench_data"), ("examples", "examples")];
    check_all("cli/tests/pages", &["docs/recipes.md"], &links);
}
