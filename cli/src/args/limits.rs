//! Limits on latencies, for commands that search.

use clap::Args;
use rooflut::interval::Coverage;
use rooflut::table::Strictness;
use rooflut_plan::{Limit, Limits};
use rooflut_scenario::real;

use crate::error::Error;

/// Limits that must hold, and how certainly.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Limits to meet, on the p99 or on the figure after @ (mean, p50, p90, p95, p99.9): ttft:500 tpot:20@p95 e2e:30s.
    #[arg(long, value_name = "NAME:MS[@FIGURE]", num_args = 1..)]
    goodput: Vec<Limit>,
    /// Share of requests that must meet all limits together, such as 0.99, in place of limits on figures.
    #[arg(long, value_name = "SHARE", value_parser = real, conflicts_with = "confidence", requires = "goodput")]
    attainment: Option<f64>,
    /// Check the limits at the far end of the interval meant to contain this share of measured servers
    /// (`rooflut run --interval`), such as 0.9.
    #[arg(long, value_name = "SHARE", requires = "goodput")]
    pub(crate) confidence: Option<Coverage>,
    /// Reject answers of the tables that are worse than this: a class (`rooflut step --help` lists the classes),
    /// inside, or both.
    #[arg(long, value_name = "CLASS")]
    pub(crate) strict: Option<Strictness>,
}

impl LimitArgs {
    /// Whether there is a limit.
    pub(crate) fn is_given(&self) -> bool {
        !self.goodput.is_empty()
    }

    /// Returns the limits.
    pub(crate) fn limits(&self) -> Result<Limits, Error> {
        let flag = match self.attainment {
            Some(_) => "--attainment",
            None => "--goodput",
        };
        let limits = Limits::try_new(self.goodput.clone(), self.attainment);
        limits.map_err(|error| Error::new(format!("{flag}: {error}")))
    }
}
