//! Errors of the time of a step.

use super::Part;
use crate::table::ErrorGroup;

/// Errors of the lookups of each part, and of the model as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PartErrors {
    parts: [ErrorGroup; Part::ALL.len()],
    /// Share of the lookups' errors that a step has.
    pub(super) lookup_share: f64,
    /// Mean absolute error of model and engine, as a logarithm.
    pub(super) model: f64,
}

impl PartErrors {
    /// Lookups of unknown origin and a model without an error of its own.
    pub(super) const UNKNOWN: PartErrors =
        PartErrors { parts: [ErrorGroup::UNKNOWN; Part::ALL.len()], lookup_share: 1.0, model: 0.0 };

    pub(super) fn set(&mut self, part: Part, errors: ErrorGroup) {
        if let Some(slot) = self.parts.get_mut(part as usize) {
            *slot = errors;
        }
    }

    /// Returns the errors of the lookups of `part`.
    pub(super) fn of(&self, part: Part) -> ErrorGroup {
        let errors = self.parts.get(part as usize).copied();
        errors.unwrap_or(ErrorGroup::UNKNOWN)
    }
}
