//! The findings as text, below the picture.

use super::style::{Size, Words};
use rooflut_inspect::Dips;
use rooflut_inspect::Family;
use rooflut_inspect::Outlier;
use rooflut_inspect::Row;

/// Most findings of a kind that are listed.
const MAX_LISTED: usize = 12;

pub(super) fn lines(family: &Family, outliers: &[Outlier], dips: &[Dips]) -> Vec<Words> {
    let mut lines = vec![Words::new(Size::Heading, "Findings")];
    let row = |index: usize| family.rows.get(index).map(|row| label(family, row));
    let mut farthest: Vec<&Outlier> = outliers.iter().collect();
    farthest.sort_by(|a, b| b.far.total_cmp(&a.far));
    let of_outlier = farthest.into_iter().filter_map(|outlier| {
        let ratio = outlier.ratio;
        Some(format!("Outlier: {}: {ratio:.2} times as long as its neighbours suggest", row(outlier.row)?))
    });
    list(&mut lines, of_outlier.collect(), "outliers");
    let mut deepest: Vec<_> = dips.iter().flat_map(|dips| &dips.dips).collect();
    deepest.sort_by(|a, b| b.falls.total_cmp(&a.falls));
    let of_dip = deepest.into_iter().filter_map(|dip| {
        let falls = 100.0 * dip.falls;
        Some(format!("Dip: {}: {falls:.0} % less time than {}", row(dip.to)?, row(dip.from)?))
    });
    list(&mut lines, of_dip.collect(), "dips");
    if let [_] = lines.as_slice() {
        lines.push(Words::new(Size::Text, "None."));
    }
    lines
}

fn list(lines: &mut Vec<Words>, texts: Vec<String>, kind: &str) {
    let more = texts.len().saturating_sub(MAX_LISTED);
    let listed = texts.into_iter().take(MAX_LISTED);
    lines.extend(listed.map(|text| Words::new(Size::Text, text)));
    if more > 0 {
        lines.push(Words::new(Size::Text, format!("and {more} more {kind}")));
    }
}

/// Describes a row: location, shape, point and latency.
fn label(family: &Family, row: &Row) -> String {
    let location = row.location.as_ref().map(|location| format!("{location}, "));
    let axes = family.operation.declared().axes.iter().enumerate();
    let point: Vec<String> = axes.map(|(axis, name)| format!("{name} {}", row.at(axis))).collect();
    let location = location.unwrap_or_default();
    let us = row.latency_us;
    format!("{location}{}, {} ({us} us)", row.shape, point.join(", "))
}
