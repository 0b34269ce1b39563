//! Names that are similar to an unknown one.

use std::borrow::Borrow;

/// Maximum number of suggested names.
const MAX_NAMES: usize = 3;
/// Minimum similarity of a suggested name, by Jaro and Winkler: 0 to 1.
const MIN_SIMILARITY: f64 = 0.75;
/// Least similarity of a name that is misspelt.
const MIN_MISSPELT: f64 = 0.9;

/// Returns up to three of the `known` names that are similar to `name`, the most similar first, and equally similar
/// names in the given order.
///
/// Case does not matter, nor whether words are joined by `-` or `_`. A name that contains the other is
/// similar however much longer it is (`llama` and `llama-3.1-8b`).
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    nearest_of(name, &mut known.into_iter())
}

// Compiled once, not for each kind of list.
fn nearest_of<'n>(name: &str, known: &mut dyn Iterator<Item = &'n str>) -> Vec<&'n str> {
    let name = folded(name);
    let scored = known.map(|known| {
        let similarity = similarity(&name, &folded(known));
        (similarity, known)
    });
    let mut similar: Vec<(f64, &str)> = scored.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).collect();
    similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    similar.truncate(MAX_NAMES);
    similar.into_iter().map(|(_, known)| known).collect()
}

/// Returns the `known` name that `name` misspells: as [`nearest`], but only if hardly any other name can be meant.
pub fn misspelt<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = nearest(name, known).into_iter().next();
    near.filter(|near| is_misspelt(name, near))
}

fn is_misspelt(name: &str, near: &str) -> bool {
    strsim::jaro_winkler(&folded(name), &folded(near)) >= MIN_MISSPELT
}

/// Returns ` (nearest: a, b)` for the end of a message, nothing where there are no names.
pub fn hint<S: Borrow<str>>(names: &[S]) -> String {
    match names {
        [] => String::new(),
        names => format!(" (nearest: {})", names.join(", ")),
    }
}

/// Joins names as in a sentence: `a`, `a or b`, `a, b or c`.
pub fn either<S: Borrow<str>>(names: &[S]) -> String {
    match names {
        [] => String::new(),
        [only] => only.borrow().to_owned(),
        [others @ .., last] => format!("{} or {}", others.join(", "), last.borrow()),
    }
}

fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

fn similarity(name: &str, known: &str) -> f64 {
    let shorter = name.len().min(known.len());
    let contained = shorter > 1 && (known.contains(name) || name.contains(known));
    let floor = if contained { MIN_SIMILARITY } else { 0.0 };
    strsim::jaro_winkler(name, known).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        assert_eq!(either::<&str>(&[]), "");
        assert_eq!(either(&["a"]), "a");
        assert_eq!(either(&["a", "b"]), "a or b");
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }

    #[test]
    fn the_most_similar_name_comes_first_and_others_are_left_out() {
        let known = ["llama-2-7b", "llama-3.1-8b", "qwen3-14b"];
        assert_eq!(nearest("Llama-3.1-8", known)[0], "llama-3.1-8b");
        assert_eq!(nearest("zzz", known), [""; 0]);
        assert_eq!(nearest("", known), [""; 0]);
        assert_eq!(nearest("qwen", known), ["qwen3-14b"]);
        assert_eq!(nearest("QWEN3_14B", known), ["qwen3-14b"]);
    }

    #[test]
    fn three_names_at_most_are_suggested_in_the_order_given() {
        let known = ["h100", "h200", "h300", "h400"];
        assert_eq!(nearest("h500", known), ["h100", "h200", "h300"]);
    }

    #[test]
    fn a_name_is_misspelt_only_where_it_is_very_similar() {
        let known = ["cached_prompt_tokens", "prefix_id", "session_id", "priority"];
        for (name, meant) in [
            ("cached_prompts_tokens", "cached_prompt_tokens"),
            ("cached-tokens", "cached_prompt_tokens"),
            ("sesion_id", "session_id"),
            ("Session", "session_id"),
            ("prority", "priority"),
        ] {
            assert_eq!(misspelt(name, known), Some(meant), "{name}");
        }
        for name in ["", "id", "request_id", "user_id", "user", "model", "tokens", "note"] {
            assert_eq!(misspelt(name, known), None, "{name}");
        }
    }

    #[test]
    fn a_single_letter_is_contained_in_too_many_names() {
        assert_eq!(nearest("a", ["gemma-3-4b"]), [""; 0]);
    }
}
