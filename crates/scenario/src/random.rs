//! Dependence of a run on its seed.

use crate::lengths::{Formula, LengthDistribution};
use crate::scenario::{Arrival, Server, Workload};
use crate::value::ThinkTime;

impl Workload {
    /// Whether a generated load depends on its seed.
    pub fn is_random(&self) -> bool {
        let has_users = self.users.is_some();
        let is_drawn =
            |lengths: &LengthDistribution| !matches!(lengths, LengthDistribution::Formula(Formula::Fixed(_)));
        let lengths = [&self.prompt, &self.output, &self.turns];
        let pauses = match self.think_time {
            // Users begin at any time within a constant pause.
            Some(ThinkTime::Fixed(pause)) => has_users && pause > 0.0,
            Some(ThinkTime::Exponential(_)) => true,
            None => false,
        };
        (!has_users && self.arrival() != Arrival::Constant)
            || lengths.into_iter().flatten().any(is_drawn)
            || pauses
            || self.prefixes.is_some_and(|prefixes| prefixes.groups > 1)
            || self.priorities.is_some()
    }
}

impl Server {
    /// Whether the acceptance of drafts depends on the seed.
    pub fn is_random(&self) -> bool {
        // A measured acceptance is neither 0 nor 1.
        self.draft_tokens.is_some() && self.acceptance.is_none_or(|share| share > 0.0 && share < 1.0)
    }
}
