//! What can be said of a measured kernel, whichever it is.

use std::fmt::Write;

use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_roofline::{AttentionShape, Dtype, Prompts, Work};

/// The work that it has to do at least.
pub(crate) fn work(kernel: &MeasuredKernel) -> Work {
    match *kernel {
        MeasuredKernel::Gemm { shape, m } => shape.work(f64::from(m)),
        MeasuredKernel::Prefill {
            shape,
            batch,
            seq_len,
        } => shape
            .on_rank()
            .prefill_work(&Prompts::equal(f64::from(batch), f64::from(seq_len))),
        MeasuredKernel::Decode {
            shape,
            batch,
            kv_len,
        } => {
            let requests = f64::from(batch);
            shape
                .on_rank()
                .decode_work(requests, requests * f64::from(kv_len))
        }
        MeasuredKernel::AllReduce { shape, bytes } => shape.work(f64::from(bytes)),
        MeasuredKernel::Moe { shape, tokens } => shape.work(f64::from(tokens)),
    }
}

/// The dtype whose peak counts.
pub(crate) fn dtype(kernel: &MeasuredKernel) -> Dtype {
    match kernel {
        MeasuredKernel::Gemm { shape, .. } => shape.dtype,
        MeasuredKernel::Prefill { shape, .. } | MeasuredKernel::Decode { shape, .. } => shape.dtype,
        MeasuredKernel::AllReduce { .. } => Dtype::Bf16,
        MeasuredKernel::Moe { shape, .. } => shape.dtype,
    }
}

/// The same kernel in another format.
pub(crate) fn with_dtype(mut kernel: MeasuredKernel, dtype: Dtype) -> MeasuredKernel {
    match &mut kernel {
        MeasuredKernel::Gemm { shape, .. } => shape.dtype = dtype,
        MeasuredKernel::Prefill { shape, .. } | MeasuredKernel::Decode { shape, .. } => {
            shape.dtype = dtype;
        }
        MeasuredKernel::AllReduce { .. } => {}
        MeasuredKernel::Moe { shape, .. } => shape.dtype = dtype,
    }
    kernel
}

/// Its coordinates on the measured axes; a curve's second is 1.
pub(crate) fn point(kernel: &MeasuredKernel) -> [u32; 2] {
    match *kernel {
        MeasuredKernel::Gemm { m, .. } => [m, 1],
        MeasuredKernel::Prefill { batch, seq_len, .. } => [batch, seq_len],
        MeasuredKernel::Decode { batch, kv_len, .. } => [batch, kv_len],
        MeasuredKernel::AllReduce { bytes, .. } => [bytes, 1],
        MeasuredKernel::Moe { tokens, .. } => [tokens, 1],
    }
}

/// What all points of one curve or grid have in common: the kernel with coordinates of 0.
pub(crate) fn shape(kernel: &MeasuredKernel) -> MeasuredKernel {
    let mut shape = *kernel;
    match &mut shape {
        MeasuredKernel::Gemm { m, .. } => *m = 0,
        MeasuredKernel::Prefill { batch, seq_len, .. } => (*batch, *seq_len) = (0, 0),
        MeasuredKernel::Decode { batch, kv_len, .. } => (*batch, *kv_len) = (0, 0),
        MeasuredKernel::AllReduce { bytes, .. } => *bytes = 0,
        MeasuredKernel::Moe { tokens, .. } => *tokens = 0,
    }
    shape
}

/// The names of the measured axes.
pub(crate) fn axes(operation: OperationKind) -> &'static [&'static str] {
    match operation {
        OperationKind::Gemm => &["m"],
        OperationKind::Prefill => &["batch", "seq_len"],
        OperationKind::Decode => &["batch", "kv_len"],
        OperationKind::AllReduce => &["bytes"],
        OperationKind::Moe => &["tokens"],
    }
}

