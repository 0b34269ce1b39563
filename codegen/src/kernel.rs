//! A measured kernel, whatever its operation.

use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape, Reference, Work,
};

use crate::measured::OperationKind;
use crate::operation::{AllReduce, Decode, Gemm, Moe, Operation, Prefill};

/// A kernel and the point at which it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeasuredKernel {
    /// Dense matrix multiplication.
    Gemm {
        /// The weights.
        shape: GemmShape,
        /// Rows (tokens).
        m: u32,
    },
    /// Causal attention over whole prompts of one length.
    Prefill {
        /// Formats and heads.
        shape: AttentionShape,
        /// Prompts.
        batch: u32,
        /// Tokens of each.
        seq_len: u32,
    },
    /// Attention of one new token per request over its KV cache.
    Decode {
        /// Formats and heads.
        shape: AttentionShape,
        /// Requests.
        batch: u32,
        /// KV length of each, its new token included.
        kv_len: u32,
    },
    /// All-reduce over the GPUs of a node.
    AllReduce {
        /// The GPUs.
        shape: AllReduceShape,
        /// The whole message.
        bytes: u32,
    },
    /// Fused mixture-of-experts layer.
    Moe {
        /// The experts.
        shape: MoeShape,
        /// Tokens.
        tokens: u32,
    },
}

/// Calls a function of the [`Operation`] of a kernel with its shape and point.
macro_rules! of_operation {
    ($kernel:expr, $function:ident $(, $more:expr)*) => {
        match *$kernel {
            MeasuredKernel::Gemm { ref shape, m } => Gemm::$function(shape, [m, 1] $(, $more)*),
            MeasuredKernel::Prefill { ref shape, batch, seq_len } => {
                Prefill::$function(shape, [batch, seq_len] $(, $more)*)
            }
            MeasuredKernel::Decode { ref shape, batch, kv_len } => {
                Decode::$function(shape, [batch, kv_len] $(, $more)*)
            }
            MeasuredKernel::AllReduce { ref shape, bytes } => {
                AllReduce::$function(shape, [bytes, 1] $(, $more)*)
            }
            MeasuredKernel::Moe { ref shape, tokens } => {
                Moe::$function(shape, [tokens, 1] $(, $more)*)
            }
        }
    };
}

impl MeasuredKernel {
    /// Its operation.
    pub fn operation(&self) -> OperationKind {
        match self {
            MeasuredKernel::Gemm { .. } => OperationKind::Gemm,
            MeasuredKernel::Prefill { .. } => OperationKind::Prefill,
            MeasuredKernel::Decode { .. } => OperationKind::Decode,
            MeasuredKernel::AllReduce { .. } => OperationKind::AllReduce,
            MeasuredKernel::Moe { .. } => OperationKind::Moe,
        }
    }

    /// The format that the peak belongs to.
    pub fn dtype(&self) -> Dtype {
        match self {
            MeasuredKernel::Gemm { shape, .. } => Gemm::dtype(shape),
            MeasuredKernel::Prefill { shape, .. } => Prefill::dtype(shape),
            MeasuredKernel::Decode { shape, .. } => Decode::dtype(shape),
            MeasuredKernel::AllReduce { shape, .. } => AllReduce::dtype(shape),
            MeasuredKernel::Moe { shape, .. } => Moe::dtype(shape),
        }
    }

    /// Its coordinates, in the order of [`OperationKind::axes`]; a curve's second is 1.
    pub fn point(&self) -> [u32; 2] {
        match *self {
            MeasuredKernel::Gemm { m, .. } => [m, 1],
            MeasuredKernel::Prefill { batch, seq_len, .. } => [batch, seq_len],
            MeasuredKernel::Decode { batch, kv_len, .. } => [batch, kv_len],
            MeasuredKernel::AllReduce { bytes, .. } => [bytes, 1],
            MeasuredKernel::Moe { tokens, .. } => [tokens, 1],
        }
    }

    /// The work that it cannot do without.
    pub fn work(&self) -> Work {
        of_operation!(self, work)
    }

    /// The time that its latency is stored against, seconds.
    pub fn reference_s(&self, reference: &Reference) -> f64 {
        of_operation!(self, reference_s, reference)
    }
}
