//! Measured acceptance of drafts.

use rooflut::model;
use rooflut_report::MeasuredAcceptance;

/// Mean accepted lengths, with their source.
const LENGTHS: &str = include_str!("../acceptance_lengths.csv");

/// Returns the measured acceptance of `draft_tokens` tokens that `draft_model` drafts for `model`, if there is one.
pub(crate) fn measured(model: &str, draft_model: &str, draft_tokens: u32) -> Option<MeasuredAcceptance> {
    let name = model::find(model)?.name;
    let row = rows().find(|row| (row.model, row.draft_model, row.draft_tokens) == (name, draft_model, draft_tokens))?;
    Some(MeasuredAcceptance {
        model: row.measured.to_owned(),
        prompts: "coding prompts, thinking on".to_owned(),
        tokens_per_step: row.tokens_per_step,
        source: "InferenceX golden_al_distribution".to_owned(),
    })
}

/// Returns the draft models with a measured acceptance, the fewest and most drafted tokens, and the models of each.
pub(crate) fn known() -> Vec<(&'static str, [u32; 2], Vec<&'static str>)> {
    let rows: Vec<Row> = rows().collect();
    let mut known: Vec<(&str, [u32; 2], Vec<&str>)> = Vec::new();
    for rows in rows.chunk_by(|a, b| (a.model, a.draft_model) == (b.model, b.draft_model)) {
        let Some((few, many)) = rows.first().zip(rows.last()) else { continue };
        let range = [few.draft_tokens, many.draft_tokens];
        match known.iter_mut().find(|(draft_model, of, _)| (*draft_model, *of) == (few.draft_model, range)) {
            Some((.., models)) => models.push(few.model),
            None => known.push((few.draft_model, range, vec![few.model])),
        }
    }
    known
}

/// Returns the acceptance rate p at which a step with `draft_tokens` drafted tokens yields `tokens_per_step` tokens on
/// average: 1 + p + ... + p^`draft_tokens`, which is solved by bisection.
pub(crate) fn rate(draft_tokens: u32, tokens_per_step: f64) -> f64 {
    let yielded = |rate: f64| (0..draft_tokens).fold(1.0, |sum, _| 1.0 + rate * sum);
    let [mut low, mut high] = [0.0, 1.0];
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = 0.5 * (low + high);
        *if yielded(middle) < tokens_per_step { &mut low } else { &mut high } = middle;
    }
    high
}

/// A row of the file.
struct Row {
    model: &'static str,
    measured: &'static str,
    draft_model: &'static str,
    draft_tokens: u32,
    tokens_per_step: f64,
}

/// Rows of one model and draft model follow each other, by number of drafted tokens. A test reads all of them.
fn rows() -> impl Iterator<Item = Row> {
    LENGTHS.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let &[model, measured, draft_model, draft_tokens, length] = cells.as_slice() else {
            return None;
        };
        let (draft_tokens, tokens_per_step) = (draft_tokens.parse().ok()?, length.parse().ok()?);
        Some(Row { model, measured, draft_model, draft_tokens, tokens_per_step })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_file_is_read_and_possible() {
        let lines = LENGTHS.lines().filter(|line| !line.starts_with('#')).skip(1);
        assert_eq!(rows().count(), lines.count());
        for row in rows() {
            assert!(model::find(row.model).is_some_and(|entry| entry.name == row.model), "{}", row.model);
            assert!((1..=16).contains(&row.draft_tokens));
            assert!((1.0..=1.0 + f64::from(row.draft_tokens)).contains(&row.tokens_per_step));
        }
        let all: Vec<Row> = rows().collect();
        let key = |row: &Row| (row.model, row.draft_model);
        for pair in all.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1])) {
            assert_eq!(pair[0].draft_tokens + 1, pair[1].draft_tokens);
            assert!(pair[0].tokens_per_step < pair[1].tokens_per_step);
        }
    }

    #[test]
    fn models_are_known_by_all_their_names_with_1_to_8_drafts() {
        let heads = vec!["kimi-k2.5", "minimax-m3"];
        assert_eq!(known(), [("mtp", [1, 8], vec!["qwen3.5-397b-a17b", "glm-5.2-fp8"]), ("eagle3", [1, 8], heads)]);
        for (name, draft_model, expected) in [
            ("qwen3.5-397b-a17b", "mtp", (3.39, "qwen3.5-397b-a17b-nvfp4")),
            ("Qwen/Qwen3.5-397B-A17B", "mtp", (3.39, "qwen3.5-397b-a17b-nvfp4")),
            ("zai-org/GLM-5.2-FP8", "mtp", (2.99, "glm-5.2-fp8")),
            ("moonshotai/Kimi-K2.5", "eagle3", (2.88, "kimi-k2.5-nvfp4")),
            ("minimax-m3", "eagle3", (2.83, "minimax-m3")),
        ] {
            let found = measured(name, draft_model, 3).unwrap();
            assert_eq!((found.tokens_per_step, found.model.as_str()), expected);
        }
        for (name, draft_model, draft_tokens) in [
            ("qwen3.5-397b-a17b", "mtp", 9),
            ("qwen3.5-397b-a17b", "ngram", 3),
            ("glm-5", "mtp", 3),
            ("kimi-k2.5", "mtp", 3),
            ("llama-3.1-8b", "eagle3", 3),
            ("a.json", "mtp", 3),
        ] {
            assert_eq!(measured(name, draft_model, draft_tokens), None, "{name} {draft_model} {draft_tokens}");
        }
    }

    #[test]
    fn a_single_draft_is_accepted_as_often_as_it_adds_a_token() {
        for accepted in [0.0, 0.25, 0.5, 0.84, 1.0] {
            assert!((rate(1, 1.0 + accepted) - accepted).abs() < 1e-15, "{accepted}");
        }
    }

    #[test]
    fn the_rate_of_a_length_yields_this_length() {
        for draft_tokens in 1..=16 {
            for step in 0..=20 {
                let accepted = f64::from(step) / 20.0;
                let length: f64 = (0..=draft_tokens).map(|power| accepted.powi(power as i32)).sum();
                let solved = rate(draft_tokens, length);
                assert!((solved - accepted).abs() < 1e-14, "{draft_tokens} drafts: {solved}, not {accepted}");
            }
        }
    }

    #[test]
    fn longer_lengths_have_higher_rates_and_more_drafts_lower_ones() {
        for draft_tokens in 1..=8 {
            let rates: Vec<f64> = (10..=20).map(|tenths| rate(draft_tokens, f64::from(tenths) / 10.0)).collect();
            assert!(rates.is_sorted_by(|a, b| a < b), "{rates:?}");
            assert!(rate(draft_tokens + 1, 1.5) < rate(draft_tokens, 1.5));
        }
    }
}
