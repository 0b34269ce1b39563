//! Which known engine stands for the one that a row names.

use std::cmp::Reverse;

use rooflut::engine::{EngineStack, stacks};

/// With what rows are predicted.
///
/// To try other constants, copy an [`EngineStack`], change it, keep its name, and put it here.
#[derive(Debug, Clone, Copy)]
pub struct Predictor<'e> {
    /// The known engines; where there are none, vLLM 0.15.1.
    pub engines: &'e [&'e EngineStack],
    /// Load stages that last longer are cut to this, which is faster and nearly the same where the
    /// server keeps up.
    pub longest_stage_s: f64,
}

impl Default for Predictor<'static> {
    /// The engines of the library, stages in full.
    fn default() -> Predictor<'static> {
        Predictor {
            engines: &stacks::ALL,
            longest_stage_s: f64::INFINITY,
        }
    }
}

/// A known engine that stands for what a row names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice<'e> {
    pub(crate) engine: &'e EngineStack,
    /// Why this one, if it is not the one named.
    pub(crate) because: Option<&'static str>,
}

impl<'e> Predictor<'e> {
    /// The engine of that name; or of the same product the next older version, patches of one release
    /// being alike; or its oldest; or for other products the newest there is.
    pub(crate) fn engine(&self, name: &str) -> Choice<'e> {
        let choice = |engine, because| Choice {
            engine,
            because: Some(because),
        };
        let mut known: Vec<(Version, &EngineStack)> = self
            .engines
            .iter()
            .map(|engine| (Version::of(engine.name), *engine))
            .collect();
        known.sort_by_key(|(version, _)| Reverse(version.numbers));
        let named = self
            .engines
            .iter()
            .find(|engine| engine.name.eq_ignore_ascii_case(name));
        if let Some(engine) = named {
            let because = None;
            return Choice { engine, because };
        }
        let asked = Version::of(name);
        let mut same = known
            .iter()
            .filter(|(known, _)| asked.numbers.is_some() && known.product == asked.product);
        let oldest = same.clone().next_back();
        if let Some((_, engine)) = same.find(|(known, _)| known.release() <= asked.release()) {
            return choice(engine, "the closest that is not newer");
        }
        if let Some((_, engine)) = oldest {
            return choice(engine, "the oldest that is known");
        }
        let default = known
            .first()
            .map_or(&stacks::VLLM_0_15_1, |(_, engine)| *engine);
        choice(default, "the default")
    }
}

impl Choice<'_> {
    /// Says so where the engine is not the one named.
    pub(crate) fn note(&self, name: &str) -> Option<String> {
        let because = self.because?;
        let engine = self.engine.name;
        Some(match name {
            "" => format!("no engine is named: predicted as {engine}, {because}"),
            _ => format!("engine {name} is not known: predicted as {engine}, {because}"),
        })
    }
}

/// `vllm-0.15.1`, taken apart.
#[derive(Debug, PartialEq)]
struct Version {
    /// In lower case.
    product: String,
    /// Major, minor, patch; `None` without any.
    numbers: Option<[u32; 3]>,
}

impl Version {
    fn of(name: &str) -> Version {
        let separated = name.split_once(|c: char| !c.is_ascii_alphanumeric());
        let (product, version) = separated.unwrap_or((name, ""));
        let digits = version.trim_start_matches(|c: char| !c.is_ascii_digit());
        let mut parts = digits.split('.').map(leading_number);
        let mut part = || parts.next().flatten();
        let numbers = part().map(|major| [major, part().unwrap_or(0), part().unwrap_or(0)]);
        Version {
            product: product.to_ascii_lowercase(),
            numbers,
        }
    }

    /// Major and minor.
    fn release(&self) -> Option<[u32; 2]> {
        let [major, minor, _] = self.numbers?;
        Some([major, minor])
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str) -> (&'static str, Option<&'static str>) {
        let choice = Predictor::default().engine(name);
        (choice.engine.name, choice.because)
    }

    #[test]
    fn known_engines_stand_for_themselves() {
        assert_eq!(chosen("vllm-0.15.1"), ("vllm-0.15.1", None));
        assert_eq!(chosen("vLLM-0.11.0"), ("vllm-0.11.0", None));
    }

    #[test]
    fn other_versions_are_read_as_the_closest_that_is_not_newer() {
        let older = Some("the closest that is not newer");
        for name in [
            "vllm-0.12.0",
            "vllm-0.14.2rc1",
            "vllm==0.11.2",
            "vllm-v0.14",
        ] {
            assert_eq!(chosen(name), ("vllm-0.11.0", older), "{name}");
        }
        for name in [
            "vllm-0.15.0",
            "vllm-0.15",
            "vLLM 0.16.0",
            "vllm-1.0",
            "vllm-0.15.1+cu130",
        ] {
            assert_eq!(chosen(name), ("vllm-0.15.1", older), "{name}");
        }
        let oldest = Some("the oldest that is known");
        assert_eq!(chosen("vllm-0.6.3"), ("vllm-0.11.0", oldest));
    }

    #[test]
    fn other_products_are_read_as_the_default() {
        for name in ["", "sglang-0.4.1", "vllm", "vllm-main", "0.15.1", "-"] {
            assert_eq!(chosen(name), ("vllm-0.15.1", Some("the default")), "{name}");
        }
    }

    #[test]
    fn without_engines_there_is_the_default() {
        let none = Predictor {
            engines: &[],
            ..Predictor::default()
        };
        assert_eq!(none.engine("vllm-0.11.0").engine.name, "vllm-0.15.1");
    }

    #[test]
    fn notes_name_both() {
        let note = |name| Predictor::default().engine(name).note(name);
        assert_eq!(note("vllm-0.15.1"), None);
        assert_eq!(
            note("vllm-0.12.0").unwrap(),
            "engine vllm-0.12.0 is not known: predicted as vllm-0.11.0, the closest that is not newer"
        );
        assert_eq!(
            note("").unwrap(),
            "no engine is named: predicted as vllm-0.15.1, the default"
        );
    }
}
