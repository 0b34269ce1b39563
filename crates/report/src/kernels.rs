//! The work of a step's kernels, and the peaks of the GPU that they run on.

use std::collections::BTreeMap;

use rooflut::hardware::{Dtype, Gpu, Work};
use rooflut::step::StepKernel;
use serde::Serialize;

use crate::fields::{self, Fields};
use crate::sources::Provenance;

/// The kernels of a step, with what limits them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepKernels {
    /// The kernels; empty for a model that does not list them.
    kernels: Vec<Kernel>,
    /// Peaks of the GPU.
    peaks: Peaks,
}

impl StepKernels {
    /// Describes the kernels of a step on a GPU.
    pub fn new(kernels: &[StepKernel], gpu: &Gpu) -> StepKernels {
        StepKernels { kernels: kernels.iter().map(Kernel::from).collect(), peaks: gpu.into() }
    }
}

/// Work on one GPU; null where it is not known.
#[derive(Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelWork {
    /// Floating-point operations; small kernels count none.
    flops: Option<f64>,
    /// Bytes from and to memory, each operand once.
    bytes: Option<f64>,
    /// Bytes over the link to other GPUs.
    link_bytes: Option<f64>,
}

impl KernelWork {
    /// Adds up the work of all kernels of a part; nulls if that of one is not known.
    pub fn of_part(part: &str, kernels: &[StepKernel]) -> KernelWork {
        let mut of_part = kernels.iter().filter(|kernel| kernel.part.name() == part).peekable();
        if of_part.peek().is_none() {
            return KernelWork::default();
        }
        of_part.map(|kernel| kernel.work).try_fold(Work::default(), |sum, work| Some(sum + work?)).into()
    }
}

impl From<Option<Work>> for KernelWork {
    fn from(work: Option<Work>) -> KernelWork {
        KernelWork {
            flops: work.map(|work| work.flops),
            bytes: work.map(|work| work.bytes),
            link_bytes: work.map(|work| work.link_bytes),
        }
    }
}

/// A kernel of a step, over all layers that run it; null for what is not known.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Kernel {
    part: &'static str,
    /// The operation, as `rooflut lookup` names it; null for kernels without tables.
    operation: Option<&'static str>,
    /// The shape on one rank, in the columns of the tables.
    shape: Option<Fields>,
    /// The format whose peak limits it.
    dtype: Option<&'static str>,
    /// How often it runs.
    calls: f64,
    /// Time that all calls add to the step.
    ms: f64,
    #[serde(flatten)]
    work: KernelWork,
    binding: &'static str,
    fitted_share: f64,
    #[serde(flatten)]
    provenance: Provenance,
}

impl From<&StepKernel> for Kernel {
    fn from(kernel: &StepKernel) -> Kernel {
        let operation = kernel.operation;
        Kernel {
            part: kernel.part.name(),
            operation: operation.map(|(operation, _)| operation.name()),
            shape: operation.map(|(operation, shape)| fields::shape(operation, shape)),
            dtype: operation.map(|(operation, shape)| (operation.declared().dtype)(&shape).name()),
            calls: kernel.calls,
            ms: kernel.time.ms(),
            work: kernel.work.into(),
            binding: kernel.binding.name(),
            fitted_share: kernel.source.fitted_share(),
            provenance: kernel.source.provenance().into(),
        }
    }
}

/// Peaks of one GPU.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Peaks {
    mem_bw_bytes_per_s: f64,
    link_bytes_per_s: f64,
    /// Matrix math by format, of the formats that the GPU has.
    flops_per_s: BTreeMap<&'static str, f64>,
}

impl From<&Gpu> for Peaks {
    fn from(gpu: &Gpu) -> Peaks {
        let peak = |dtype: &Dtype| Some((dtype.name(), gpu.peak_flops_per_s(*dtype)?));
        Peaks {
            mem_bw_bytes_per_s: gpu.mem_bw_bytes_per_s,
            link_bytes_per_s: gpu.link_bytes_per_s,
            flops_per_s: Dtype::ALL.iter().filter_map(peak).collect(),
        }
    }
}
