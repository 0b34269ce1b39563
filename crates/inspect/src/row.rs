//! Measured rows with their reference times.

use std::fmt;

use rooflut::hardware::{AllReduceShape, AttentionShape, MeasuredKernel, MoeShape, OperationKind};
use rooflut::table::TableSet;
use rooflut_roofline::operation::{Codes, ColumnKind};
use rooflut_roofline::{Reference, Work};

/// The file and line of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, as messages name it.
    pub file: String,
    /// The line, from 1 (the header).
    pub line: u64,
}

impl fmt::Display for Location {
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
    /// Returns the static part of a kernel.
    pub fn of(kernel: &MeasuredKernel) -> Shape {
        Shape { operation: kernel.operation(), codes: kernel.shape() }
    }
}

/// Leaves out formats, which are the same for a family.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            OperationKind::Prefill | OperationKind::Decode => {
                let shape = AttentionShape::from(self.codes);
                let (q_heads, kv_heads) = (shape.q_heads, shape.kv_heads);
                write!(f, "{q_heads}/{kv_heads} heads of {}", shape.head_dim)?;
                match shape.tp {
                    1 => Ok(()),
                    tp => write!(f, ", tp {tp}"),
                }
            }
            OperationKind::AllReduce | OperationKind::AllGather | OperationKind::ReduceScatter => {
                write!(f, "{} GPUs", AllReduceShape::from(self.codes).ranks)
            }
            OperationKind::Moe => {
                let shape = MoeShape::from(self.codes);
                let (top_k, experts, hidden) = (shape.top_k, shape.experts, shape.hidden);
                let (intermediate, tp) = (shape.intermediate, shape.tp);
                write!(f, "{top_k} of {experts} x {hidden} x {intermediate}, tp {tp}")
            }
            other => {
                let columns = other
                    .declared()
                    .shape
                    .iter()
                    .zip(self.codes)
                    .filter(|(column, _)| column.kind != ColumnKind::Dtype);
                let texts = columns.map(|(column, code)| match column.name_of(code) {
                    Some(name) => name.to_owned(),
                    None => format!("{} {code}", column.name),
                });
                f.write_str(&texts.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A measured row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The measured kernel.
    pub kernel: MeasuredKernel,
    /// Its file and line; `None` in built-in sets.
    pub location: Option<Location>,
    /// Its latency, microseconds.
    pub latency_us: f64,
    /// The static part of the kernel.
    pub shape: Shape,
    /// The coordinates; a curve's second is 1.
    pub point: [u32; 2],
    /// The reference time of bench_data/README.md, microseconds.
    pub reference_us: f64,
    /// The FLOPs and bytes that the kernel needs.
    pub work: Work,
}

impl Row {
    /// Returns a row of a set; `None` if the GPU has no peak for its format or the set has no t0 for its
    /// operation, neither of which a checked set lacks.
    pub(crate) fn new(
        set: &TableSet,
        kernel: MeasuredKernel,
        latency_us: f64,
        location: Option<Location>,
    ) -> Option<Row> {
        let reference = reference(set, &kernel)?;
        Some(Row {
            kernel,
            location,
            latency_us,
            shape: Shape::of(&kernel),
            point: kernel.point(),
            reference_us: kernel.reference_s(&reference) * 1e6,
            work: kernel.work(),
        })
    }

    /// Returns reference time over latency: 1 if the kernel is as fast as roofline and launch allow.
    pub fn efficiency(&self) -> f64 {
        self.reference_us / self.latency_us
    }
}

fn reference(set: &TableSet, kernel: &MeasuredKernel) -> Option<Reference> {
    let table = set.table(kernel.operation())?;
    table.reference(kernel.dtype())
}
