//! Answers that the files do not have.

use rooflut_codegen::OperationKind;
use rooflut_roofline::{Dtype, Gpu};

use crate::gpu_sheet::GpuSheet;

/// Answers missing from the files. An import lists all answers that it needs and that are `None`.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// The name of the set.
    pub name: Option<String>,
    /// Why the folder of the set does not name it, as the error says after what a name is.
    pub no_name: String,
    /// The GPU that was measured.
    pub gpu: Option<MeasuredGpu>,
    /// The engine stack. AIConfigurator's tables name it.
    pub engine: Option<String>,
    /// The method of timing.
    pub timing: Option<String>,
    /// The source of the files.
    pub source: Option<String>,
    /// Their licence.
    pub license: Option<String>,
    /// The day of the measurement or publication, `2026-01-31`.
    pub date: Option<String>,
    /// The format of the math, for files without a column for it.
    pub dtype: Option<Dtype>,
    /// The format of the math of GEMMs, if it differs.
    pub gemm_dtype: Option<Dtype>,
    /// The format of the KV cache, for files without a column for it.
    pub kv_dtype: Option<Dtype>,
    /// Bytes of an element of a message, for files that count elements and do not name their format.
    pub element_bytes: Option<u32>,
    /// Meanings of names of formats in the files.
    pub dtype_names: Vec<(String, Dtype)>,
    /// Values that columns must have for a row to be read.
    pub conditions: Vec<Condition>,
    /// Columns of files without a header, by operation.
    pub headers: Vec<(OperationKind, Vec<String>)>,
    /// Names of folders to import; empty for all.
    pub folders: Vec<String>,
    /// The statistic of a time that becomes its latency (Vidur).
    pub statistic: Statistic,
    /// The peak that `mfu` columns are relative to, FLOP/s; otherwise the peak of the GPU.
    pub mfu_peak_flops_per_s: Option<f64>,
    /// t0 by operation, microseconds; otherwise the smallest latency minus the roofline time of its FLOPs
    /// and bytes.
    pub t0_us: Vec<(OperationKind, f64)>,
    /// Whether rows at the floor of eager launches are kept.
    pub floor: FloorRows,
}

/// The GPU that was measured.
#[derive(Debug, Clone)]
pub enum MeasuredGpu {
    /// A GPU with a data sheet in the library.
    Known(Gpu),
    /// A GPU with a data sheet of its own.
    Own(GpuSheet),
}

impl MeasuredGpu {
    /// Returns its data sheet.
    pub fn gpu(&self) -> &Gpu {
        match self {
            MeasuredGpu::Known(gpu) => gpu,
            MeasuredGpu::Own(sheet) => sheet.gpu(),
        }
    }
}

/// A value that a column must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The column, of files of one operation if it begins with its name: `gemm.kernel_source`.
    pub column: String,
    /// Its value, as the file writes it.
    pub value: String,
}

impl Condition {
    /// Returns the column in files of an operation; `None` if the condition is on those of another one.
    pub(crate) fn column_in(&self, operation: OperationKind) -> Option<&str> {
        let (name, column) = self.column.split_once('.').unwrap_or_default();
        match OperationKind::from_name(name) {
            Some(of) => (of == operation).then_some(column),
            None => Some(&self.column),
        }
    }
}

/// The statistic of a time that becomes its latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Statistic {
    /// The median, as Vidur itself does.
    #[default]
    Median,
    /// The mean.
    Mean,
    /// The shortest.
    Min,
    /// The longest.
    Max,
}

impl Statistic {
    /// All statistics.
    pub const ALL: [Statistic; 4] = [Statistic::Median, Statistic::Mean, Statistic::Min, Statistic::Max];

    /// Returns the name in columns and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Statistic::Median => "median",
            Statistic::Mean => "mean",
            Statistic::Min => "min",
            Statistic::Max => "max",
        }
    }
}

/// Whether rows at the floor of eager launches are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FloorRows {
    /// Keeps and reports them.
    #[default]
    Keep,
    /// Leaves them out and reports them.
    Drop,
}

impl Answers {
    /// Returns the format of the math of an operation, for files without a column for it.
    pub(crate) fn dtype_of(&self, operation: OperationKind) -> Option<Dtype> {
        match operation {
            OperationKind::Gemm => self.gemm_dtype.or(self.dtype),
            _ => self.dtype,
        }
    }

    /// Returns the format of this name: one of the library, a common alias, or one that the user defines.
    pub(crate) fn dtype_named(&self, name: &str) -> Option<Dtype> {
        let defined = self.dtype_names.iter().find(|(known, _)| known == name);
        if let Some((_, dtype)) = defined {
            return Some(*dtype);
        }
        let name = name.strip_prefix("torch.").unwrap_or(name).to_ascii_lowercase();
        name.parse().ok().or(match name.as_str() {
            "bfloat16" | "float16" | "fp16" | "half" => Some(Dtype::Bf16),
            "float8_e4m3fn" | "fp8_e4m3" | "float8" => Some(Dtype::Fp8),
            _ => None,
        })
    }

    /// Returns the t0 given for an operation.
    pub(crate) fn t0_of(&self, operation: OperationKind) -> Option<f64> {
        let given = self.t0_us.iter().rev().find(|(kind, _)| *kind == operation);
        given.map(|(_, t0_us)| *t0_us)
    }

    /// Returns the columns given for files of an operation without a header.
    pub(crate) fn header_of(&self, operation: OperationKind) -> Option<&[String]> {
        let given = self.headers.iter().rev().find(|(kind, _)| *kind == operation);
        given.map(|(_, columns)| columns.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_many_names_and_the_users_comes_first() {
        let answers = Answers {
            dtype_names: vec![("fp8_static".to_owned(), Dtype::Fp8), ("half".to_owned(), Dtype::Nvfp4)],
            ..Answers::default()
        };
        assert_eq!(answers.dtype_named("bfloat16"), Some(Dtype::Bf16));
        assert_eq!(answers.dtype_named("torch.float16"), Some(Dtype::Bf16));
        assert_eq!(answers.dtype_named("fp8_block"), Some(Dtype::Fp8Block));
        assert_eq!(answers.dtype_named("fp8_static"), Some(Dtype::Fp8));
        assert_eq!(answers.dtype_named("half"), Some(Dtype::Nvfp4));
        assert_eq!(answers.dtype_named("int8_wo"), None);
    }
}
