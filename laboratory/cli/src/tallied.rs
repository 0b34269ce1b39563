//! Rows that were left out, with their first lines.

use rooflut_validation::Tally;

use crate::output::{count, plural};

/// Lists rows by reason, each with its file if one is given.
pub(crate) fn reasons<'t>(file: Option<&str>, tallies: &'t [Tally]) -> impl Iterator<Item = String> + use<'t> {
    let of_file = file.map_or(String::new(), |file| format!(" of {file}"));
    tallies.iter().map(move |tally| format!("{}{of_file}: {}", rows(tally), tally.text))
}

/// Most lines that are listed for one reason.
const MAX_LINES: usize = 5;

/// Formats `1 row (line 3)`, `7 rows (lines 2, 3, 4, 5, 6 and 2 more)`.
pub(crate) fn rows(tally: &Tally) -> String {
    let rows = tally.rows();
    let first = tally.lines.iter().take(MAX_LINES);
    let first: Vec<String> = first.map(u64::to_string).collect();
    let s = if rows == 1 { "" } else { "s" };
    let more = match rows.saturating_sub(MAX_LINES) {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    format!("{} (line{s} {}{more})", plural(rows as u64, "row"), first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_listed_and_the_others_counted() {
        let rows = |lines| {
            let text = String::new();
            rows(&Tally { text, lines })
        };
        assert_eq!(rows(vec![3]), "1 row (line 3)");
        assert_eq!(rows((2..=6).collect()), "5 rows (lines 2, 3, 4, 5, 6)");
        assert_eq!(rows((2..=1002).collect()), "1001 rows (lines 2, 3, 4, 5, 6 and 996 more)");
    }
}
