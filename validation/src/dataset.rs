//! The rows of a file.

use crate::kind::Kind;
use crate::rows::{DecodeStep, KvBlockCount, LoadStage, ReplayedRequest, SoloRequest};

/// A file of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Its name, which stands in reports.
    pub file: String,
    /// Its rows.
    pub rows: Rows,
}

/// Rows of one kind, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// Load stages of servers.
    LoadStages(Vec<LoadStage>),
    /// Requests of runs that are replayed.
    Requests(Vec<ReplayedRequest>),
    /// Requests that ran alone.
    SoloRequests(Vec<SoloRequest>),
    /// Engine steps in which every request decoded.
    DecodeSteps(Vec<DecodeStep>),
    /// Sizes of KV caches.
    KvBlocks(Vec<KvBlockCount>),
}

impl Rows {
    /// What the rows are.
    pub fn kind(&self) -> Kind {
        match self {
            Rows::LoadStages(_) => Kind::LoadStages,
            Rows::Requests(_) => Kind::Requests,
            Rows::SoloRequests(_) => Kind::SoloRequests,
            Rows::DecodeSteps(_) => Kind::DecodeSteps,
            Rows::KvBlocks(_) => Kind::KvBlocks,
        }
    }
}
