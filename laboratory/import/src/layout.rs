//! Layouts of published measurements, and the contents of their files.

use std::fmt;

use rooflut_codegen::OperationKind;

/// A layout of published kernel measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// InferSim's `bench_data/`: a CSV for each attention shape, by folder of the GPU.
    InferSim,
    /// BLIS's `bench_data/`: InferSim's with `-tp2` and the like in the names of decode files.
    Blis,
    /// AIConfigurator's `*_perf` tables.
    AiConfigurator,
    /// Vidur's `profiling/` tree.
    Vidur,
}

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A table whose rows become rows of a table set.
    Table {
        /// The measured operation.
        operation: OperationKind,
        /// The shape, if the name of the file has it.
        heads: Option<Heads>,
    },
    /// A table of this layout that no table set can hold, with the reason.
    NotImported(&'static str),
    /// Not a table of this layout.
    Unknown,
}

/// Heads in the name of a file: `28-4-128-tp2.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Query heads.
    pub q_heads: u32,
    /// KV heads.
    pub kv_heads: u32,
    /// Dimension of a head.
    pub head_dim: u32,
    /// The ranks that share these heads; 1 if the name has none.
    pub tp: u32,
}

/// The reason for leaving out tables of latent attention.
const MLA: &str = "multi-head latent attention: the library has no such kernel";

