//! A fused mixture-of-experts layer.

use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::{MoeShape, OperationKind, Reference};
use crate::math::{exp_short, ln, ln_of_normal};
use crate::table::{Class, Curve, Entry, Held, KernelTable, Table, TableSet};

/// A resolved fused MoE layer.
///
/// ```
/// use rooflut::hardware::{Dtype, MoeShape};
/// use rooflut::op::Moe;
/// use rooflut::table::{Class, sets};
///
/// // Mixtral 8x7B on two GPUs.
/// let shape = MoeShape {
///     dtype: Dtype::Bf16, experts: 8, top_k: 2, hidden: 4096, intermediate: 14_336, tp: 2,
/// };
/// let moe = Moe::resolve(&sets::H100, shape)?;
/// assert_eq!(moe.at(64).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Moe {
    shape: MoeShape,
    matched: MoeShape,
    reference: Reference,
    points: Held,
}

impl TableSet {
    /// Returns the fused MoE layers by shape over tokens, or `None` if the set has none.
    pub fn moe(&self) -> Option<KernelTable<'_, MoeShape, Curve<'_>>> {
        self.table(OperationKind::Moe).map(Table::typed)
    }
}

impl Moe {
    /// Looks up the experts in `set`, or takes the efficiency of the nearest measured layer (`Transferred`),
    /// preferring the same dtype.
    ///
    /// # Errors
    /// The set has no MoE table, the GPU has no peak for the dtype, or a dimension is zero.
    pub fn resolve(set: &TableSet, shape: MoeShape) -> Result<Moe, ResolveError> {
        let table = set.required(OperationKind::Moe)?;
        let table = table.typed::<MoeShape, Curve<'_>>();
        let MoeShape {
            experts,
            top_k,
            hidden,
            intermediate,
            tp,
            dtype,
        } = shape;
        let operation = OperationKind::Moe.name();
        if [experts, top_k, hidden, intermediate, tp].contains(&0) {
            return Err(ResolveError::ZeroDimension { operation });
        }
        let reference = set.reference(&table, dtype)?;
        let entry = table
            .find(&shape)
            .or_else(|| table.find(&shape.local()?))
            .or_else(|| nearest(table, &shape))
            .ok_or_else(|| ResolveError::NoTable {
                set: set.clone(),
                operation,
            })?;
        Ok(Moe {
            shape,
            matched: entry.shape,
            reference,
            points: table.hold(&entry),
        })
    }

    /// Returns the time at `tokens` tokens, without routing; 0 is treated as 1.
    pub fn at(&self, tokens: u32) -> Estimate {
        let tokens = f64::from(tokens.max(1));
        self.at_ln(tokens, ln_of_normal(tokens))
    }

    /// Returns [`at`](Self::at) for a caller that has the logarithm of `tokens`.
    pub(crate) fn at_ln(&self, tokens: f64, ln_tokens: f64) -> Estimate {
        let mut reading = self.curve().read(tokens, ln_tokens);
        let class = self.class();
        if class > Class::Measured {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(class);
        }
        let seconds =
            self.shape.reference_s(tokens, &self.reference) * exp_short(reading.ln_slowdown);
        let at_peak = self.shape.work(tokens).flops * self.reference.rates.s_per_flop;
        Estimate::new(&reading, seconds, at_peak)
    }

    /// Returns the requested layer.
    pub(crate) fn shape(&self) -> MoeShape {
        self.shape
    }

    /// Returns the reference of the layer.
    pub(crate) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the matched measured layer.
    pub fn matched(&self) -> MoeShape {
        self.matched
    }

    /// Returns the matched measured points.
    pub fn curve(&self) -> Curve<'_> {
        self.points.curve()
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        if self.matched == self.shape || Some(self.matched) == self.shape.local() {
            Class::Measured
        } else {
            Class::Transferred
        }
    }
}

/// Returns the measured layer nearest in logarithms of experts, experts per token, hidden size and width per rank,
/// preferring the same dtype; the first one on a tie.
fn nearest<'t>(
    table: KernelTable<'t, MoeShape, Curve<'t>>,
    shape: &MoeShape,
) -> Option<Entry<MoeShape, Curve<'t>>> {
    let dimensions = |shape: &MoeShape| {
        [
            ln(f64::from(shape.experts)),
            ln(f64::from(shape.top_k)),
            ln(f64::from(shape.hidden)),
            ln(shape.local_intermediate()),
        ]
    };
    let distance = |other: &MoeShape| -> f64 {
        let pairs = dimensions(other).into_iter().zip(dimensions(shape));
        pairs.map(|(a, b)| (a - b) * (a - b)).sum()
    };
    table.entries().min_by(|a, b| {
        let other_dtype = |entry: &Entry<MoeShape, _>| entry.shape.dtype != shape.dtype;
        let by_distance = distance(&a.shape).total_cmp(&distance(&b.shape));
        other_dtype(a).cmp(&other_dtype(b)).then(by_distance)
    })
}
