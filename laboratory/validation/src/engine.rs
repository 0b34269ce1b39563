//! Selects the engine that a row is predicted with.

use rooflut::engine::{self, EngineStack, stacks};
use rooflut::interval::Coverage;

use crate::moved::Moved;

/// Options of predictions.
#[derive(Debug, Clone, Copy)]
pub struct Predictor<'e> {
    /// Engines that replace the built-in ones of the same names. To try other constants, copy an [`EngineStack`],
    /// change it but keep its name, and pass it here.
    pub engines: &'e [&'e EngineStack],
    /// Longer load stages are cut to this duration, in seconds. That is faster, and changes little as
    /// long as the server keeps up with the load.
    pub longest_stage_s: f64,
    /// Coverages of the intervals. Each takes two further predictions of each row.
    pub coverages: &'e [Coverage],
    /// Additions to the times of requests in closed loops.
    pub moved: Moved,
}

impl Default for Predictor<'static> {
    /// The engines of the library, and load stages of any length.
    fn default() -> Predictor<'static> {
        Predictor { engines: &[], longest_stage_s: f64::INFINITY, coverages: &[], moved: Moved::NONE }
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
    /// Returns the engine called `name`. If it is unknown: the newest version of the same product that is not newer
    /// ([`engine::closest`]), else [`engine::DEFAULT`].
    pub(crate) fn engine(&self, name: &str) -> Choice<'e> {
        let mut known = stacks::ALL.into_iter();
        let known = known.find(|stack| stack.name.eq_ignore_ascii_case(name));
        let (engine, because) = match (known, engine::closest(name)) {
            (Some(engine), _) => (engine, None),
            (None, Some(engine)) => (engine, Some("the newest stack of its release or of an earlier one")),
            (None, None) => (&engine::DEFAULT, Some("the default")),
        };
        let mut replaced = self.engines.iter().copied();
        let replaced = replaced.find(|own| own.name == engine.name);
        Choice { engine: replaced.unwrap_or(engine), because }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str) -> (&'static str, Option<&'static str>) {
        let choice = Predictor::default().engine(name);
        (choice.engine.name, choice.because)
    }

    #[test]
    fn engines_are_chosen_by_name_else_by_version_else_by_default() {
        assert_eq!(chosen("vllm-0.15.1"), ("vllm-0.15.1", None));
        assert_eq!(chosen("vLLM-0.11.0"), ("vllm-0.11.0", None));
        let older = Some("the newest stack of its release or of an earlier one");
        assert_eq!(chosen("vLLM 0.16.0"), ("vllm-0.15.1", older));
        for name in ["", "sglang-0.4.1", "vllm-main", "vllm-0.6.3"] {
            assert_eq!(chosen(name), ("vllm-0.25.0", Some("the default")), "{name}");
        }
    }

    #[test]
    fn engines_of_the_caller_replace_those_of_the_same_name() {
        let mut own = stacks::VLLM_0_15_1;
        own.description = "changed";
        let predictor = Predictor { engines: &[&own], ..Predictor::default() };
        assert_eq!(predictor.engine("vllm-0.16.0").engine.description, "changed");
        assert_ne!(predictor.engine("vllm-0.11.0").engine.description, "changed");
    }
}
