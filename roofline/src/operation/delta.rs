//! Kernels of a gated delta net: its convolution and its recurrence, prefill and decode.

use super::{Codes, Column, ColumnKind, Operation, debug};
use crate::math::larger;
use crate::{Dtype, Reference, Work};

/// A kernel of a gated delta net over whole prompts: kernel and heads of one rank over (batch, seq_len).
pub const DELTA_PREFILL: Operation = Operation {
    name: "delta_prefill",
    file: "delta_prefill.csv",
    description: "gated delta net over whole prompts",
    shape: &SHAPE,
    axes: &["batch", "seq_len"],
    optional: &[],
    check: |_| Ok(()),
    dtype: |_| Dtype::Bf16,
    work: |codes, [batch, seq_len]| DeltaShape::from(*codes).prefill_work(f64::from(batch), f64::from(seq_len)),
    reference_s: |codes, [batch, seq_len], reference| {
        let (batch, seq_len) = (f64::from(batch), f64::from(seq_len));
        DeltaShape::from(*codes).prefill_reference_s(batch, seq_len, reference)
    },
    debug: debug::<DeltaShape>,
};

/// A kernel of a gated delta net for one new token per request: kernel and heads of one rank over batch.
pub const DELTA_DECODE: Operation = Operation {
    name: "delta_decode",
    file: "delta_decode.csv",
    description: "gated delta net for one new token per request",
    shape: &SHAPE,
    axes: &["batch"],
    optional: &[],
    check: |_| Ok(()),
    dtype: |_| Dtype::Bf16,
    work: |codes, [batch, _]| DeltaShape::from(*codes).decode_work(f64::from(batch)),
    reference_s: |codes, [batch, _], reference| {
        DeltaShape::from(*codes).decode_reference_s(f64::from(batch), reference)
    },
    debug: debug::<DeltaShape>,
};

const SHAPE: [Column; 4] = [
    Column::new(
        "kernel",
        ColumnKind::Name(&[DeltaKernel::Conv.name(), DeltaKernel::Rule.name()]),
        "The convolution (conv) or the gated delta rule (rule)",
    ),
    Column::count("k_heads", "Heads of queries and of keys, of one rank"),
    Column::count("v_heads", "Heads of values, of one rank"),
    Column::count("head_dim", "Dimension of a head").usually(128),
];

/// Tokens that the kernels of prefill process at once; the state is carried from one chunk to the next.
const CHUNK: f64 = 64.0;

/// Inputs before a token that the convolution reads (its width is 4).
const CONVOLVED: f64 = 3.0;

/// Launch time of the convolution relative to that of the recurrence, of prefill and of decode.
const CONV_LAUNCH: [f64; 2] = [0.2, 0.4];

/// A kernel of a gated delta net.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeltaKernel {
    /// The short convolution over queries, keys and values.
    Conv,
    /// The gated delta rule. It updates a state of `head_dim` x `head_dim` 32-bit numbers per value head.
    Rule,
}

crate::names!(DeltaKernel {
    Conv => "conv",
    Rule => "rule",
});

/// The static part of a kernel of a gated delta net: heads of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct DeltaShape {
    /// The kernel.
    pub kernel: DeltaKernel,
    /// Heads of queries, and of keys, of one rank.
    pub k_heads: u32,
    /// Heads of values of one rank.
    pub v_heads: u32,
    /// Dimension of a head.
    pub head_dim: u32,
}

impl DeltaShape {
    /// Returns FLOPs and bytes of `batch` whole prompts of `seq_len` tokens: queries, keys and values are read, the
    /// outputs and the final states are written. The delta rule multiplies each token's keys and queries with the state
    /// (4 `head_dim`² FLOPs per value head).
    ///
    /// ```
    /// use rooflut_roofline::{DeltaKernel, DeltaShape};
    /// let shape = DeltaShape { kernel: DeltaKernel::Rule, k_heads: 16, v_heads: 64, head_dim: 128 };
    /// assert_eq!(shape.prefill_work(2.0, 100.0).flops, 4.0 * 200.0 * 64.0 * 128.0 * 128.0);
    /// ```
    #[inline]
    pub fn prefill_work(&self, batch: f64, seq_len: f64) -> Work {
        self.work(batch, batch * seq_len, 1.0)
    }

