//! What the files do not say.

use rooflut_codegen::OperationKind;
use rooflut_roofline::{Dtype, Gpu};

use crate::gpu_sheet::GpuSheet;

/// What the files do not say and a user has to: all that is `None` and needed is asked for at once.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Name of the set.
    pub name: Option<String>,
    /// The GPU that was measured.
    pub gpu: Option<MeasuredGpu>,
    /// Engine stack. AIConfigurator's tables say it themselves.
    pub engine: Option<String>,
    /// How it was timed.
    pub timing: Option<String>,
    /// Where the files come from.
    pub source: Option<String>,
    /// Their licence.
    pub license: Option<String>,
    /// The day of the measurement or publication, `2026-01-31`.
    pub date: Option<String>,
    /// Format of the math, where files have no column for it.
    pub dtype: Option<Dtype>,
    /// The same for GEMMs, where theirs is another.
    pub gemm_dtype: Option<Dtype>,
    /// Format of the KV cache, where files have no column for it.
    pub kv_dtype: Option<Dtype>,
    /// Bytes of an element of a message, where files count elements and do not say of which format.
    pub element_bytes: Option<u32>,
    /// What names of formats in the files mean.
    pub dtype_names: Vec<(String, Dtype)>,
    /// Values that columns must have for a row to be read.
    pub conditions: Vec<Condition>,
    /// Columns of files that have no header, by what these files measure.
    pub headers: Vec<(OperationKind, Vec<String>)>,
    /// Only files below a folder of one of these names. Empty: all.
    pub folders: Vec<String>,
    /// Which of the statistics of a time is its latency (Vidur).
    pub statistic: Statistic,
    /// The peak that `mfu` columns are relative to, FLOP/s; otherwise that of the GPU.
    pub mfu_peak_flops_per_s: Option<f64>,
    /// t0 of an operation, microseconds; otherwise its smallest latency less what FLOPs and bytes explain.
    pub t0_us: Vec<(OperationKind, f64)>,
    /// What becomes of rows at the floor of eager launches.
    pub floor: FloorRows,
}

/// The GPU that was measured.
#[derive(Debug, Clone)]
pub enum MeasuredGpu {
    /// One that has a data sheet in the library.
    Known(Gpu),
    /// One with a data sheet of its own.
    Own(GpuSheet),
}

impl MeasuredGpu {
    /// Its data sheet.
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
    /// The column.
    pub column: String,
    /// Its value, as the file writes it.
    pub value: String,
}

/// Which of the statistics of a time is taken for its latency.
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
    /// All of them.
    pub const ALL: [Statistic; 4] = [
        Statistic::Median,
        Statistic::Mean,
        Statistic::Min,
        Statistic::Max,
    ];

    /// The name in columns and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Statistic::Median => "median",
            Statistic::Mean => "mean",
            Statistic::Min => "min",
            Statistic::Max => "max",
        }
    }
}

/// What becomes of rows at the floor of eager launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FloorRows {
    /// They stay, and are reported.
    #[default]
    Keep,
    /// They are left out, and are reported.
    Drop,
}

impl Answers {
    /// The format of the math of an operation whose file does not say it.
    pub(crate) fn dtype_of(&self, operation: OperationKind) -> Option<Dtype> {
        match operation {
            OperationKind::Gemm => self.gemm_dtype.or(self.dtype),
            _ => self.dtype,
        }
    }

    /// What a file calls a format: a name of the library, one that is used for it elsewhere, or one that
    /// the user explains.
    pub(crate) fn dtype_named(&self, name: &str) -> Option<Dtype> {
        let explained = self.dtype_names.iter().find(|(known, _)| known == name);
        if let Some((_, dtype)) = explained {
            return Some(*dtype);
        }
        let name = name
            .strip_prefix("torch.")
            .unwrap_or(name)
            .to_ascii_lowercase();
        name.parse().ok().or(match name.as_str() {
            "bfloat16" | "float16" | "fp16" | "half" => Some(Dtype::Bf16),
            "float8_e4m3fn" | "fp8_e4m3" | "float8" => Some(Dtype::Fp8),
            _ => None,
        })
    }

    /// t0 of an operation, if it was given.
    pub(crate) fn t0_of(&self, operation: OperationKind) -> Option<f64> {
        let given = self.t0_us.iter().rev().find(|(kind, _)| *kind == operation);
        given.map(|(_, t0_us)| *t0_us)
    }

    /// The columns of files of an operation that have no header, if they were given.
    pub(crate) fn header_of(&self, operation: OperationKind) -> Option<&[String]> {
        let given = self
            .headers
            .iter()
            .rev()
            .find(|(kind, _)| *kind == operation);
        given.map(|(_, columns)| columns.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_many_names_and_the_users_comes_first() {
        let answers = Answers {
            dtype_names: vec![
                ("fp8_static".to_owned(), Dtype::Fp8),
                ("half".to_owned(), Dtype::Nvfp4),
            ],
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
