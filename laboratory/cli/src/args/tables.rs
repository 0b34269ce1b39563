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
    /// Your own measurements in place of the built-in sets: a folder like those in bench_data/, or a single file made
    /// from such a folder.
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
    /// Looks up each row as `rooflut lookup` does and compares the answer with the measured latency. Leaves out, counts
    /// and names rows that cannot be read, rows that break the physics of the set's GPU, warm-up runs (1 in the column
    /// `warmup`) and rows that the set cannot answer. Ignores other columns.
    Score(ScoreArgs),
    /// Find suspicious rows of a set, and report its coverage and accuracy.
    ///
    /// Fails as a build does, at the first impossible row, with file and line. Warns of rows far from their neighbours
    /// (outliers) and of latencies that fall although the work grows (dips). Reports the answers of the set for each
    /// built-in model, and the errors of predicting each row from the other rows.
    Check(CheckArgs),
    /// Draw a set as SVG to make bad rows visible: grid, efficiency and roofline of each operation.
    Plot(PlotArgs),
}

/// Arguments of `rooflut-lab tables check`.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// A folder like those in bench_data/, a single file made from such a folder, or the name of a built-in set
    /// (without line numbers) [or --tables].
    pub(crate) set: Option<String>,
    /// Fail if there is a warning.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

/// Arguments of `rooflut-lab tables plot`.
#[derive(Args)]
pub(crate) struct PlotArgs {
    /// A folder like those in bench_data/, a single file made from such a folder, or the name of a built-in set
    /// (without line numbers) [or --tables].
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
    /// Operation of the file: gemm, prefill, decode, allreduce, moe [default: recognised by the columns].
    #[arg(long, value_parser = value::operation)]
    pub(crate) op: Option<OperationKind>,
}
