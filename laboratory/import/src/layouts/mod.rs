//! The columns of each layout.

mod aiconfigurator;
mod infersim;
mod vidur;

use rooflut_codegen::{MeasuredKernel, OperationKind};

use crate::answers::{Answers, Condition};
use crate::cells::Cells;
use crate::layout::{Content, Heads, Layout};
use crate::reading::{Cause, Latency};

/// The columns of a kind of file.
pub(crate) struct Columns {
    /// Columns that the file must have.
    pub(crate) required: Vec<String>,
    /// Columns that are read if the file has them.
    pub(crate) optional: Vec<String>,
    /// The kind of the other columns.
    pub(crate) others: Others,
}

/// The kind of columns that are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Columns that may distinguish ways of measuring: the user must select one of several latencies of a kernel.
    Variants,
    /// Columns that do not distinguish measurements.
    Remarks,
}

impl Columns {
    /// `required` and `optional` are names with commas between them.
    fn new(required: &str, optional: &str, others: Others) -> Columns {
        let names = |text: &str| {
            let names = text.split(',').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        Columns { required: names(required), optional: names(optional), others }
    }

    /// Returns all columns that are read.
    pub(crate) fn read(&self) -> impl Iterator<Item = &str> {
        let columns = self.required.iter().chain(&self.optional);
        columns.map(String::as_str)
    }
}

/// A kernel and its latency, or why the row is left out.
pub(crate) type Measured = Result<(MeasuredKernel, Latency), Cause>;

impl Layout {
    /// Returns the columns of files of an operation.
    pub(crate) fn columns(self, operation: OperationKind, answers: &Answers) -> Columns {
        match self {
            Layout::InferSim | Layout::Blis => infersim::columns(operation),
            Layout::AiConfigurator => aiconfigurator::columns(operation),
            Layout::Vidur => vidur::columns(operation, answers.statistic),
        }
    }

    /// Returns whether the import reads a column of the file at `path`. Of any other column it needs to know
    /// whether it has more than [`MAX_VARIANTS`](crate::MAX_VARIANTS) texts, and else its cells.
    pub fn reads(self, path: &str, column: &str, answers: &Answers) -> bool {
        let Content::Table { operation, .. } = self.content(path) else {
            return false;
        };
        let of_condition = |condition: &Condition| condition.column_in(operation) == Some(column);
        self.columns(operation, answers).read().any(|read| read == column)
            || answers.conditions.iter().any(of_condition)
    }

    /// Returns the number of measurements in a row.
    pub(crate) fn measurements_per_row(self, operation: OperationKind) -> usize {
        match (self, operation) {
            (Layout::Vidur, OperationKind::Gemm) => vidur::GEMMS,
            _ => 1,
        }
    }

    /// Reads a row; calls `measured` [`measurements_per_row`](Self::measurements_per_row) times.
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
