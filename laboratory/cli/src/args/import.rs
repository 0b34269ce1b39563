//! Arguments of `rooflut-lab import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rooflut::hardware::{Dtype, Gpu};
use rooflut_codegen::OperationKind;
use rooflut_import::{Condition, Layout, Statistic};

use crate::import::value as import_value;

/// Arguments of `rooflut-lab import`.
#[derive(Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
    /// Write JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The layout of the files.
#[derive(Subcommand)]
pub(crate) enum ImportFrom {
    /// InferSim's bench_data: gemm/GPU/*.csv, mha/{prefill,decode}/GPU/Q-KV-DIM.csv.
    Infersim(TreeArgs),
    /// BLIS's bench_data: like InferSim's, with -tpN in the names of decode files.
    Blis(TreeArgs),
    /// AIConfigurator's tables: gemm_perf, context_attention_perf, generation_attention_perf, moe_perf,
    /// custom_allreduce_perf, as parquet, txt or csv.
    Aiconfigurator(PerfArgs),
    /// Vidur's profiles: compute/GPU/MODEL/mlp.csv, network/NODE/all_reduce.csv.
    Vidur(ProfileArgs),
}

impl ImportFrom {
    /// Returns the layout, and the arguments for files of any layout.
    pub(crate) fn parts(&self) -> (Layout, &SetArgs) {
        match self {
            ImportFrom::Infersim(args) => (Layout::InferSim, &args.set),
            ImportFrom::Blis(args) => (Layout::Blis, &args.set),
            ImportFrom::Aiconfigurator(args) => (Layout::AiConfigurator, &args.set),
            ImportFrom::Vidur(args) => (Layout::Vidur, &args.set),
        }
    }
}

/// Arguments for InferSim's and BLIS's trees.
#[derive(Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Format of the math, for files without such a column: bf16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4.
    #[arg(long, value_name = "DTYPE", value_parser = rooflut_scenario::dtype)]
    pub(crate) dtype: Option<Dtype>,
    /// Format of the math in GEMMs, if different (InferSim's GEMMs are fp8_block).
    #[arg(long, value_name = "DTYPE", value_parser = rooflut_scenario::dtype)]
    pub(crate) gemm_dtype: Option<Dtype>,
    /// Format of the KV cache, for files without such a column: bf16, fp8.
    #[arg(long, value_name = "DTYPE", value_parser = rooflut_scenario::kv_dtype)]
    pub(crate) kv_dtype: Option<Dtype>,
    /// Peak that the mfu columns are relative to [default: the peak of the GPU and format].
    #[arg(long, value_name = "TFLOPS", value_parser = import_value::positive)]
    pub(crate) mfu_peak: Option<f64>,
}

/// Arguments for AIConfigurator's tables.
#[derive(Args)]
pub(crate) struct PerfArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Bytes of an element of an all-reduce, for files without the column allreduce_dtype.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) element_bytes: Option<u32>,
}

/// Arguments for Vidur's profiles.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Format of the math: bf16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4.
    #[arg(long, value_name = "DTYPE", value_parser = rooflut_scenario::dtype)]
    pub(crate) dtype: Option<Dtype>,
    /// Statistic to take as the latency: median, mean, min, max.
    #[arg(long, value_name = "NAME", default_value = "median", value_parser = import_value::statistic)]
    pub(crate) statistic: Statistic,
}

/// Arguments for files of any layout.
#[derive(Args)]
pub(crate) struct SetArgs {
    /// File, or folder to search for files of the layout.
    pub(crate) src: PathBuf,
    /// Folder for the table set; must be new or empty.
    pub(crate) dest: PathBuf,
    /// Replace the set in DEST.
    #[arg(long)]
    pub(crate) force: bool,
    /// Measured GPU: a100, b200, b300, gb200, gb300, h100, h200, l40s, rtx-pro-6000.
    #[arg(long, value_parser = import_value::gpu, conflicts_with = "gpu_sheet", help_heading = "Missing from the files")]
    pub(crate) gpu: Option<Gpu>,
    /// TOML file with the data sheet of another GPU: a table [gpu] as shown in bench_data/README.md.
    #[arg(long, value_name = "FILE", help_heading = "Missing from the files")]
    pub(crate) gpu_sheet: Option<PathBuf>,
    /// Name of the set [default: the name of the folder DEST].
    #[arg(long, help_heading = "Missing from the files")]
    pub(crate) name: Option<String>,
    /// Engine stack that ran the kernels [default: the stack that the files name].
    #[arg(long, value_name = "TEXT", help_heading = "Missing from the files")]
    pub(crate) engine: Option<String>,
    /// Method of timing.
    #[arg(long, value_name = "TEXT", help_heading = "Missing from the files")]
    pub(crate) timing: Option<String>,
    /// Source of the files, with the commit.
    #[arg(long, value_name = "TEXT", help_heading = "Missing from the files")]
    pub(crate) source: Option<String>,
    /// Licence of the files.
    #[arg(long, value_name = "TEXT", alias = "licence", help_heading = "Missing from the files")]
    pub(crate) license: Option<String>,
    /// Day of the measurement or of its publication, as in 2026-01-31.
    #[arg(long, value_name = "DAY", help_heading = "Missing from the files")]
    pub(crate) date: Option<String>,
    /// Format that a name in the files stands for, as in fp8_static=fp8; repeatable.
    #[arg(long = "dtype-name", value_name = "NAME=DTYPE", value_parser = import_value::dtype_name,
          help_heading = "Missing from the files")]
    pub(crate) dtype_names: Vec<(String, Dtype)>,
    /// Columns of an operation's files that have no header, as in gemm=m,k,n,latency_us; repeatable.
    #[arg(long = "header", value_name = "OP=COLUMNS", value_parser = import_value::header,
          help_heading = "Missing from the files")]
    pub(crate) headers: Vec<(OperationKind, Vec<String>)>,
    /// t0 of an operation in us, as in gemm=3.7; repeatable [default: its smallest latency minus the roofline time].
    #[arg(long = "t0", value_name = "OP=US", value_parser = import_value::t0,
          help_heading = "Missing from the files")]
    pub(crate) t0_us: Vec<(OperationKind, f64)>,
    /// Read only files below a folder with this name or path ending, as in vllm/0.24.0; repeatable [default: the folder
    /// of the GPU, if there are several].
    #[arg(long = "folder", value_name = "NAME", help_heading = "Selection")]
    pub(crate) folders: Vec<String>,
    /// Leave out this file, or all files below this folder, given by path in SRC; repeatable.
    #[arg(long, value_name = "PATH", help_heading = "Selection")]
    pub(crate) skip: Vec<String>,
    /// Read only rows with this value in a column: in all files that have the column, as in version=0.24.0, or in the
    /// files of one operation, as in gemm.kernel_source=torch; repeatable.
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = import_value::condition,
          help_heading = "Selection")]
    pub(crate) conditions: Vec<Condition>,
    /// Leave out rows that timed an eager launch instead of a kernel.
    #[arg(long, help_heading = "Selection")]
    pub(crate) drop_floor: bool,
}
