//! A file of measurements as typed rows.

use crate::kind::Kind;
use rooflut::table::TableSet;

use crate::predict::gpu;
use crate::rows::{DecodeStep, KvBlockCount, LoadStage, ReplayedRequest, Server, SoloRequest};

/// A file of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name of the file, as reports show it.
    pub file: String,
    /// Rows of the file.
    pub rows: Rows,
}

impl Dataset {
    /// Selects `set` for the rows that name it or the GPU it was measured on, and returns the number of
    /// these rows. The other rows are predicted with the built-in tables.
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
    /// Requests of replayed runs.
    Requests(Vec<ReplayedRequest>),
    /// Requests that ran alone.
    SoloRequests(Vec<SoloRequest>),
    /// Engine steps in which every request decoded.
    DecodeSteps(Vec<DecodeStep>),
    /// KV cache sizes.
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

    /// The kind of the rows.
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
