//! A fused mixture-of-experts layer.

use super::blend::{Blend, CurveAnswer, Neighbour, nearest, squared_log};
use super::estimate::Estimate;
use crate::error::ResolveError;
use crate::hardware::{MoeShape, OperationKind, Reference};
use crate::math::{exp_short, ln_of_normal};
use crate::table::{Class, Curve, ErrorGroup, KernelTable, Table, TableSet};

/// A resolved fused MoE layer.
///
/// ```
/// use rooflut::hardware::{Dtype, MoeShape};
/// use rooflut::op::Moe;
/// use rooflut::table::{Class, sets};
///
/// // Mixtral 8x7B on two GPUs.
/// let shape = MoeShape {
///     dtype: Dtype::Bf16, experts: 8, top_k: 2, hidden: 4096, intermediate: 14_336, tp: 2, ep: 1, matrices: 3,
/// };
/// let moe = Moe::resolve(&sets::H100, shape)?;
/// assert_eq!(moe.at(64).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Moe {
    shape: MoeShape,
    reference: Reference,
    /// Errors of measured shapes, and of others.
    errors: [ErrorGroup; 2],
    points: CurveAnswer<MoeShape>,
}

impl TableSet {
    /// Returns the fused MoE layers by shape over tokens, or `None` if the set has none.
    pub fn moe(&self) -> Option<KernelTable<'_, MoeShape, Curve<'_>>> {
        self.table(OperationKind::Moe).map(Table::typed)
    }
}

impl Moe {
    /// Looks up the experts in `set`, or computes the efficiency from the four nearest measured layers, weighted by the
    /// inverse of the squared distance in logarithms of experts, experts per token, hidden size, width per rank and
    /// expert parallelism (`Transferred`). Preferred layers have the same dtype as the requested layer; or else a dtype
    /// that agrees in having a scale per block. They also have as many matrices, and a width per rank that is a
    /// multiple of 16 if the requested width is, because kernels are several times as slow otherwise.
    ///
    /// # Errors
    /// The set has no MoE table, the GPU has no peak for the dtype, or a dimension is zero.
    pub fn resolve(set: &TableSet, shape: MoeShape) -> Result<Moe, ResolveError> {
        let table = set.required(OperationKind::Moe)?.typed::<MoeShape, Curve<'_>>();
        let MoeShape { experts, top_k, hidden, intermediate, tp, ep, matrices, dtype } = shape;
        let operation = OperationKind::Moe.name();
        if [experts, top_k, hidden, intermediate, tp, ep, matrices].contains(&0) {
            return Err(ResolveError::ZeroDimension { operation });
        }
        let reference = set.reference(&table, dtype)?;
        let found = table.find(&shape).or_else(|| table.find(&shape.local()?));
        let points = match found {
            Some(entry) => CurveAnswer::of(table, &entry),
            None => {
                let blend = Blend::of(&nearest(table, |other| Some(squared(&shape, other))), Class::Transferred);
                let blend = blend.ok_or_else(|| ResolveError::NoTable { set: set.clone(), operation })?;
                CurveAnswer::Blended(blend.at_best(table.class()))
            }
        };
        Ok(Moe { shape, reference, errors: table.error_groups(dtype), points })
    }

    /// Returns the time at `tokens` tokens, without routing; 0 is treated as 1.
    pub fn at(&self, tokens: u32) -> Estimate {
        let tokens = f64::from(tokens.max(1));
        self.at_ln(tokens, ln_of_normal(tokens))
    }

    /// Returns [`at`](Self::at) for a caller that has the logarithm of `tokens`.
    pub(crate) fn at_ln(&self, tokens: f64, ln_tokens: f64) -> Estimate {
        let reading = self.points.read(tokens, ln_tokens);
        let seconds = self.shape.reference_s(tokens, &self.reference) * exp_short(reading.ln_slowdown);
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

    /// Returns the matched measured layers with their shares.
    pub fn matched(&self) -> impl Iterator<Item = Neighbour<MoeShape>> + '_ {
        self.points.matched()
    }

    /// Returns the curve that answers: a measured one, or a blended one without latencies.
    pub fn curve(&self) -> Curve<'_> {
        self.points.curve()
    }

    /// Returns the errors of lookups like this one; see [`Estimate::interval`].
    pub fn errors(&self) -> ErrorGroup {
        let [measured, other] = self.errors;
        if self.class() > Class::Measured { other } else { measured }
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        self.points.class()
    }
}

/// Returns the squared distance of a measured layer from the asked one.
fn squared(asked: &MoeShape, measured: &MoeShape) -> f64 {
    let is_aligned = |shape: &MoeShape| shape.intermediate.is_multiple_of(ALIGNED_WIDTH.saturating_mul(shape.tp));
    let if_differs = |differs: bool, distance: f64| if differs { distance } else { 0.0 };
    let [has_blocks, other_has_blocks] = [asked, measured].map(|it| it.dtype.is_block_scaled());
    squared_log(asked.experts, measured.experts)
        + squared_log(asked.top_k, measured.top_k)
        + squared_log(asked.hidden, measured.hidden)
        + squared_log(asked.local_intermediate(), measured.local_intermediate())
        + squared_log(asked.ep, measured.ep)
        + if_differs(asked.matrices != measured.matrices, OTHER_MATRICES)
        + if_differs(is_aligned(asked) != is_aligned(measured), FAR)
        + if_differs(asked.dtype != measured.dtype, FAR)
        + if_differs(has_blocks != other_has_blocks, FAR)
}

/// Width per rank of which the kernels' tiles are multiples.
const ALIGNED_WIDTH: u32 = 16;

/// Squared distance of layers with different kernels; the sizes of others are seldom this far apart.
const FAR: f64 = 1e3;

/// Squared distance of layers with and without a gate: that of sizes four times apart. The optimum is flat.
const OTHER_MATRICES: f64 = 1.9;
