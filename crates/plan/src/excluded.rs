//! Kinds of servers that a plan leaves out.

use std::fmt;

use rooflut_scenario::Error;
use serde::{Serialize, Serializer};

use crate::limit::Limit;
use crate::refuted::{Misses, Refuted};
use crate::space::Choice;
use crate::variant::{Variant, Work};

/// A kind of server that a plan leaves out.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Excluded {
    /// The kind of server.
    #[serde(flatten)]
    pub choice: Choice,
    /// Why; JSON has its message.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: Reason,
}

/// Why a plan leaves a kind of server out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reason {
    /// It cannot serve the model.
    Unable(Error),
    /// It misses a limit without any other load.
    Slow {
        /// The limit.
        limit: Limit,
        /// The least that the limited figure can be, milliseconds.
        least_ms: f64,
    },
    /// Its deployments meet the limits in the runs of the search, and miss them in those of their commands.
    Refuted(Misses),
    /// The load takes more GPUs than are allowed.
    TooManyGpus {
        /// The fewest GPUs that may keep up with the load, by step times alone.
        least: u64,
        /// The GPUs that are allowed.
        allowed: u32,
    },
}

impl Excluded {
    pub(crate) fn unable(choice: Choice, error: Error) -> Excluded {
        Excluded { choice, reason: Reason::Unable(error) }
    }

    /// Returns why a kind of server was left out after some of its deployments were simulated, if it was.
    pub(crate) fn refuted(refuted: &Refuted<'_>) -> Option<Excluded> {
        let misses = refuted.left_out()?;
        Some(Excluded { choice: refuted.servers.variant.choice.clone(), reason: Reason::Refuted(misses) })
    }

    /// Returns why bounds rule a kind of server out, if they do.
    pub(crate) fn by_bounds(variant: &Variant, max_gpus: u32) -> Option<Excluded> {
        let bounds = &variant.bounds;
        let reason = match bounds.missed(Work::Whole) {
            Some((limit, least_ms)) => Reason::Slow { limit, least_ms },
            None if bounds.replicas <= variant.max_servers(max_gpus) => return None,
            None => {
                Reason::TooManyGpus { least: u64::from(bounds.replicas) * u64::from(variant.gpus()), allowed: max_gpus }
            }
        };
        Some(Excluded { choice: variant.choice.clone(), reason })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unable(error) => error.fmt(f),
            Reason::Refuted(misses) => misses.fmt(f),
            Reason::Slow { limit, least_ms } => {
                write!(f, "cannot meet {limit}: an idle server takes at least {least_ms:.0} ms")
            }
            Reason::TooManyGpus { least, allowed } => {
                write!(f, "the load takes at least {least} GPUs; at most {allowed} are allowed")
            }
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
