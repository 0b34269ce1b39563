//! AIConfigurator: one table for each operation, latencies in milliseconds, heads of one rank.

use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::{AllReduceShape, AttentionShape, GemmShape, MoeShape};

use super::{Columns, Measured, Others};
use crate::cells::Cells;
use crate::reading::{Cause, Reason};

/// Latencies are in milliseconds: 10^3 us.
const MS: i32 = 3;

pub(super) fn columns(operation: OperationKind) -> Columns {
    let (required, optional) = match operation {
        OperationKind::Gemm => ("gemm_dtype,m,n,k,latency", ""),
        OperationKind::Prefill => (
            "attn_dtype,kv_cache_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,latency",
            "step,beam_width,window_size",
        ),
        OperationKind::Decode => (
            "attn_dtype,kv_cache_dtype,batch_size,isl,step,num_heads,num_key_value_heads,head_dim,latency",
            "beam_width,window_size",
        ),
        OperationKind::Moe => {
            ("moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,latency", "")
        }
        // The layout has no other table.
        _ => ("num_gpus,message_size,latency", "allreduce_dtype"),
    };
    Columns::new(required, optional, Others::Variants)
}

pub(super) fn row(operation: OperationKind, cells: &Cells<'_>) -> Measured {
    let kernel = match operation {
        OperationKind::Gemm => MeasuredKernel::new(
            OperationKind::Gemm,
            GemmShape { dtype: cells.dtype("gemm_dtype", None)?, k: cells.count("k")?, n: cells.count("n")? },
            [cells.count("m")?, 1],
        ),
        OperationKind::Prefill => prefill(cells)?,
        OperationKind::Decode => decode(cells)?,
        OperationKind::Moe => moe(cells)?,
        _ => all_reduce(cells)?,
    };
    Ok((kernel, cells.latency("latency", MS)?))
}

fn prefill(cells: &Cells<'_>) -> Result<MeasuredKernel, Cause> {
    let shape = attention(cells)?;
    if cells.text("step").is_some() && cells.whole("step")? > 0 {
        return Err(Reason::Context.into());
    }
    Ok(MeasuredKernel::new(OperationKind::Prefill, shape, [cells.count("batch_size")?, cells.count("isl")?]))
}

/// The length of the KV cache is `step` plus `isl`: cached tokens and the new one.
fn decode(cells: &Cells<'_>) -> Result<MeasuredKernel, Cause> {
    let shape = attention(cells)?;
    let (step, new) = (cells.whole("step")?, cells.whole("isl")?);
    let kv_len = step.checked_add(new).filter(|kv_len| *kv_len > 0);
    Ok(MeasuredKernel::new(
        OperationKind::Decode,
        shape,
        [cells.count("batch_size")?, kv_len.ok_or_else(|| cells.malformed("step", "a length"))?],
    ))
}

/// The heads are those of one rank.
fn attention(cells: &Cells<'_>) -> Result<AttentionShape, Cause> {
    if cells.text("beam_width").is_some() && cells.whole("beam_width")? > 1 {
        return Err(Reason::Beams.into());
    }
    // 0 and -1 stand for none.
    let no_window = |text: &str| matches!(text, "0" | "-1" | "0.0" | "-1.0");
    if let Some(window) = cells.text("window_size").filter(|text| !no_window(text)) {
        return Err(Cause::new(Reason::Window, format!("window_size {window}")));
    }
    Ok(AttentionShape {
        dtype: cells.dtype("attn_dtype", None)?,
        kv_dtype: cells.kv_dtype("kv_cache_dtype")?,
        q_heads: cells.count("num_heads")?,
        kv_heads: cells.count("num_key_value_heads")?,
        head_dim: cells.count("head_dim")?,
        tp: 1,
    })
}

/// `inter_size` is the full width of an expert, `moe_tp_size` the ranks that share it; no column says whether an expert
/// has a gate.
fn moe(cells: &Cells<'_>) -> Result<MeasuredKernel, Cause> {
    Ok(MeasuredKernel::new(
        OperationKind::Moe,
        MoeShape {
            dtype: cells.dtype("moe_dtype", None)?,
            experts: cells.count("num_experts")?,
            top_k: cells.count("topk")?,
            hidden: cells.count("hidden_size")?,
            intermediate: cells.count("inter_size")?,
            tp: cells.count("moe_tp_size")?,
            ep: cells.count("moe_ep_size")?,
            matrices: 3,
        },
        [cells.count("num_tokens")?, 1],
    ))
}

/// The size of a message is in elements.
fn all_reduce(cells: &Cells<'_>) -> Result<MeasuredKernel, Cause> {
    let ranks = cells.count("num_gpus")?;
    if ranks == 1 {
        return Err(Reason::OneRank.into());
    }
    let unknown = |name: &str| Cause::new(Reason::UnknownDtype, format!("allreduce_dtype {name:?}"));
    let element_bytes = match cells.text("allreduce_dtype") {
        Some(name) => element_bytes(name).ok_or_else(|| unknown(name))?,
        None => cells.answers.element_bytes.ok_or_else(|| unknown(""))?,
    };
    let elements = cells.count("message_size")?;
    let bytes = elements.checked_mul(element_bytes);
    Ok(MeasuredKernel::new(
        OperationKind::AllReduce,
        AllReduceShape { ranks },
        [bytes.ok_or_else(|| cells.malformed("message_size", "less than 4 GiB"))?, 1],
    ))
}

/// Bytes of an element of a message.
fn element_bytes(name: &str) -> Option<u32> {
    match name.strip_prefix("torch.").unwrap_or(name) {
        "half" | "float16" | "bfloat16" | "fp16" | "bf16" => Some(2),
        "float" | "float32" | "fp32" => Some(4),
        "int8" | "fp8" | "float8_e4m3fn" => Some(1),
        _ => None,
    }
}
