//! A measured kernel, whatever its operation.

use super::{Codes, Operation, OperationKind};
use crate::{Dtype, Reference, Work};

/// A kernel and the point at which it was measured.
///
/// ```
/// use rooflut_roofline::{Dtype, GemmShape, MeasuredKernel, OperationKind};
/// let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 };
/// let kernel = MeasuredKernel::new(OperationKind::Gemm, shape, [64, 1]);
/// assert_eq!(kernel.shape::<GemmShape>(), shape);
/// assert_eq!(kernel.work(), shape.work(64.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeasuredKernel {
    operation: OperationKind,
    shape: Codes,
    point: [u32; 2],
}

impl MeasuredKernel {
    /// A kernel of `operation`, whose shape `shape` is, at a point: the coordinates on the axes of the
    /// operation, the second 1 where there is one axis.
    pub fn new(
        operation: OperationKind,
        shape: impl Into<Codes>,
        point: [u32; 2],
    ) -> MeasuredKernel {
        MeasuredKernel {
            operation,
            shape: shape.into(),
            point,
        }
    }

    /// Its operation.
    pub fn operation(&self) -> OperationKind {
        self.operation
    }

    /// Its shape as a type of the operation's: [`GemmShape`](crate::GemmShape), …, or [`Codes`].
    pub fn shape<S: From<Codes>>(&self) -> S {
        S::from(self.shape)
    }

    /// Its coordinates; a curve's second is 1.
    pub fn point(&self) -> [u32; 2] {
        self.point
    }

    /// The same kernel at another point.
    pub fn at(self, point: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel { point, ..self }
    }

    /// The format that the peak belongs to.
    pub fn dtype(&self) -> Dtype {
        (self.declared().dtype)(&self.shape)
    }

    /// The number in `column` of the shape; `None` where the operation has no such column.
    pub fn code(&self, column: &str) -> Option<u32> {
        self.declared().code(&self.shape, column)
    }

    /// The work that it cannot do without.
    pub fn work(&self) -> Work {
        (self.declared().work)(&self.shape, self.point)
    }

    /// The time that its latency is stored against, seconds.
    pub fn reference_s(&self, reference: &Reference) -> f64 {
        (self.declared().reference_s)(&self.shape, self.point, reference)
    }

    fn declared(&self) -> &'static Operation {
        self.operation.declared()
    }
}
