//! Lookup of the kernels of a step.

use super::decode::StepDecode;
use super::smoothing::smoothed;
use super::{Network, Parallelism, Part, StepOptions};
use crate::engine::StepConstants;
use crate::error::{Error, ErrorKind, ResolveError};
use crate::hardware::{Dtype, GemmShape};
use crate::model::ModelSpec;
use crate::op::{DecodeRows, Gemm};
use crate::table::{Class, Strictness, TableSet};

/// Looks up the kernels of one model in one set.
pub(super) struct Finder<'m> {
    pub(super) set: &'m TableSet,
    pub(super) model: &'m ModelSpec,
    pub(super) parallelism: Parallelism,
    pub(super) strictness: Strictness,
    pub(super) constants: StepConstants,
    pub(super) network: Network,
}

impl<'m> Finder<'m> {
    /// Creates the lookup of the kernels of `model` in `set`.
    pub(super) fn new(
        model: &'m ModelSpec,
        set: &'m TableSet,
        parallelism: Parallelism,
        options: &StepOptions,
    ) -> Finder<'m> {
        Finder {
            set,
            model,
            parallelism,
            strictness: options.strictness,
            constants: options.constants,
            network: options.network,
        }
    }
}

impl Finder<'_> {
    /// Returns decode attention of `rows` inside a step.
    pub(super) fn decode(&self, rows: &DecodeRows<'_>) -> StepDecode {
        StepDecode::new(rows, self.set, self.constants.cold_kv)
    }

    /// Looks up a GEMM.
    pub(super) fn gemm(&self, part: Part, dtype: Dtype, k: u32, n: u32) -> Result<Gemm, Error> {
        let gemm = Gemm::resolve(self.set, GemmShape { dtype, k, n });
        let smoothed = gemm.map(|gemm| smoothed(gemm, &self.constants));
        self.accept(part, smoothed, Gemm::class)
    }

    /// Refuses a kernel whose best answers are worse than the caller accepts.
    pub(super) fn accept<K>(
        &self,
        part: Part,
        kernel: Result<K, ResolveError>,
        class: impl Fn(&K) -> Class,
    ) -> Result<K, Error> {
        let kernel = kernel.map_err(|error| ErrorKind::Kernel { part, error })?;
        match self.strictness.check(class(&kernel).inside()) {
            Ok(()) => Ok(kernel),
            Err(error) => Err(ErrorKind::TooUncertain { part, set: self.set.name_text(), error }.into()),
        }
    }
}
