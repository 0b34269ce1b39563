//! InferSim and BLIS: a CSV for each attention shape, one for GEMMs.

use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::{AttentionShape, Dtype, GemmShape};

use super::{Columns, Measured, Others};
use crate::cells::Cells;
use crate::layout::Heads;
use crate::reading::{Cause, Reason};

pub(super) fn columns(operation: OperationKind) -> Columns {
    let (required, optional) = match operation {
        OperationKind::Prefill => ("seq_len,latency_us", "dtype,kv_dtype,batch_size,mfu"),
        OperationKind::Decode => ("batch_size,kv_len,latency_us", "dtype,kv_dtype,mfu"),
        _ => ("m,k,n,latency_us", "dtype,mfu"),
    };
    Columns::new(required, optional, Others::Variants)
}

pub(super) fn row(operation: OperationKind, heads: Option<Heads>, cells: &Cells<'_>) -> Measured {
    let dtype = cells.dtype("dtype", cells.answers.dtype_of(operation))?;
    let kernel = match operation {
        OperationKind::Prefill => MeasuredKernel::new(
            OperationKind::Prefill,
            attention(dtype, heads, cells)?,
            [
                match cells.text("batch_size") {
                    Some(_) => cells.count("batch_size")?,
                    None => 1,
                },
                cells.count("seq_len")?,
            ],
        ),
        OperationKind::Decode => MeasuredKernel::new(
            OperationKind::Decode,
            attention(dtype, heads, cells)?,
            [cells.count("batch_size")?, cells.count("kv_len")?],
        ),
        _ => MeasuredKernel::new(
            OperationKind::Gemm,
            GemmShape { dtype, k: cells.count("k")?, n: cells.count("n")? },
            [cells.count("m")?, 1],
        ),
    };
    Ok((kernel, cells.latency("latency_us", 0)?))
}

fn attention(dtype: Dtype, heads: Option<Heads>, cells: &Cells<'_>) -> Result<AttentionShape, Cause> {
    let Heads { q_heads, kv_heads, head_dim, tp } =
        heads.ok_or_else(|| Cause::new(Reason::Contradiction, "a file name without a shape"))?;
    Ok(AttentionShape { dtype, kv_dtype: cells.kv_dtype("kv_dtype")?, q_heads, kv_heads, head_dim, tp })
}
