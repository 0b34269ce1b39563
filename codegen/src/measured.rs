//! One CSV of measured kernels, by itself.

use std::fmt;
use std::path::Path;

use rooflut_roofline::Gpu;

use crate::Error;
use crate::check;
use crate::files::Part;
use crate::kernel::MeasuredKernel;
use crate::operation::{AllReduce, Decode, Gemm, Moe, Operation, Prefill};
use crate::rows::{Row, Rows};
use crate::table::{columns, measurement};

/// What a CSV measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// Dense matrix multiplication, `gemm.csv`.
    Gemm,
    /// Attention over whole prompts, `attention_prefill.csv`.
    Prefill,
    /// Attention of one new token per request, `attention_decode.csv`.
    Decode,
    /// All-reduce over the GPUs of a node, `allreduce.csv`.
    AllReduce,
    /// Fused mixture-of-experts layer, `moe.csv`.
    Moe,
}

impl OperationKind {
    /// All of them.
    pub const ALL: [OperationKind; 5] = [
        OperationKind::Gemm,
        OperationKind::Prefill,
        OperationKind::Decode,
        OperationKind::AllReduce,
        OperationKind::Moe,
    ];

    /// The name of its section in `set.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            OperationKind::Gemm => Gemm::NAME,
            OperationKind::Prefill => Prefill::NAME,
            OperationKind::Decode => Decode::NAME,
            OperationKind::AllReduce => AllReduce::NAME,
            OperationKind::Moe => Moe::NAME,
        }
    }

    /// The operation of that [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<OperationKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The columns that its CSV must have.
    pub fn columns(self) -> Vec<&'static str> {
        match self {
            OperationKind::Gemm => columns::<Gemm>(),
            OperationKind::Prefill => columns::<Prefill>(),
            OperationKind::Decode => columns::<Decode>(),
            OperationKind::AllReduce => columns::<AllReduce>(),
            OperationKind::Moe => columns::<Moe>(),
        }
    }

    /// The names of the measured axes: one or two.
    pub fn axes(self) -> &'static [&'static str] {
        match self {
            OperationKind::Gemm => Gemm::AXES,
            OperationKind::Prefill => Prefill::AXES,
            OperationKind::Decode => Decode::AXES,
            OperationKind::AllReduce => AllReduce::AXES,
            OperationKind::Moe => Moe::AXES,
        }
    }

    /// The only operation of whose columns `header` lacks at most `lacking`.
    fn of_header(header: &[String], lacking: usize) -> Option<OperationKind> {
        let missing = |column: &&&str| !header.iter().any(|name| name == **column);
        let fits = |kind: &OperationKind| kind.columns().iter().filter(missing).count() <= lacking;
        let mut fitting = Self::ALL.into_iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A row that can be true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRow {
    /// Its line in the file, from 1 (the header).
    pub line: u64,
    /// What was measured.
    pub kernel: MeasuredKernel,
    /// How long it took, microseconds.
    pub latency_us: f64,
}

/// The rows of one table of a checked set.
#[derive(Debug)]
pub struct TableRows {
    /// The file as messages call it.
    pub file: String,
    /// What they measure.
    pub operation: OperationKind,
    /// In the order of the file; each kernel once.
    pub rows: Vec<MeasuredRow>,
}

/// A row that tells nothing of a GPU.
#[derive(Debug)]
pub struct RefusedRow {
    /// Its line in the file, from 1 (the header).
    pub line: u64,
    /// Why: [`Error::Impossible`], [`Error::MfuDisagrees`], [`Error::WarmUp`], or [`Error::Value`]
    /// for a cell that is malformed or makes no sense and for a dtype that the GPU has no peak for.
    pub error: Error,
}

/// The rows of a CSV, by whether they tell something of a GPU.
#[derive(Debug)]
pub struct MeasuredRows {
    /// What they measure.
    pub operation: OperationKind,
    /// The columns that were not looked at.
    pub ignored: Vec<String>,
    /// Those that can be true, in the order of the file. A kernel may occur several times.
    pub rows: Vec<MeasuredRow>,
    /// The others, in the order of the file, but for empty ones.
    pub refused: Vec<RefusedRow>,
}

/// Reads a CSV of measured kernels and holds each row against the data sheet of `gpu`.
///
/// The file measures `operation`, or else what its columns show. Values are checked as those of a set,
/// but what is wrong with a row, be it a cell or that it breaks the physics of `gpu`, does not end the
/// reading: it goes to [`MeasuredRows::refused`], as does a row whose column `warmup` is 1. Columns
/// that no set has are ignored.
///
/// # Errors
/// A file that cannot be read, is no UTF-8 or has no rows, columns of no operation, of another one than
/// `operation` or that stand twice; see [`Error`].
pub fn read_rows(
    path: &Path,
    operation: Option<OperationKind>,
    gpu: &Gpu,
) -> Result<MeasuredRows, Error> {
    let rows = Rows::read(&Part::alone(path)?)?;
    let kind = recognise(&rows, operation)?;
    match kind {
        OperationKind::Gemm => read::<Gemm>(&rows, gpu),
        OperationKind::Prefill => read::<Prefill>(&rows, gpu),
        OperationKind::Decode => read::<Decode>(&rows, gpu),
        OperationKind::AllReduce => read::<AllReduce>(&rows, gpu),
        OperationKind::Moe => read::<Moe>(&rows, gpu),
    }
}

/// The operation that was asked for, or else the one whose columns the rows have. One that lacks a
/// single column is meant all the same: the check of the columns names that column.
fn recognise(rows: &Rows, asked: Option<OperationKind>) -> Result<OperationKind, Error> {
    let found = rows.header();
    let fits = OperationKind::of_header(found, 0);
    match (asked, fits) {
        (Some(asked), Some(fits)) if fits != asked => Err(Error::OtherOperation {
            file: rows.file().to_owned(),
            line: rows.header_line(),
            found: found.to_owned(),
            asked,
            fits,
        }),
        (asked, fits) => asked
            .or(fits)
            .or_else(|| OperationKind::of_header(found, 1))
            .ok_or_else(|| Error::NoOperation {
                file: rows.file().to_owned(),
                line: rows.header_line(),
                found: found.to_owned(),
            }),
    }
}

/// The column that marks rows which only warmed the GPU up.
const WARMUP: &str = "warmup";

fn read<O: Operation>(rows: &Rows, gpu: &Gpu) -> Result<MeasuredRows, Error> {
    let optional: Vec<&str> = O::OPTIONAL.iter().copied().chain([WARMUP]).collect();
    let mut read = MeasuredRows {
        operation: O::KIND,
        ignored: rows.check_known(&columns::<O>(), &optional)?,
        rows: Vec::new(),
        refused: Vec::new(),
    };
    for row in rows.iter().filter(|row| !row.is_blank()) {
        let line = row.line();
        match checked::<O>(rows.file(), &row, gpu) {
            Ok((shape, point, latency_us)) => read.rows.push(MeasuredRow {
                line,
                kernel: O::kernel(shape, point),
                latency_us,
            }),
            Err(error) => read.refused.push(RefusedRow { line, error }),
        }
    }
    Ok(read)
}

/// The shape, point and latency of a row that tells something of `gpu`.
fn checked<O: Operation>(
    file: &str,
    row: &Row<'_>,
    gpu: &Gpu,
) -> Result<(O::Shape, [u32; 2], f64), Error> {
    row.check_length()?;
    let warms = |text: &str| matches!(text, "1" | "1.0") || text.eq_ignore_ascii_case("true");
    if row.text(WARMUP).is_some_and(warms) {
        return Err(Error::WarmUp {
            file: file.to_owned(),
            line: row.line(),
        });
    }
    let (shape, point, latency_us) = measurement::<O>(row)?;
    check::row::<O>(file, row, gpu, &shape, point, latency_us)?;
    Ok((shape, point, latency_us))
}
