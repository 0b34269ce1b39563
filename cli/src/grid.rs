//! Tables for a terminal or Markdown.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

/// Rows under a header, with words aligned to the left and numbers to the right.
pub(crate) struct Grid {
    columns: Vec<(String, CellAlignment)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table with the columns of a header, in which `>` marks those of numbers: `model | >layers | FFN`.
    pub(crate) fn new(header: &str) -> Grid {
        let columns = header
            .split('|')
            .map(|name| match name.trim().strip_prefix('>') {
                Some(number) => (number.to_owned(), CellAlignment::Right),
                None => (name.trim().to_owned(), CellAlignment::Left),
            });
        Grid {
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }

    /// An empty table with columns of words and, right of them, of numbers.
    pub(crate) fn of(words: &[&str], numbers: &[&str]) -> Grid {
        let words = words.iter().map(|name| (*name).to_owned());
        let numbers = numbers.iter().map(|name| format!(">{name}"));
        Grid::new(&words.chain(numbers).collect::<Vec<_>>().join("|"))
    }

    /// Adds a row, one cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table for a terminal, without trailing space, each line indented by `indent` spaces.
    pub(crate) fn render(&self, indent: usize) -> String {
        let mut table = Table::new();
        table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('-')));
        table.set_header(self.columns.iter().map(|(name, _)| name));
        for (column, (_, alignment)) in table.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, 2));
            column.set_cell_alignment(*alignment);
        }
        if let Some(last) = table.column_iter_mut().last() {
            last.set_padding((0, 0));
        }
        for row in &self.rows {
            table.add_row(row);
        }
        let indent = " ".repeat(indent);
        let lines = table.lines();
        lines
            .map(|line| format!("{indent}{}\n", line.trim_end()))
            .collect()
    }

    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let names = self.columns.iter().map(|(name, _)| name.as_str());
        let rules = self.columns.iter().map(|(_, alignment)| match alignment {
            CellAlignment::Right => "---:",
            _ => "---",
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
    fn numbers_are_aligned_to_the_right_and_no_space_trails() {
        let mut grid = Grid::of(&["name"], &["ms"]);
        assert!(grid.is_empty());
        grid.row(vec!["a".into(), "1.0".into()]);
        grid.row(vec!["long name".into(), "12.0".into()]);
        assert_eq!(
            grid.render(2),
            "  name         ms\n  ---------------\n  a           1.0\n  long name  12.0\n"
        );
        assert_eq!(
            grid.markdown(),
            "| name | ms |\n| --- | ---: |\n| a | 1.0 |\n| long name | 12.0 |\n"
        );
    }
}
