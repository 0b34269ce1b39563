//! Tables for a terminal or Markdown.

use crate::output::{Align, Grid};

/// Rows under a header.
pub(super) struct Sheet {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A table of words and, right of them, numbers.
    pub(super) fn new(words: &[&'static str], numbers: &[&'static str]) -> Sheet {
        let words = words.iter().map(|name| (*name, Align::Left));
        let numbers = numbers.iter().map(|name| (*name, Align::Right));
        Sheet {
            columns: words.chain(numbers).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, one cell for each column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns whether there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table for a terminal.
    pub(super) fn text(&self) -> String {
        let mut grid = Grid::new(&self.columns);
        for row in &self.rows {
            grid.row(row.clone());
        }
        grid.render(2)
    }

    /// Returns the table as Markdown.
    pub(super) fn markdown(&self) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let names = self.columns.iter().map(|(name, _)| *name);
        let rules = self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---",
            Align::Right => "---:",
        });
        let mut text = line(names.collect()) + &line(rules.collect());
        for row in &self.rows {
            text += &line(row.iter().map(String::as_str).collect());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_aligns_numbers_to_the_right() {
        let mut sheet = Sheet::new(&["name"], &["ms"]);
        assert!(sheet.is_empty());
        sheet.row(vec!["a".into(), "1.5".into()]);
        assert_eq!(
            sheet.markdown(),
            "| name | ms |\n| --- | ---: |\n| a | 1.5 |\n"
        );
        assert_eq!(sheet.text(), "  name   ms\n  ---------\n  a     1.5\n");
    }
}
