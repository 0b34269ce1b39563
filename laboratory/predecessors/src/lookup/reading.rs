//! Answers of the predecessors' lookups: an MFU and its source.

use std::fmt;

use rooflut::hardware::{AttentionShape, GemmShape};
use rooflut::table::{Class, Provenance};
use rooflut::units::Mfu;
use rooflut_error::{Error, Kind};

/// An MFU and its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MfuReading {
    /// The MFU, positive.
    pub mfu: Mfu,
    /// The measured points behind the reading.
    pub matched: Matched,
    /// Distance of the measured points from the query.
    pub provenance: Provenance,
}

/// The source of an MFU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Matched {
    /// A published row.
    Row(Row),
    /// Interpolated in a table.
    Between(TableKey),
    /// A default of the original, without a measurement.
    Default,
}

/// A table of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKey {
    /// A GEMM over m.
    Gemm(GemmShape),
    /// Prefill attention of one prompt over its length.
    Prefill(AttentionShape),
    /// Decode attention over batch and KV length.
    Decode(AttentionShape),
}

/// A row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The table.
    pub table: TableKey,
    /// Number of requests; 1 for tables without such a column.
    pub batch: u32,
    /// Rows m of a GEMM, prompt length of prefill, KV length of decode attention.
    pub at: u32,
}

impl MfuReading {
    /// Returns a default that the original uses without a measurement.
    pub fn assumed(mfu: Mfu) -> MfuReading {
        MfuReading { mfu, matched: Matched::Default, provenance: Class::Bound.outside() }
    }

    /// Returns the MFU of a row.
    pub(super) fn of_row(mfu: f64, row: Row, provenance: Provenance) -> Result<MfuReading, Error> {
        positive(mfu, row)?;
        Ok(MfuReading { mfu: Mfu(mfu), matched: Matched::Row(row), provenance })
    }
}

/// Rejects an MFU that the original would divide by.
pub(super) fn positive(mfu: f64, row: Row) -> Result<(), Error> {
    if mfu > 0.0 {
        return Ok(());
    }
    let text = format!(
        "{row}: expected a positive MFU, found 0.000 (rounded as published), by which the original divides: ask for a \
         larger step or use the default model"
    );
    Err(Error::new(Kind::Contents, text))
}

/// Returns an MFU as published: rounded to three decimals, halves up.
pub(super) fn published_mfu(flops: f64, latency_us: f32, peak_flops_per_s: f64) -> f64 {
    let mfu = flops / (f64::from(latency_us) * 1e-6 * peak_flops_per_s);
    // A cast from float truncates, so adding a half rounds.
    (mfu * 1000.0 + 0.5) as u64 as f64 / 1000.0
}

impl fmt::Display for TableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, shape) = match self {
            TableKey::Gemm(GemmShape { dtype, k, n }) => {
                return write!(f, "{dtype} GEMM k {k}, n {n}");
            }
            TableKey::Prefill(shape) => ("prefill attention", shape),
            TableKey::Decode(shape) => ("decode attention", shape),
        };
        let (q_heads, kv_heads, head_dim) = (shape.q_heads, shape.kv_heads, shape.head_dim);
        write!(f, "{operation} {q_heads}-{kv_heads}-{head_dim} tp {}", shape.tp)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { table, batch, at } = self;
        match table {
            TableKey::Gemm(_) => write!(f, "{table}, m {at}"),
            TableKey::Prefill(_) => write!(f, "{table}, seq_len {at}"),
            TableKey::Decode(_) => write!(f, "{table}, batch {batch}, kv_len {at}"),
        }
    }
}
