//! Arguments of `rooflut-lab tables`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rooflut_codegen::OperationKind;

use crate::value;

/// Arguments of `rooflut-lab tables`.
#[derive(Args)]
pub(crate) struct TablesArgs {
    #[command(subcommand)]
    pub(crate) command: TablesCommand,
    /// Measurements of your own in place of the built-in sets: a folder like those of bench_data/, or one
    /// file made of it.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) tables: Option<PathBuf>,
    /// Write JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Subcommands of `rooflut-lab tables`.
#[derive(Subcommand)]
pub(crate) enum TablesCommand {
    /// Compare a set with kernels that you measured.
    ///
    /// Each row is looked up as `rooflut lookup` does and compared with its latency. Rows that cannot be
    /// read or break the physics of the set's GPU, warm-up runs (a column `warmup` that is 1) and rows
    /// that the set cannot answer are left out, counted and named. Other columns are ignored.
    Score(ScoreArgs),
    /// Find suspicious rows of a set, and report its coverage and accuracy.
    ///
    /// Errors are those of a build: the first impossible row, with file and line. Warnings are rows far from
    /// their neighbours (outliers) and latencies that fall although the work grows (dips). The report lists
    /// the answers of the set for each built-in model, and its errors in predicting each row from the others.
    Check(CheckArgs),
    /// Draw a set as SVG, which makes bad rows visible: grid, efficiency and roofline of each operation.
    Plot(PlotArgs),
}

/// Arguments of `rooflut-lab tables check`.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// A folder like those of bench_data/, one file made of it, or the name of a built-in set (whose
    /// rows have no lines) [or --tables].
    pub(crate) set: Option<String>,
    /// Fail if there is a warning.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

/// Arguments of `rooflut-lab tables plot`.
#[derive(Args)]
pub(crate) struct PlotArgs {
    /// A folder like those of bench_data/, one file made of it, or the name of a built-in set (whose
    /// rows have no lines) [or --tables].
    pub(crate) set: Option<String>,
    /// Folder for the pictures, created if missing [default: the name of the set and -plots].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace existing pictures.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `rooflut-lab tables score`.
#[derive(Args)]
pub(crate) struct ScoreArgs {
    /// CSV of measured kernels: a gemm.csv, attention_prefill.csv, attention_decode.csv,
    /// allreduce.csv or moe.csv as bench_data/README.md describes them, under any name.
    pub(crate) file: PathBuf,
    /// Table set (`rooflut tables` lists them) [or --tables].
    #[arg(long)]
    pub(crate) gpu: Option<String>,
    /// Operation of the file: gemm, prefill, decode, allreduce, moe [default: by its columns].
    #[arg(long, value_parser = value::operation)]
    pub(crate) op: Option<OperationKind>,
}
