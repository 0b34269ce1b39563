//! The known names nearest to one that is not known.

/// The most names that a message lists.
const MOST: usize = 3;
/// Least similarity (0 to 1) of a name that is worth listing.
const SIMILAR: f64 = 0.6;

/// The known names nearest to `name`, nearest first, in the order given where equally near.
///
/// A name that contains the other counts as near however much longer it is (`llama` for
/// `llama-3.1-8b`).
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let name = name.to_ascii_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| {
            (
                similarity(&name, &candidate.to_ascii_lowercase()),
                candidate,
            )
        })
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.truncate(MOST);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

fn similarity(name: &str, candidate: &str) -> f64 {
    let contained = name.len() > 1 && (candidate.contains(name) || name.contains(candidate));
    let floor = if contained { SIMILAR } else { 0.0 };
    strsim::jaro_winkler(name, candidate).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_strangers_do_not_come() {
        let known = ["llama-2-7b", "llama-3.1-8b", "qwen3-14b"];
        assert_eq!(nearest("Llama-3.1-8", known)[0], "llama-3.1-8b");
        assert_eq!(nearest("zzz", known), [""; 0]);
        assert!(nearest("qwen", known).contains(&"qwen3-14b"));
    }
}