impl Layout {
    /// All layouts.
    pub const ALL: [Layout; 4] = [Layout::InferSim, Layout::Blis, Layout::AiConfigurator, Layout::Vidur];

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::InferSim => "infersim",
            Layout::Blis => "blis",
            Layout::AiConfigurator => "aiconfigurator",
            Layout::Vidur => "vidur",
        }
    }

    /// Returns the paths of its tables, for messages.
    pub const fn expected(self) -> &'static str {
        match self {
            Layout::InferSim => "gemm/GPU/*.csv, mha/prefill/GPU/Q-KV-DIM.csv, mha/decode/GPU/Q-KV-DIM.csv",
            Layout::Blis => "gemm/GPU/*.csv, mha/prefill/GPU/Q-KV-DIM.csv, mha/decode/GPU/Q-KV-DIM-tpN.csv",
            Layout::AiConfigurator => {
                "gemm_perf, context_attention_perf, generation_attention_perf, moe_perf, \
                 custom_allreduce_perf (.parquet, .txt or .csv)"
            }
            Layout::Vidur => "compute/GPU/MODEL/mlp.csv, network/NODE/all_reduce.csv",
        }
    }

    /// Returns the contents of the file at `path`, with `/` between folders.
    ///
    /// ```
    /// use rooflut_import::{Content, Layout};
    /// let path = "bench_data/mla/decode/h100/128.csv";
    /// assert!(matches!(Layout::InferSim.content(path), Content::NotImported(_)));
    /// assert_eq!(Layout::Vidur.content("README.md"), Content::Unknown);
    /// ```
    pub fn content(self, path: &str) -> Content {
        let mut parts: Vec<&str> = path.split('/').collect();
        let file = parts.pop().unwrap_or_default();
        let Some((stem, extension)) = file.rsplit_once('.') else {
            return Content::Unknown;
        };
        match (self, extension) {
            (Layout::InferSim | Layout::Blis, "csv") => of_tree(&parts, stem),
            (Layout::AiConfigurator, "csv" | "txt" | "parquet") => of_perf(stem),
            (Layout::Vidur, "csv") => of_profile(stem),
            _ => Content::Unknown,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const fn table(operation: OperationKind) -> Content {
    Content::Table { operation, heads: None }
}

/// The contents of a file of InferSim's tree. The innermost folder that names a kind counts.
fn of_tree(folders: &[&str], stem: &str) -> Content {
    let kind = folders.iter().rev().find(|folder| matches!(**folder, "gemm" | "grouped_gemm" | "mha" | "mla"));
    let phase = folders.iter().rev().find(|folder| matches!(**folder, "prefill" | "decode"));
    let operation = match (kind.copied(), phase.copied()) {
        (Some("gemm"), _) => return table(OperationKind::Gemm),
        (Some("mla"), _) => return Content::NotImported(MLA),
        (Some("grouped_gemm"), _) => {
            return Content::NotImported(
                "grouped GEMM: two separate halves; a table set has whole fused layers of experts",
            );
        }
        (Some("mha"), Some("prefill")) => OperationKind::Prefill,
        (Some("mha"), Some("decode")) => OperationKind::Decode,
        _ => return Content::Unknown,
    };
    match heads(stem) {
        Some(heads) => Content::Table { operation, heads: Some(heads) },
        None => Content::NotImported(
            "its name gives no shape: expected QUERYHEADS-KVHEADS-HEADDIM.csv, with -tpN if sharded",
        ),
    }
}

/// Parses `28-4-128` or `28-4-128-tp2`.
fn heads(stem: &str) -> Option<Heads> {
    let mut parts = stem.split('-');
    let mut number = || parts.next()?.parse().ok().filter(|number: &u32| *number > 0);
    let (q_heads, kv_heads, head_dim) = (number()?, number()?, number()?);
    let tp = match parts.next() {
        None => 1,
        Some(tp) => tp.strip_prefix("tp")?.parse().ok().filter(|tp| *tp > 0)?,
    };
    parts.next().is_none().then_some(Heads { q_heads, kv_heads, head_dim, tp })
}

/// The contents of a file of AIConfigurator.
fn of_perf(stem: &str) -> Content {
    match stem {
        "gemm_perf" => table(OperationKind::Gemm),
        "context_attention_perf" => table(OperationKind::Prefill),
        "generation_attention_perf" => table(OperationKind::Decode),
        "moe_perf" => table(OperationKind::Moe),
        "custom_allreduce_perf" => table(OperationKind::AllReduce),
        "nccl_perf" | "oneccl_perf" => {
            Content::NotImported("collectives of a library: a table set has the engine's own all-reduce")
        }
        mla if mla.contains("mla") && mla.ends_with("_perf") => Content::NotImported(MLA),
        other if other.ends_with("_perf") => Content::NotImported("the library has no such kernel"),
        _ => Content::Unknown,
    }
}

/// The contents of a file of Vidur.
fn of_profile(stem: &str) -> Content {
    match stem {
        "mlp" => table(OperationKind::Gemm),
        "all_reduce" => table(OperationKind::AllReduce),
        "attention" => {
            Content::NotImported("attention profiles: it is not known whether kv_cache_size counts the new token")
        }
        "send_recv" => Content::NotImported("send and receive: the library has no such kernel"),
        "cpu_overhead" | "cpu_overheads" => {
            Content::NotImported("the host's time: constants of an engine stack, not of a kernel")
        }
        _ => Content::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognised_by_its_folders_and_its_name() {
        let decode = Layout::Blis.content("x/mha/decode/h100/28-4-128-tp2.csv");
        let heads = Heads { q_heads: 28, kv_heads: 4, head_dim: 128, tp: 2 };
        let operation = OperationKind::Decode;
        assert_eq!(decode, Content::Table { operation, heads: Some(heads) });
        let gemm = table(OperationKind::Gemm);
        assert_eq!(Layout::InferSim.content("mha/x/gemm/h100/data.csv"), gemm);
        assert_eq!(Layout::AiConfigurator.content("a/gemm_perf.parquet"), gemm);
        assert_eq!(Layout::Vidur.content("compute/a100/m/mlp.csv"), gemm);
        assert_eq!(Layout::Vidur.content("compute/a100/m/mlp.txt"), Content::Unknown);
    }

    #[test]
    fn tables_that_no_set_can_hold_are_named() {
        let not_imported = [
            (Layout::InferSim, "mla/decode/h100/a.csv"),
            (Layout::Blis, "grouped_gemm/decode/h100/data.csv"),
            (Layout::Blis, "mha/decode/h100/28-4.csv"),
            (Layout::Blis, "mha/decode/h100/28-4-0.csv"),
            (Layout::Blis, "mha/decode/h100/28-4-128-x2.csv"),
            (Layout::AiConfigurator, "generation_mla_perf.txt"),
            (Layout::AiConfigurator, "nccl_perf.parquet"),
            (Layout::AiConfigurator, "something_new_perf.txt"),
            (Layout::Vidur, "compute/a100/m/attention.csv"),
        ];
        for (layout, path) in not_imported {
            let content = layout.content(path);
            assert!(matches!(content, Content::NotImported(_)), "{path}: {content:?}");
        }
    }
}
