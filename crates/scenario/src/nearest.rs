//! The name that was meant.

/// Least similarity (0 to 1) of a name that is worth naming.
const SIMILAR: f64 = 0.75;
/// The most names that are named.
const MOST: usize = 2;

/// The known names nearest to `name`, nearest first, in the order given where equally near.
pub(crate) fn nearest(
    name: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let scored = known.into_iter().map(|known| {
        let score = strsim::jaro_winkler(&name, known);
        (score, known)
    });
    let mut scored: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= SIMILAR).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored
        .into_iter()
        .take(MOST)
        .map(|(_, known)| known)
        .collect()
}
