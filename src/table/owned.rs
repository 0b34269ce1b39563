//! Table sets on the heap, shared by their handles.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rooflut_roofline::{AxisPoint, Gpu, Text};

use super::Origin;
use super::stored::{EntryPlace, Stored, TableHead};

/// A set that was created at run time.
pub(super) struct OwnedSet {
    pub(super) name: Text,
    pub(super) gpu: Gpu,
    pub(super) origin: Origin,
    pub(super) axis_values: Vec<u32>,
    pub(super) axis_points: Vec<AxisPoint>,
    pub(super) tables: Vec<OwnedTable>,
    /// The set with the rows of other engine versions, by their names.
    pub(super) versions: Vec<(Text, Arc<OwnedSet>)>,
}

pub(super) struct OwnedTable {
    pub(super) head: TableHead,
    pub(super) shapes: Vec<u32>,
    pub(super) entries: Vec<EntryPlace>,
    pub(super) latency_us: Vec<f32>,
    pub(super) ln_slowdown: Vec<f32>,
}

impl OwnedSet {
    #[inline]
    pub(super) fn table(&self, place: u16) -> Option<Stored<'_>> {
        let table = self.tables.get(usize::from(place))?;
        Some(Stored {
            head: &table.head,
            shapes: &table.shapes,
            entries: &table.entries,
            latency_us: &table.latency_us,
            ln_slowdown: &table.ln_slowdown,
            axis_values: &self.axis_values,
            axis_points: &self.axis_points,
        })
    }
}
