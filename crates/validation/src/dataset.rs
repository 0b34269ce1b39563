//! The rows of a file.

use crate::kind::Kind;
use rooflut::table::TableSet;

use crate::predict::gpu;
use crate::rows::{DecodeStep, KvBlockCount, LoadStage, ReplayedRequest, Server, SoloRequest};

/// A file of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Its name, which stands in reports.
    pub file: String,
    /// Its rows.
    pub rows: Rows,
}

impl Dataset {
    /// Has the rows that name `set` or the GPU that it was measured on predicted with it. Answers with
    /// how many these are; the others are predicted with the built-in tables.
    pub fn predict_with(&mut self, set: &TableSet) -> usize {
        let mut found = 0;
        self.rows.for_each_server(|server| {
            if gpu::is_of(&server.gpu, set) {
                server.tables = Some(set.clone());
                found += 1;
            }
        });
        found
    }
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
    fn for_each_server(&mut self, mut visit: impl FnMut(&mut Server)) {
        match self {
            Rows::LoadStages(rows) => rows.iter_mut().for_each(|row| visit(&mut row.server)),
            Rows::Requests(rows) => rows.iter_mut().for_each(|row| visit(&mut row.server)),
            Rows::SoloRequests(rows) => rows.iter_mut().for_each(|row| visit(&mut row.server)),
            Rows::DecodeSteps(rows) => rows.iter_mut().for_each(|row| visit(&mut row.server)),
            Rows::KvBlocks(rows) => rows.iter_mut().for_each(|row| visit(&mut row.server)),
        }
    }

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