/// Its shape for people: `dtype bf16, k 4096, n 6144`.
pub(crate) fn describe(kernel: &MeasuredKernel) -> String {
    match kernel {
        MeasuredKernel::Gemm { shape, .. } => {
            format!("dtype {}, k {}, n {}", shape.dtype, shape.k, shape.n)
        }
        MeasuredKernel::Prefill { shape, .. } | MeasuredKernel::Decode { shape, .. } => format!(
            "dtype {}, kv_dtype {}, q_heads {}, kv_heads {}, head_dim {}, tp {}",
            shape.dtype, shape.kv_dtype, shape.q_heads, shape.kv_heads, shape.head_dim, shape.tp
        ),
        MeasuredKernel::AllReduce { shape, .. } => format!("ranks {}", shape.ranks),
        MeasuredKernel::Moe { shape, .. } => format!(
            "dtype {}, experts {}, top_k {}, hidden {}, intermediate {}, tp {}",
            shape.dtype, shape.experts, shape.top_k, shape.hidden, shape.intermediate, shape.tp
        ),
    }
}

/// Appends its row of a table set, `tp` of a prefill row only where the file has that column.
pub(crate) fn write_row(
    text: &mut String,
    kernel: &MeasuredKernel,
    latency_us: &dyn std::fmt::Display,
    prefill_tp: bool,
) {
    // Writing to a String does not fail.
    let _ = match kernel {
        MeasuredKernel::Gemm { shape, m } => {
            write!(text, "{},{},{},{m}", shape.dtype, shape.k, shape.n)
        }
        MeasuredKernel::Prefill {
            shape,
            batch,
            seq_len,
        } => {
            write_heads(text, shape, prefill_tp);
            write!(text, "{batch},{seq_len}")
        }
        MeasuredKernel::Decode {
            shape,
            batch,
            kv_len,
        } => {
            write_heads(text, shape, true);
            write!(text, "{batch},{kv_len}")
        }
        MeasuredKernel::AllReduce { shape, bytes } => write!(text, "{},{bytes}", shape.ranks),
        MeasuredKernel::Moe { shape, tokens } => write!(
            text,
            "{},{},{},{},{},{},{tokens}",
            shape.dtype, shape.experts, shape.top_k, shape.hidden, shape.intermediate, shape.tp
        ),
    };
    let _ = writeln!(text, ",{latency_us}");
}

fn write_heads(text: &mut String, shape: &AttentionShape, tp: bool) {
    let AttentionShape {
        dtype,
        kv_dtype,
        q_heads,
        kv_heads,
        head_dim,
        ..
    } = shape;
    let _ = write!(text, "{dtype},{kv_dtype},{q_heads},{kv_heads},{head_dim},");
    if tp {
        let _ = write!(text, "{},", shape.tp);
    }
}

/// Why a table set cannot hold a kernel of this shape.
pub(crate) fn contradiction(kernel: &MeasuredKernel) -> Option<String> {
    match kernel {
        MeasuredKernel::Prefill { shape, .. } | MeasuredKernel::Decode { shape, .. } => {
            let AttentionShape {
                q_heads,
                kv_heads,
                tp,
                ..
            } = *shape;
            if !q_heads.is_multiple_of(kv_heads) {
                return Some(format!("{q_heads} query heads on {kv_heads} KV heads"));
            }
            let shared = kv_heads.is_multiple_of(tp) || tp.is_multiple_of(kv_heads);
            (!q_heads.is_multiple_of(tp) || !shared)
                .then(|| format!("{q_heads} query and {kv_heads} KV heads on {tp} ranks"))
        }
        MeasuredKernel::Moe { shape, .. } if shape.top_k > shape.experts => Some(format!(
            "{} of {} experts for a token",
            shape.top_k, shape.experts
        )),
        MeasuredKernel::Moe { shape, .. } if !shape.intermediate.is_multiple_of(shape.tp) => Some(
            format!("a width of {} on {} ranks", shape.intermediate, shape.tp),
        ),
        _ => None,
    }
}
