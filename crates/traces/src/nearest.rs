//! The name that was meant.

/// Least similarity (0 to 1) of a name that is worth naming.
const SIMILAR: f64 = 0.6;

/// The known name nearest to `name`, the first where equally near, if one is near at all.
///
/// A name that contains the other counts as near however much longer it is (`output` for
/// `output_tokens`).
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_ascii_lowercase();
    let mut best = None;
    for candidate in known {
        let score = similarity(&name, &candidate.to_ascii_lowercase());
        if score >= SIMILAR && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn similarity(name: &str, candidate: &str) -> f64 {
    let contained = candidate.len() > 1
        && name.len() > 1
        && (candidate.contains(name) || name.contains(candidate));
    let floor = if contained { SIMILAR } else { 0.0 };
    strsim::jaro_winkler(name, candidate).max(floor)
}
