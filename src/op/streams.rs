//! Hyper-connections: mixing of residual streams around the parts of a layer.

use super::blend::squared_log;
use super::estimate::Estimate;
use super::found::{Found, found_answers};
use crate::error::ResolveError;
use crate::hardware::{Dtype, OperationKind, Reference, StreamsShape, Work};
use crate::math::{exp_short, larger};
use crate::table::{Class, Curve, ErrorGroup, KernelTable, Points, Table, TableSet};

/// A resolved side of a hyper-connection.
///
/// ```
/// use rooflut::hardware::{Side, StreamsShape};
/// use rooflut::op::HyperConnection;
/// use rooflut::table::{Class, sets};
///
/// let shape = StreamsShape { side: Side::Before, hidden: 4096, streams: 4 };
/// let before = HyperConnection::resolve(&sets::H100, shape)?;
/// assert_eq!(before.at(64).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HyperConnection {
    shape: StreamsShape,
    found: Found<StreamsShape>,
}

found_answers!(HyperConnection);

impl TableSet {
    /// Returns the sides of hyper-connections by shape over tokens, or `None` if the set has none.
    pub fn hyper_connection(&self) -> Option<KernelTable<'_, StreamsShape, Curve<'_>>> {
        self.table(OperationKind::HyperConnection).map(Table::typed)
    }
}

impl HyperConnection {
    /// Looks up the shape in `set`, or else the nearest hidden size and number of streams, in logarithms
    /// (`Transferred`).
    ///
    /// # Errors
    /// The set has no rows of this side, or a dimension is zero.
    pub fn resolve(set: &TableSet, shape: StreamsShape) -> Result<HyperConnection, ResolveError> {
        let operation = OperationKind::HyperConnection;
        let table = set.required(operation)?.typed::<StreamsShape, Points<'_>>();
        let StreamsShape { side, hidden, streams } = shape;
        if hidden.min(streams) == 0 {
            return Err(ResolveError::ZeroDimension { operation: operation.name() });
        }
        let apart = |other: &StreamsShape| squared_log(other.hidden, hidden) + squared_log(other.streams, streams);
        let like = table.entries().filter(|entry| entry.shape.side == side);
        let entry = like
            .min_by(|a, b| apart(&a.shape).total_cmp(&apart(&b.shape)))
            .ok_or_else(|| ResolveError::NoTable { set: set.clone(), operation: operation.name() })?;
        let class = if entry.shape == shape { Class::Measured } else { Class::Transferred };
        let found = Found::try_new(set, table, &entry, Dtype::Bf16, class)?;
        Ok(HyperConnection { shape, found })
    }

    /// Returns the time of so many tokens; 0 is treated as 1. Beyond the measured tokens the efficiency is held.
    pub fn at(&self, tokens: u32) -> Estimate {
        self.at_mean(f64::from(tokens.max(1)))
    }

    /// Returns [`at`](Self::at) for a caller that counts in `f64`, at least 1.
    pub(crate) fn at_mean(&self, tokens: f64) -> Estimate {
        let curve = self.curve();
        let reading = curve.read_at(curve.axis().locate_from_1(tokens));
        let rates = &self.reference().rates;
        let work = self.work(tokens);
        let seconds = self.shape.reference_s(tokens, self.reference()) * exp_short(reading.ln_slowdown);
        let seconds = larger(seconds, work.bytes * rates.s_per_byte);
        self.found.answer(reading, seconds, work.flops * rates.s_per_flop)
    }

    /// Returns the requested shape.
    pub(crate) fn shape(&self) -> StreamsShape {
        self.shape
    }

    /// Returns the work of so many tokens.
    pub(crate) fn work(&self, tokens: f64) -> Work {
        self.shape.work(tokens)
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the matched measured shape.
    pub fn matched(&self) -> StreamsShape {
        self.found.matched
    }

    /// Returns the matched measured points.
    pub fn curve(&self) -> Curve<'_> {
        self.found.points.curve()
    }
}
