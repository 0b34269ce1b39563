//! Points over batch and KV length, in the form of the published MFU column.

use super::corners::extent;
use super::reading::published_mfu;
use super::{Row, TableKey, at_best};
use rooflut::hardware::{AttentionShape, Gpu};
use rooflut::table::{Class, Entry, Extent, Grid, Provenance};

/// Measured points of decode attention of one shape, as MFU rounded to three decimals.
///
/// FLOPs are `4 (heads/tp) head_dim batch kv_len`; the peak belongs to the rows' dtype.
#[derive(Debug, Clone)]
pub struct MfuGrid {
    shape: AttentionShape,
    batches: Vec<u32>,
    kv_lens: Vec<u32>,
    /// Smaller batches first, then shorter lengths.
    measured: Vec<MfuCell>,
    peak_flops_per_s: f64,
    warm_up: Option<MfuCell>,
    transferred: bool,
}

/// A cell of an [`MfuGrid`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MfuCell {
    /// Requests.
    pub batch: u32,
    /// KV length of each.
    pub kv_len: u32,
    /// MFU, three decimals.
    pub mfu: f64,
}

impl MfuGrid {
    /// Returns the points of an entry of decode attention, or `None` if `gpu` has no peak for the dtype.
    pub fn decode<'t>(entry: &Entry<AttentionShape, Grid<'t>>, gpu: &Gpu) -> Option<MfuGrid> {
        let (shape, points) = (entry.shape, entry.points);
        let peak_flops_per_s = gpu.peak_flops_per_s(shape.dtype)?;
        let [batches, kv_lens] = [points.batch(), points.length()].map(|axis| axis.values().to_vec());
        let measured = batches.iter().enumerate().flat_map(|(row, &batch)| {
            let lengths = kv_lens.iter().enumerate();
            lengths.filter_map(move |(column, &kv_len)| {
                let requests = f64::from(batch);
                let kv_tokens = requests * f64::from(kv_len);
                let flops = shape.on_rank().decode_work(requests, kv_tokens).flops;
                let latency_us = points.latency_us(row, column)?;
                let mfu = published_mfu(flops, latency_us, peak_flops_per_s);
                Some(MfuCell { batch, kv_len, mfu })
            })
        });
        Some(MfuGrid {
            shape,
            measured: measured.collect(),
            batches,
            kv_lens,
            peak_flops_per_s,
            warm_up: None,
            transferred: false,
        })
    }

    /// Adds the first row of the published file, which timed the warm-up and is not in our tables. It has the
    /// smallest batch and length of the grid.
    pub(super) fn with_warm_up(self, cell: MfuCell) -> MfuGrid {
        MfuGrid { warm_up: Some(cell), ..self }
    }

    /// Returns the grid, which answers for another shape if `transferred`.
    pub(super) fn transferred(self, transferred: bool) -> MfuGrid {
        MfuGrid { transferred, ..self }
    }

    /// Returns the measured shape.
    pub fn shape(&self) -> AttentionShape {
        self.shape
    }

    /// Returns the peak that the MFU is relative to, FLOP/s.
    pub(crate) fn peak_flops_per_s(&self) -> f64 {
        self.peak_flops_per_s
    }

    /// Returns the table.
    pub fn table(&self) -> TableKey {
        TableKey::Decode(self.shape)
    }

    /// Returns the measured cells, smaller batches first, then shorter lengths.
    pub fn cells(&self) -> impl Iterator<Item = MfuCell> + '_ {
        self.warm_up.iter().chain(&self.measured).copied()
    }

    /// Returns the cell at a batch and a length, or `None` for a hole.
    pub fn cell(&self, batch: u32, kv_len: u32) -> Option<MfuCell> {
        self.cells().find(|cell| (cell.batch, cell.kv_len) == (batch, kv_len))
    }

    /// Returns the batches that have cells, in no particular order.
    pub(super) fn batches(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        let warm_up = self.warm_up.map(|cell| cell.batch);
        warm_up.into_iter().chain(self.batches.iter().copied())
    }

    /// Returns the KV lengths that have cells, in no particular order.
    pub(super) fn kv_lens(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        let warm_up = self.warm_up.map(|cell| cell.kv_len);
        warm_up.into_iter().chain(self.kv_lens.iter().copied())
    }

    /// Returns the row of a cell.
    pub(super) fn row(&self, cell: MfuCell) -> Row {
        Row { table: self.table(), batch: cell.batch, at: cell.kv_len }
    }

    /// Returns whether a query lies within both axes.
    pub(super) fn extent(&self, batch: f64, kv_len: f64) -> Extent {
        extent(self.batches(), batch).max(extent(self.kv_lens(), kv_len))
    }

    /// Returns the provenance of an answer, given that of its place on the grid.
    pub(super) fn provenance(&self, place: Provenance) -> Provenance {
        if self.transferred { at_best(place, Class::Transferred) } else { place }
    }
}
