//! A file of measurements as typed rows.

use rooflut::table::TableSet;

use crate::kind::Kind;
use crate::predict::gpu;
use crate::rows::Row;

/// A file of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name of the file, as reports show it.
    pub file: String,
    /// Kind of all rows.
    pub kind: Kind,
    /// Rows in the order of the file.
    pub rows: Vec<Row>,
}

impl Dataset {
    /// Selects `set` for the rows that name the set or its GPU, and returns the number of these rows. The other rows
    /// are predicted with the built-in tables.
    pub fn predict_with(&mut self, set: &TableSet) -> usize {
        let mut found = 0;
        for Row { server, .. } in &mut self.rows {
            if gpu::is_of(&server.gpu, set) {
                server.tables = Some(set.clone());
                found += 1;
            }
        }
        found
    }
}
