//! A measured kernel of any operation.

use super::{Codes, Operation, OperationKind};
use crate::{Dtype, Reference, Work};

/// A kernel and its measured point.
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
    /// Creates a kernel of `operation` with the given shape and point. The point has one coordinate per axis of the
    /// operation; the second is 1 if there is only one axis.
    pub fn new(operation: OperationKind, shape: impl Into<Codes>, point: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel { operation, shape: shape.into(), point }
    }

    /// Returns the operation.
    pub fn operation(&self) -> OperationKind {
        self.operation
    }

    /// Returns the shape as the operation's type, such as [`GemmShape`](crate::GemmShape), or as [`Codes`].
    pub fn shape<S: From<Codes>>(&self) -> S {
        S::from(self.shape)
    }

    /// Returns the coordinates; the second is 1 for a curve.
    pub fn point(&self) -> [u32; 2] {
        self.point
    }

    /// Returns this kernel at another point.
    pub fn at(self, point: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel { point, ..self }
    }

    /// Returns the format whose peak applies.
    pub fn dtype(&self) -> Dtype {
        (self.declared().dtype)(&self.shape)
    }

    /// Returns the number in `column` of the shape, or `None` if the operation has no such column.
    pub fn code(&self, column: &str) -> Option<u32> {
        self.declared().code(&self.shape, column)
    }

    /// Returns the compulsory work.
    pub fn work(&self) -> Work {
        (self.declared().work)(&self.shape, self.point)
    }

    /// Returns the reference time that its latency is divided by, seconds.
    pub fn reference_s(&self, reference: &Reference) -> f64 {
        (self.declared().reference_s)(&self.shape, self.point, reference)
    }

    fn declared(&self) -> &'static Operation {
        self.operation.declared()
    }
}
