//! Selects the known engine that a row is predicted with.

use std::cmp::Reverse;

use rooflut::engine::{EngineStack, stacks};
use rooflut::interval::Coverage;

/// Options of predictions.
///
/// To try other constants, copy an [`EngineStack`], change it but keep its name, and pass it here.
#[derive(Debug, Clone, Copy)]
pub struct Predictor<'e> {
    /// The known engines; vLLM 0.15.1 if empty.
    pub engines: &'e [&'e EngineStack],
    /// Longer load stages are cut to this duration, in seconds. That is faster, and changes little as
    /// long as the server keeps up with the load.
    pub longest_stage_s: f64,
    /// Coverage of the intervals. They take two further predictions of each row.
    pub coverage: Option<Coverage>,
}

impl Default for Predictor<'static> {
    /// The engines of the library, and load stages of any length.
    fn default() -> Predictor<'static> {
        Predictor {
            engines: &stacks::ALL,
            longest_stage_s: f64::INFINITY,
            coverage: None,
        }
    }
}

/// The engine that a row is predicted with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice<'e> {
    pub(crate) engine: &'e EngineStack,
    /// Why it was chosen, if the row names another.
    pub(crate) because: Option<&'static str>,
}

impl<'e> Predictor<'e> {
    /// Returns the engine called `name`. If it is unknown: the newest version of the same product that is
    /// not newer, where patches of one release count as equal; else the oldest version of the product.
    /// For other products: vLLM 0.15.1.
    pub(crate) fn engine(&self, name: &str) -> Choice<'e> {
        let choice = |engine, because| Choice {
            engine,
            because: Some(because),
        };
        let find = |name: &str| {
            let mut engines = self.engines.iter().copied();
            engines.find(|engine| engine.name.eq_ignore_ascii_case(name))
        };
        if let Some(engine) = find(name) {
            let because = None;
            return Choice { engine, because };
        }
        let mut known: Vec<(Version, &EngineStack)> = self
            .engines
            .iter()
            .map(|engine| (Version::of(engine.name), *engine))
            .collect();
        known.sort_by_key(|(version, _)| Reverse(version.numbers));
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
        let default = &stacks::VLLM_0_15_1;
        choice(find(default.name).unwrap_or(default), "the default")
    }
}

impl Choice<'_> {
    /// Returns a note if the engine is not the one called `name`.
    pub(crate) fn note(&self, name: &str) -> Option<String> {
        let because = self.because?;
        let engine = self.engine.name;
        Some(match name {
            "" => format!("no engine is named: predicted as {engine}, {because}"),
            _ => format!("engine {name} is not known: predicted as {engine}, {because}"),
        })
    }
}

/// A parsed name such as `vllm-0.15.1`.
#[derive(Debug, PartialEq)]
struct Version {
    /// Product in lower case.
    product: String,
    /// Major, minor, patch; `None` if the name has no version.
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
    fn known_engines_are_chosen_by_name() {
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
            "vllm-0.32",
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
    fn without_engines_the_default_is_used() {
        let none = Predictor {
            engines: &[],
            ..Predictor::default()
        };
        assert_eq!(none.engine("vllm-0.11.0").engine.name, "vllm-0.15.1");
    }
}