    /// Returns FLOPs and bytes of one new token for each of `batch` requests. The state of each request is read and
    /// written.
    ///
    /// ```
    /// use rooflut_roofline::{DeltaKernel, DeltaShape};
    /// let shape = DeltaShape { kernel: DeltaKernel::Rule, k_heads: 16, v_heads: 64, head_dim: 128 };
    /// let state = 64.0 * 128.0 * 128.0 * 4.0;
    /// assert!(shape.decode_work(8.0).bytes > 8.0 * 2.0 * state);
    /// ```
    #[inline]
    pub fn decode_work(&self, batch: f64) -> Work {
        self.work(batch, batch, 2.0)
    }

    /// Returns the bytes of the state that one request keeps for this kernel: the inputs of the convolution before its
    /// next token, 16-bit, or the recurrent state, 32-bit.
    #[inline]
    pub fn state_bytes(&self) -> f64 {
        let head_dim = f64::from(self.head_dim);
        match self.kernel {
            DeltaKernel::Conv => CONVOLVED * self.width() * 2.0,
            DeltaKernel::Rule => f64::from(self.v_heads) * head_dim * head_dim * 4.0,
        }
    }

    /// Returns the reference time of whole prompts, seconds. The convolution takes its launch and its traffic. The
    /// delta rule runs one thread block per value head and streaming multiprocessor, and each of these waves takes a
    /// launch and a time per chunk of 64 tokens, one after another.
    ///
    /// Source: the rows of h100, h200 and b200; see `bench_data/README.md`.
    #[inline]
    pub fn prefill_reference_s(&self, batch: f64, seq_len: f64, reference: &Reference) -> f64 {
        let [launch, _] = CONV_LAUNCH;
        match self.kernel {
            DeltaKernel::Conv => {
                let bytes = self.prefill_work(batch, seq_len).bytes;
                launch * reference.t0_s + bytes * reference.rates.s_per_byte
            }
            DeltaKernel::Rule => {
                let blocks = larger(batch * f64::from(self.v_heads), 1.0);
                // No `ceil` in `core`: no table has as many blocks as 2^32.
                let waves = f64::from(((blocks - 0.5) / reference.sms) as u32) + 1.0;
                let chunks = larger(seq_len / CHUNK, 1.0);
                let wave_s = reference.block_s * reference.sms;
                waves * (reference.t0_s + wave_s * chunks)
            }
        }
    }

    /// Returns the reference time of one new token for each of `batch` requests, seconds: launch and traffic.
    #[inline]
    pub fn decode_reference_s(&self, batch: f64, reference: &Reference) -> f64 {
        let [_, launch] = CONV_LAUNCH;
        let bytes = self.decode_work(batch).bytes;
        let (launch, read) = match self.kernel {
            DeltaKernel::Conv => (launch, 1.0),
            DeltaKernel::Rule => (1.0, reference.read_share(batch * self.state_bytes())),
        };
        launch * reference.t0_s + bytes * read * reference.rates.s_per_byte
    }

    /// Returns the work of `tokens` tokens of `batch` requests, whose states move `copies` times.
    #[inline]
    fn work(&self, batch: f64, tokens: f64, copies: f64) -> Work {
        let head_dim = f64::from(self.head_dim);
        let values = f64::from(self.v_heads) * head_dim;
        let (flops, width) = match self.kernel {
            DeltaKernel::Conv => (0.0, 2.0 * self.width()),
            DeltaKernel::Rule => (4.0 * tokens * values * head_dim, self.width() + values),
        };
        Work { flops, bytes: 2.0 * tokens * width + copies * batch * self.state_bytes(), link_bytes: 0.0 }
    }

    /// Returns the values of queries, keys and values of a token.
    #[inline]
    fn width(&self) -> f64 {
        let heads = 2.0 * f64::from(self.k_heads) + f64::from(self.v_heads);
        heads * f64::from(self.head_dim)
    }
}

impl From<Codes> for DeltaShape {
    #[inline]
    fn from([kernel, k_heads, v_heads, head_dim, ..]: Codes) -> DeltaShape {
        let kernel = match kernel {
            0 => DeltaKernel::Conv,
            _ => DeltaKernel::Rule,
        };
        DeltaShape { kernel, k_heads, v_heads, head_dim }
    }
}

impl From<DeltaShape> for Codes {
    #[inline]
    fn from(shape: DeltaShape) -> Codes {
        let mut codes = Codes::default();
        let columns = [shape.kernel as u32, shape.k_heads, shape.v_heads, shape.head_dim];
        for (code, column) in codes.iter_mut().zip(columns) {
            *code = column;
        }
        codes
    }
}
