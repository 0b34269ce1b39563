//! Tables for a terminal or Markdown.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use crate::output::{self, fold_after, heading};

/// Space between columns, and in a table that is too wide with it.
const GAP: u16 = 2;
const NARROW_GAP: u16 = 1;
/// Characters after which text wraps.
const SPACE: &[char] = &[' '];
/// Characters after which a long name wraps.
pub const PARTS: &[char] = &[' ', '-', '/', '_'];

/// Rows under a header, with words aligned to the left and numbers to the right.
pub struct Grid {
    columns: Vec<(String, CellAlignment)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table with the columns of a header; `>` marks columns of numbers: `model | >layers | FFN`. A name may
    /// have several lines.
    pub fn new(header: &str) -> Grid {
        let columns = header.split('|').map(|name| match name.trim().strip_prefix('>') {
            Some(number) => (number.to_owned(), CellAlignment::Right),
            None => (name.trim().to_owned(), CellAlignment::Left),
        });
        Grid { columns: columns.collect(), rows: Vec::new() }
    }

    /// An empty table with columns of words and, right of them, of numbers.
    pub fn of(words: &[&str], numbers: &[&str]) -> Grid {
        let words = words.iter().map(|name| (*name).to_owned());
        let numbers = numbers.iter().map(|name| format!(">{name}"));
        Grid::new(&words.chain(numbers).collect::<Vec<_>>().join("|"))
    }

    /// Adds a row, one cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table for a terminal, without trailing space, each line indented by `indent` spaces. If the table is
    /// wider than the terminal, words wrap within their cells.
    pub fn render(&self, indent: usize) -> String {
        let available = output::width().saturating_sub(indent);
        let gap = self.gap(available);
        let widths = self.widths(available, gap);
        let folded = |(cell, width): (&String, &usize)| {
            let breaks = if longest(cell, SPACE) <= *width { SPACE } else { PARTS };
            let lines = cell.split('\n').flat_map(|line| fold_after(line, *width, breaks));
            lines.collect::<Vec<_>>().join("\n")
        };
        let mut table = Table::new();
        table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('-')));
        let header = self.columns.iter().map(|(name, _)| name);
        table.set_header(header.zip(&widths).map(folded));
        for (column, (_, alignment)) in table.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, gap));
            column.set_cell_alignment(*alignment);
        }
        if let Some(last) = table.column_iter_mut().last() {
            last.set_padding((0, 0));
        }
        for row in &self.rows {
            table.add_row(row.iter().zip(&widths).map(folded));
        }
        let indent = " ".repeat(indent);
        let mut in_header = true;
        let lines = table.lines().map(|line| {
            let line = line.trim_end();
            in_header &= !line.starts_with("--");
            match in_header {
                true => format!("{indent}{}\n", heading(line)),
                false if line.is_empty() => "\n".to_owned(),
                false => format!("{indent}{line}\n"),
            }
        });
        lines.collect()
    }

    /// Returns the width of the table without a wrapped cell.
    pub fn width(&self) -> usize {
        self.least(&[]).iter().sum::<usize>() + self.gaps(GAP)
    }

    /// Returns the space between columns in a table of `width`.
    fn gap(&self, width: usize) -> u16 {
        let least = self.least(PARTS).iter().sum::<usize>();
        if least + self.gaps(GAP) <= width { GAP } else { NARROW_GAP }
    }

    /// Returns the sum of the spaces between columns.
    fn gaps(&self, gap: u16) -> usize {
        usize::from(gap) * self.columns.len().saturating_sub(1)
    }

    /// Returns the widths of the columns, with cells wrapped as far as `width` needs it: between words, then within
    /// names. Numbers are not wrapped.
    fn widths(&self, width: usize, gap: u16) -> Vec<usize> {
        let available = width.saturating_sub(self.gaps(gap));
        let mut widths = self.least(&[]);
        for least in [SPACE, PARTS].map(|breaks| self.least(breaks)) {
            while widths.iter().sum::<usize>() > available {
                let columns = widths.iter_mut().zip(&least);
                let wide = columns.filter(|(width, least)| **width > **least);
                match wide.max_by_key(|(width, _)| **width) {
                    Some((width, _)) => *width -= 1,
                    None => break,
                }
            }
        }
        widths
    }

    /// Returns the least width of each column if its cells wrap after `breaks`.
    fn least(&self, breaks: &[char]) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let least = columns.map(|(index, (name, alignment))| {
            let breaks_of_cells = match alignment {
                CellAlignment::Right => &[],
                _ => breaks,
            };
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| longest(cell, breaks_of_cells));
            cells.chain([longest(name, breaks)]).max().unwrap_or(0)
        });
        least.collect()
    }

    /// Returns the table as Markdown.
    pub fn markdown(&self) -> String {
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

/// Returns the number of characters of the longest piece of `text`.
fn longest(text: &str, breaks: &[char]) -> usize {
    let lines = text.split('\n');
    let pieces = lines.flat_map(|line| line.split_inclusive(breaks));
    let lengths = pieces.map(|piece| piece.trim_end().chars().count());
    lengths.max().unwrap_or(0)
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
            anstream::adapter::strip_str(&grid.render(2)).to_string(),
            "  name         ms\n  ---------------\n  a           1.0\n  long name  12.0\n"
        );
        assert_eq!(grid.markdown(), "| name | ms |\n| --- | ---: |\n| a | 1.0 |\n| long name | 12.0 |\n");
    }

    #[test]
    fn a_wide_table_wraps_words_before_names_and_no_numbers() {
        let mut grid = Grid::new("name | >latency ms | meaning");
        let meaning = "of the time between two steps";
        grid.row(vec!["a-long-name".into(), "1234.56".into(), meaning.into()]);
        assert_eq!(grid.width(), 11 + 2 + 10 + 2 + 29);
        assert_eq!(grid.widths(54, GAP), [11, 10, 29]);
        assert_eq!(grid.widths(40, GAP), [11, 10, 15]);
        assert_eq!(grid.widths(28, GAP), [10, 7, 7]);
        assert_eq!(grid.widths(10, GAP), [5, 7, 7]);
        assert_eq!((grid.gap(23), grid.gap(22)), (GAP, NARROW_GAP));
    }

    #[test]
    fn a_name_of_several_lines_is_as_wide_as_the_longest() {
        let mut grid = Grid::new(">TTFT\np50 | >tokens\n/s");
        grid.row(vec!["1".into(), "2".into()]);
        assert_eq!(
            anstream::adapter::strip_str(&grid.render(0)).to_string(),
            "TTFT  tokens\n p50      /s\n------------\n   1       2\n"
        );
    }
}
