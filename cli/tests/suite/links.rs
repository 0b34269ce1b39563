//! Links in Markdown lead to files and headings that exist, and the guide lists all of its pages.
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::support::workspace;

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let root = fs::canonicalize(workspace()).expect("the workspace");
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    assert!(pages.len() > 40, "{} pages", pages.len());
    let (mut followed, mut broken) = (0, Vec::new());
    for page in &pages {
        let folder = page.parent().expect("a folder");
        for link in links(&read(page)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => folder.join(file),
            };
            let is_there = target.exists() && (anchor.is_empty() || headings(&read(&target)).contains(anchor));
            // The guide is read as a book, too, which has no other files of the checkout.
            let in_book = folder != root.join("docs") || (!file.contains("..") && !file.ends_with('/'));
            if !is_there || !in_book {
                let page = page.strip_prefix(&root).expect("below the root");
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(followed > 80, "{followed} links");
}

#[test]
fn the_guide_lists_each_of_its_pages_once() {
    let listed = guide();
    let unique: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "{listed:?}");
    let docs = fs::read_dir(workspace().join("docs")).expect("a folder");
    let names = docs.map(|entry| entry.expect("an entry").file_name()).map(|name| name.into_string().expect("UTF-8"));
    let pages: BTreeSet<String> = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect();
    assert_eq!(unique, pages.iter().collect());
}

/// Returns the pages of the guide, in their order.
pub(crate) fn guide() -> Vec<String> {
    links(&read(&workspace().join("docs/SUMMARY.md")))
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).expect("a page")
}

/// Adds the Markdown files below `folder`, without those of builds and of tests, whose links are examples.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_dir() {
            let is_source = !name.starts_with('.') && !["target", "tests", "node_modules", "dist"].contains(&&*name);
            // A build folder of another name says so.
            if is_source && !path.join("CACHEDIR.TAG").exists() {
                collect(&path, pages);
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

/// Returns the targets of links and pictures.
fn links(page: &str) -> Vec<String> {
    let events = Parser::new_ext(page, Options::ENABLE_TABLES);
    let links = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    });
    links.collect()
}

/// Returns the anchors of a page's headings.
fn headings(page: &str) -> BTreeSet<String> {
    let (mut anchors, mut heading) = (BTreeSet::new(), None);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|of| anchor(&of))),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    *heading += &text;
                }
            }
            _ => {}
        }
    }
    anchors
}

/// Returns the anchor of a heading, as mdBook and forges form it.
pub(crate) fn anchor(heading: &str) -> String {
    let heading = heading.to_lowercase();
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
