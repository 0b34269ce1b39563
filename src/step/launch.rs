//! The kernels of a step, one by one.

use super::kernel_time::KernelTime;
use super::{Part, StepTime};
use crate::hardware::operation::Codes;
use crate::hardware::{OperationKind, Work};
use crate::op::Gemm;

/// A kernel and its work.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "only the list of kernels reads them"))]
pub(super) struct Launch {
    /// The operation and the shape on one rank; `None` for kernels without tables.
    pub(super) operation: Option<(OperationKind, Codes)>,
    pub(super) work: Work,
}

impl Launch {
    pub(super) fn new(operation: OperationKind, shape: impl Into<Codes>, work: Work) -> Launch {
        Launch { operation: Some((operation, shape.into())), work }
    }

    pub(super) fn of_gemm(gemm: &Gemm, m: f64) -> Launch {
        Launch::new(OperationKind::Gemm, gemm.shape(), gemm.work(m))
    }

    /// Returns kernels of which only the memory traffic is known.
    pub(super) fn traffic(bytes: f64) -> Launch {
        Launch { operation: None, work: Work { bytes, ..Work::default() } }
    }
}

/// Receives the kernels of a step.
pub(super) trait Sink {
    /// Adds `calls` runs of a kernel. `launch` returns its work, `None` if that is not known.
    fn run(&mut self, part: Part, calls: f64, once: KernelTime, launch: impl FnOnce() -> Option<Launch>);
}

impl Sink for StepTime {
    #[inline]
    fn run(&mut self, part: Part, calls: f64, once: KernelTime, _: impl FnOnce() -> Option<Launch>) {
        self.add_kernel(part, once.times(calls));
    }
}
