//! Vidur: four GEMMs of a layer in each row of `mlp.csv`, times in milliseconds.

use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::{AllReduceShape, Dtype, GemmShape};

use super::{Columns, Measured, Others};
use crate::answers::Statistic;
use crate::cells::Cells;
use crate::reading::{Cause, Reason};

/// Times are in milliseconds: 10^3 us.
const MS: i32 = 3;

/// The GEMMs of a layer by Vidur's names. The other times of a row (norms, rotary embedding, activation,
/// residual) are of kernels that table sets do not have.
const PARTS: [&str; GEMMS] = ["attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj"];

/// The number of GEMMs in a row.
pub(super) const GEMMS: usize = 4;

/// The dimensions of a layer.
const LAYER: &str = "n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,\
                     num_tensor_parallel_workers";

fn time(part: &str, statistic: Statistic) -> String {
    format!("time_stats.{part}.{}", statistic.name())
}

pub(super) fn columns(operation: OperationKind, statistic: Statistic) -> Columns {
    let (shape, optional, parts) = match operation {
        OperationKind::AllReduce => ("num_workers,size", "collective,devices_per_node", &["all_reduce"][..]),
        _ => (LAYER, "", &PARTS[..]),
    };
    let mut columns = Columns::new(shape, optional, Others::Remarks);
    let times = parts.iter().map(|part| time(part, statistic));
    columns.required.extend(times);
    columns
}

pub(super) fn row(operation: OperationKind, cells: &Cells<'_>, measured: &mut dyn FnMut(Measured)) {
    let statistic = cells.answers.statistic;
    if operation == OperationKind::AllReduce {
        let kernel = all_reduce(cells);
        let latency = || cells.latency(&time("all_reduce", statistic), MS);
        return measured(kernel.and_then(|kernel| Ok((kernel, latency()?))));
    }
    let layer = Layer::read(cells);
    for part in PARTS {
        let gemm = layer.clone().and_then(|layer| {
            let shape = layer.gemm(part)?;
            let latency = cells.latency(&time(part, statistic), MS)?;
            Ok((MeasuredKernel::new(OperationKind::Gemm, shape, [layer.tokens, 1]), latency))
        });
        measured(gemm);
    }
}

/// The dimensions of a layer and its sharding.
#[derive(Clone)]
struct Layer {
    dtype: Dtype,
    tokens: u32,
    embd: u32,
    heads: u32,
    kv_heads: u32,
    expanded: u32,
    /// Matrices of width `expanded` that the up projection joins: two where the MLP is gated.
    up: u32,
    tp: u32,
}

impl Layer {
    fn read(cells: &Cells<'_>) -> Result<Layer, Cause> {
        let dtype = cells.answers.dtype_of(OperationKind::Gemm);
        let gated = cells.text("use_gated_mlp").unwrap_or_default().to_ascii_lowercase();
        Ok(Layer {
            dtype: dtype.ok_or_else(|| Cause::new(Reason::UnknownDtype, ""))?,
            tokens: cells.count("num_tokens")?,
            embd: cells.count("n_embd")?,
            heads: cells.count("n_head")?,
            kv_heads: cells.count("n_kv_head")?,
            expanded: cells.count("n_expanded_embd")?,
            up: match gated.as_str() {
                "true" | "1" => 2,
                "false" | "0" => 1,
                _ => return Err(cells.malformed("use_gated_mlp", "True or False")),
            },
            tp: cells.count("num_tensor_parallel_workers")?,
        })
    }

    /// Returns the GEMM of one of [`PARTS`] on one rank.
    fn gemm(&self, part: &str) -> Result<GemmShape, Cause> {
        let (k, n) = match part {
            "attn_pre_proj" => (self.embd, self.sharded(self.qkv_width()?)?),
            "attn_post_proj" => (self.sharded(self.embd)?, self.embd),
            "mlp_up_proj" => {
                let joined = self.expanded.checked_mul(self.up);
                (self.embd, self.sharded(joined.ok_or_else(|| self.odd())?)?)
            }
            _ => (self.sharded(self.expanded)?, self.embd),
        };
        Ok(GemmShape { dtype: self.dtype, k, n })
    }

    /// Returns the joint width of query, key and value projections. Heads are `n_embd / n_head` wide.
    fn qkv_width(&self) -> Result<u32, Cause> {
        let whole = self.embd.is_multiple_of(self.heads)
            && self.heads.is_multiple_of(self.tp)
            && self.kv_heads.is_multiple_of(self.tp);
        let heads = self.kv_heads.checked_mul(2).and_then(|kv| kv.checked_add(self.heads));
        let width = heads.and_then(|heads| heads.checked_mul(self.embd / self.heads));
        width.filter(|_| whole).ok_or_else(|| self.odd())
    }

    fn sharded(&self, width: u32) -> Result<u32, Cause> {
        if width.is_multiple_of(self.tp) { Ok(width / self.tp) } else { Err(self.odd()) }
    }

    fn odd(&self) -> Cause {
        let Layer { embd, heads, kv_heads, expanded, tp, .. } = self;
        let detail = format!(
            "n_embd {embd}, n_head {heads}, n_kv_head {kv_heads}, n_expanded_embd {expanded} on \
             {tp} ranks"
        );
        Cause::new(Reason::Contradiction, detail)
    }
}

/// The size of a message is in bytes.
fn all_reduce(cells: &Cells<'_>) -> Result<MeasuredKernel, Cause> {
    if cells.text("collective").is_some_and(|name| name != "all_reduce") {
        return Err(Reason::OtherCollective.into());
    }
    let ranks = cells.count("num_workers")?;
    if ranks == 1 {
        return Err(Reason::OneRank.into());
    }
    if cells.text("devices_per_node").is_some() && cells.count("devices_per_node")? < ranks {
        return Err(Reason::AcrossNodes.into());
    }
    Ok(MeasuredKernel::new(OperationKind::AllReduce, AllReduceShape { ranks }, [cells.count("size")?, 1]))
}
