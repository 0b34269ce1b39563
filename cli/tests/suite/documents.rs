//! The commands of `rooflut` that the documents show.

use crate::links::guide;
use crate::support::documents::{CHECKOUT, run};

/// The documents with their folders: all pages of the guide but the recipes, whose output is compared with the pages, and
/// the page of imports, which are of `rooflut-lab`.
fn documents() -> Vec<String> {
    let others = ["README.md", "CONTRIBUTING.md", "cli/README.md"].map(str::to_owned);
    let pages = guide()
        .into_iter()
        .map(|page| format!("docs/{page}"))
        .filter(|page| !["docs/recipes.md", "docs/import.md"].contains(&page.as_str()));
    others.into_iter().chain(pages).collect()
}

#[test]
fn the_commands_of_the_documents_run_and_print_what_is_shown() {
    let documents = documents();
    let documents: Vec<_> = (documents.iter()).map(|document| (document.as_str(), CHECKOUT)).collect();
    let ran = run(&documents);
    assert!(ran.commands > 30 && ran.outputs > 1 && ran.pictures > 0, "{ran:?}");
}
