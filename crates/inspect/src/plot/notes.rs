//! The findings in words, below the picture.

use super::style::{Size, Words};
use crate::dips::Dips;
use crate::family::Family;
use crate::outliers::Outlier;
use crate::row::Row;

/// Findings of a kind that are told.
const MOST: usize = 12;

pub(super) fn lines(family: &Family, outliers: &[Outlier], dips: &[Dips]) -> Vec<Words> {
    let mut lines = vec![Words::new(Size::Heading, "What stands out")];
    let row = |place: usize| family.rows.get(place).map(|row| label(family, row));
    let mut farthest: Vec<&Outlier> = outliers.iter().collect();
    farthest.sort_by(|a, b| b.far.total_cmp(&a.far));
    let of_outlier = farthest.into_iter().filter_map(|outlier| {
        let ratio = outlier.ratio;
        Some(format!(
            "Outlier: {}: {ratio:.2} times as long as its neighbours let expect",
            row(outlier.row)?
        ))
    });
    tell(&mut lines, of_outlier.collect(), "outliers");
    let mut deepest: Vec<_> = dips.iter().flat_map(|dips| &dips.dips).collect();
    deepest.sort_by(|a, b| b.falls.total_cmp(&a.falls));
    let of_dip = deepest.into_iter().filter_map(|dip| {
        let falls = 100.0 * dip.falls;
        Some(format!(
            "Dip: {}: {falls:.0} % less time than {}",
            row(dip.to)?,
            row(dip.from)?
        ))
    });
    tell(&mut lines, of_dip.collect(), "dips");
    if let [_] = lines.as_slice() {
        lines.push(Words::new(Size::Text, "Nothing."));
    }
    lines
}

fn tell(lines: &mut Vec<Words>, texts: Vec<String>, kind: &str) {
    let more = texts.len().saturating_sub(MOST);
    let told = texts.into_iter().take(MOST);
    lines.extend(told.map(|text| Words::new(Size::Text, text)));
    if more > 0 {
        lines.push(Words::new(Size::Text, format!("and {more} more {kind}")));
    }
}

/// Where a row stands and what it measures.
fn label(family: &Family, row: &Row) -> String {
    let place = row.place.as_ref().map(|place| format!("{place}, "));
    let axes = family.operation.declared().axes.iter().enumerate();
    let point: Vec<String> = axes
        .map(|(axis, name)| format!("{name} {}", row.at(axis)))
        .collect();
    let place = place.unwrap_or_default();
    let us = row.latency_us;
    format!("{place}{}, {} ({us} us)", row.shape, point.join(", "))
}
