//! The form of `docs/recipes.md`. Its commands are replayed with the pages.
#![cfg(target_os = "linux")] // as the pages
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::fs;

use crate::links::anchor;
use crate::support::workspace;

/// A question and its answer.
struct Recipe<'p> {
    question: &'p str,
    /// Command and output.
    console: &'p str,
    /// The text after it.
    text: &'p str,
}

#[test]
fn each_question_has_one_command_and_a_text_that_reads_its_answer() {
    let page = page();
    let recipes = recipes(&page);
    assert!(recipes.len() >= 25, "{} recipes", recipes.len());
    for recipe in recipes {
        let Recipe { question, console, text } = recipe;
        assert!(question.ends_with('?'), "{question}");
        let commands = console.lines().filter(|line| line.starts_with("$ "));
        assert_eq!(commands.count(), 1, "{question}");
        let output = console.lines().skip_while(|line| line.ends_with('\\'));
        assert!(output.count() > 1, "{question}");
        let failed = ["error: ", "? "].map(|start| console.contains(&format!("\n{start}")));
        assert_eq!(failed, [false; 2], "{question}");
        assert!(!text.is_empty() && !text.contains("```"), "{question}");
    }
}

#[test]
fn the_contents_name_each_question_once() {
    let page = page();
    let (contents, _) = page.split_once("\n## ").expect("a first topic");
    let linked: Vec<&str> = contents.split("](#").skip(1).collect();
    let recipes = recipes(&page);
    assert_eq!(linked.len(), recipes.len());
    for Recipe { question, .. } in recipes {
        let link = format!("[{question}](#{})", anchor(question));
        assert_eq!(contents.matches(&link).count(), 1, "{link}");
    }
}

#[test]
fn figures_in_a_text_stand_in_its_output() {
    for recipe in recipes(&page()) {
        let shown: BTreeSet<&str> = figures(recipe.console).collect();
        // Code in the text names flags to try.
        for prose in recipe.text.split('`').step_by(2) {
            for figure in figures(prose) {
                assert!(shown.contains(figure), "{}: {figure}", recipe.question);
            }
        }
    }
}

fn page() -> String {
    fs::read_to_string(workspace().join("docs/recipes.md")).expect("the recipes")
}

fn recipes(page: &str) -> Vec<Recipe<'_>> {
    let sections = page.split("\n### ").skip(1);
    sections.map(Recipe::of).collect()
}

impl<'p> Recipe<'p> {
    /// Reads a section: a question, a console block and a text.
    fn of(section: &'p str) -> Recipe<'p> {
        let (section, _) = section.split_once("\n## ").unwrap_or((section, ""));
        let parts = section.split_once("\n\n```console\n");
        let (question, answer) = parts.expect("a command after the question");
        let (console, text) = answer.split_once("\n```\n").expect("a text after the command");
        Recipe { question, console, text: text.trim() }
    }
}

/// Returns the words of a text that are numbers.
fn figures(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    words.filter(|word| {
        let is_number = |letter: char| letter.is_ascii_digit() || "._".contains(letter);
        !word.is_empty() && word.chars().all(is_number)
    })
}
