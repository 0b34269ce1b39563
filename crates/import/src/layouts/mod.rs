//! What the columns of each layout mean.

mod aiconfigurator;
mod infersim;
mod vidur;

use rooflut_codegen::{MeasuredKernel, OperationKind};

use crate::answers::Answers;
use crate::cells::Cells;
use crate::layout::{Heads, Layout};
use crate::reading::{Cause, Latency};

/// The columns of a kind of file.
pub(crate) struct Columns {
    /// Those that it must have.
    pub(crate) required: Vec<String>,
    /// Those that are read if it has them.
    pub(crate) optional: &'static [&'static str],
    /// What the other columns are.
    pub(crate) others: Others,
}

/// What columns that are not read may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// One of them may tell apart what was measured: two latencies of one kernel are asked about.
    Variants,
    /// None of them tells kernels apart.
    Remarks,
}

impl Columns {
    fn new(required: &[&str], optional: &'static [&'static str], others: Others) -> Columns {
        Columns {
            required: required.iter().map(|&column| column.to_owned()).collect(),
            optional,
            others,
        }
    }

    /// All that are read.
    pub(crate) fn read(&self) -> impl Iterator<Item = &str> {
        let required = self.required.iter().map(String::as_str);
        required.chain(self.optional.iter().copied())
    }
}

/// A kernel and how long it took.
pub(crate) type Measured = Result<(MeasuredKernel, Latency), Cause>;

impl Layout {
    /// The columns of files of an operation.
    pub(crate) fn columns(self, operation: OperationKind, answers: &Answers) -> Columns {
        match self {
            Layout::InferSim | Layout::Blis => infersim::columns(operation),
            Layout::AiConfigurator => aiconfigurator::columns(operation),
            Layout::Vidur => vidur::columns(operation, answers.statistic),
        }
    }

    /// How many measurements a row holds.
    pub(crate) fn measurements_per_row(self, operation: OperationKind) -> usize {
        match (self, operation) {
            (Layout::Vidur, OperationKind::Gemm) => vidur::GEMMS,
            _ => 1,
        }
    }

    /// The measurements of a row: as many as [`measurements_per_row`](Self::measurements_per_row).
    pub(crate) fn row(
        self,
        operation: OperationKind,
        heads: Option<Heads>,
        cells: &Cells<'_>,
        measured: &mut dyn FnMut(Measured),
    ) {
        match self {
            Layout::InferSim | Layout::Blis => {
                measured(infersim::row(operation, heads, cells));
            }
            Layout::AiConfigurator => measured(aiconfigurator::row(operation, cells)),
            Layout::Vidur => vidur::row(operation, cells, measured),
        }
    }
}
