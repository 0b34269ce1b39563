//! A measured row and what physics says of it.

use std::fmt;

use rooflut::hardware::{
    AllReduceShape, AttentionShape, GemmShape, MeasuredKernel, MoeShape, OperationKind,
};
use rooflut::table::TableSet;
use rooflut_roofline::operation::{Codes, ColumnKind};
use rooflut_roofline::{Reference, Work};

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
pub struct Shape {
    operation: OperationKind,
    codes: Codes,
}

impl Shape {
    /// That of a kernel.
    pub fn of(kernel: &MeasuredKernel) -> Shape {
        Shape {
            operation: kernel.operation(),
            codes: kernel.shape(),
        }
    }
}

/// Without formats, which a family has in common.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            OperationKind::Gemm => {
                let shape = GemmShape::from(self.codes);
                write!(f, "k {}, n {}", shape.k, shape.n)
            }
            OperationKind::Prefill | OperationKind::Decode => {
                let AttentionShape {
                    q_heads,
                    kv_heads,
                    head_dim,
                    tp,
                    ..
                } = AttentionShape::from(self.codes);
                write!(f, "{q_heads}/{kv_heads} heads of {head_dim}")?;
                match tp {
                    1 => Ok(()),
                    tp => write!(f, ", tp {tp}"),
                }
            }
            OperationKind::AllReduce => {
                write!(f, "{} GPUs", AllReduceShape::from(self.codes).ranks)
            }
            OperationKind::Moe => {
                let MoeShape {
                    experts,
                    top_k,
                    hidden,
                    intermediate,
                    tp,
                    ..
                } = MoeShape::from(self.codes);
                write!(
                    f,
                    "{top_k} of {experts} x {hidden} x {intermediate}, tp {tp}"
                )
            }
            other => {
                let columns = other.declared().shape.iter().zip(self.codes);
                let counts = columns.filter(|(column, _)| column.kind != ColumnKind::Dtype);
                for (place, (column, number)) in counts.enumerate() {
                    let separator = if place == 0 { "" } else { ", " };
                    write!(f, "{separator}{} {number}", column.name)?;
                }
                Ok(())
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
    let table = set.table(kernel.operation())?;
    let (gpu, t0_us, hot_read) = (set.gpu(), table.t0_us(), table.hot_read());
    Some(Reference::new(
        gpu,
        gpu.rates(kernel.dtype())?,
        t0_us,
        hot_read,
    ))
}
