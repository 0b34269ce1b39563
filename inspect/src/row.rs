//! A measured row and what physics says of it.

use std::fmt;

use rooflut::hardware::{AllReduceShape, AttentionShape, GemmShape, Gpu, MoeShape, Work};
use rooflut::table::TableSet;
use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::Reference;

/// Where a row stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as messages call it.
    pub file: String,
    /// From 1 (the header).
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The static part of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// The weights.
    Gemm(GemmShape),
    /// Formats and heads.
    Attention(AttentionShape),
    /// The GPUs.
    AllReduce(AllReduceShape),
    /// The experts.
    Moe(MoeShape),
}

impl Shape {
    pub(crate) fn of(kernel: &MeasuredKernel) -> Shape {
        match *kernel {
            MeasuredKernel::Gemm { shape, .. } => Shape::Gemm(shape),
            MeasuredKernel::Prefill { shape, .. } | MeasuredKernel::Decode { shape, .. } => {
                Shape::Attention(shape)
            }
            MeasuredKernel::AllReduce { shape, .. } => Shape::AllReduce(shape),
            MeasuredKernel::Moe { shape, .. } => Shape::Moe(shape),
        }
    }
}

/// Without formats, which a family has in common.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Gemm(shape) => write!(f, "k {}, n {}", shape.k, shape.n),
            Shape::Attention(shape) => {
                let AttentionShape {
                    q_heads,
                    kv_heads,
                    head_dim,
                    tp,
                    ..
                } = shape;
                write!(f, "{q_heads}/{kv_heads} heads of {head_dim}")?;
                match tp {
                    1 => Ok(()),
                    tp => write!(f, ", tp {tp}"),
                }
            }
            Shape::AllReduce(shape) => write!(f, "{} GPUs", shape.ranks),
            Shape::Moe(shape) => {
                let MoeShape {
                    experts,
                    top_k,
                    hidden,
                    intermediate,
                    tp,
                    ..
                } = shape;
                write!(
                    f,
                    "{top_k} of {experts} x {hidden} x {intermediate}, tp {tp}"
                )
            }
        }
    }
}

/// A measured row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub kernel: MeasuredKernel,
    /// Where it stands; compiled-in rows stand nowhere.
    pub place: Option<Place>,
    /// How long it took, microseconds.
    pub latency_us: f64,
    /// The static part of the kernel.
    pub shape: Shape,
    /// The coordinates; a curve's second is 1.
    pub point: [u32; 2],
    /// The reference time of bench_data/README.md, microseconds.
    pub reference_us: f64,
    /// What the kernel cannot do without.
    pub work: Work,
}

impl Row {
    /// The row of a set; `None` where its GPU has no peak for it or the set says nothing of its
    /// operation, neither of which a checked set can have.
    pub(crate) fn new(
        set: &TableSet,
        kernel: MeasuredKernel,
        latency_us: f64,
        place: Option<Place>,
    ) -> Option<Row> {
        let reference = reference(set, &kernel)?;
        Some(Row {
            kernel,
            place,
            latency_us,
            shape: Shape::of(&kernel),
            point: kernel.point(),
            reference_us: kernel.reference_s(&reference) * 1e6,
            work: kernel.work(),
        })
    }

    /// Reference time over latency: 1 where the kernel is as fast as the roofline and the launch let
    /// expect.
    pub fn efficiency(&self) -> f64 {
        self.reference_us / self.latency_us
    }
}

fn reference(set: &TableSet, kernel: &MeasuredKernel) -> Option<Reference> {
    let (t0_us, hot_read) = match kernel.operation() {
        OperationKind::Gemm => set.gemm.as_ref().map(|t| (t.t0_us, t.hot_read)),
        OperationKind::Prefill => set.prefill.as_ref().map(|t| (t.t0_us, t.hot_read)),
        OperationKind::Decode => set.decode.as_ref().map(|t| (t.t0_us, t.hot_read)),
        OperationKind::AllReduce => set.allreduce.as_ref().map(|t| (t.t0_us, t.hot_read)),
        OperationKind::Moe => set.moe.as_ref().map(|t| (t.t0_us, t.hot_read)),
    }?;
    let gpu: &Gpu = &set.gpu;
    Some(Reference::new(
        gpu,
        gpu.rates(kernel.dtype())?,
        t0_us,
        hot_read,
    ))
}
