//! Hyper-connections: several residual streams that each part of a layer reads and writes.

use super::{Codes, Column, ColumnKind, Operation, debug};
use crate::{Dtype, Reference, Work};

/// A side of a hyper-connection: side, hidden size and streams over tokens.
pub const HYPER_CONNECTION: Operation = Operation {
    name: "hyper_connection",
    file: "hyper_connection.csv",
    description: "mixing of residual streams before or after a part of a layer",
    shape: &SHAPE,
    axes: &["tokens"],
    optional: &[],
    check: |_| Ok(()),
    dtype: |_| Dtype::Bf16,
    work: |codes, [tokens, _]| StreamsShape::from(*codes).work(f64::from(tokens)),
    reference_s: |codes, [tokens, _], reference| StreamsShape::from(*codes).reference_s(f64::from(tokens), reference),
    debug: debug::<StreamsShape>,
};

const SHAPE: [Column; 3] = [
    Column::new(
        "side",
        ColumnKind::Name(&[Side::Before.name(), Side::After.name()]),
        "Before a part of a layer, whose input is made from the streams, or after it",
    ),
    Column::count("hidden", "Hidden size"),
    Column::count("streams", "Residual streams").usually(4),
];

/// Bytes of a value of a stream: 16 bits.
const STREAM_BYTES: f64 = 2.0;

/// Bytes of a weight that mixes streams: 32 bits.
const MIX_BYTES: f64 = 4.0;

/// A side of the attention or of the FFN of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The streams are mixed to the input of the part, with weights that depend on them.
    Before,
    /// The output of the part is added to each stream, and the streams to each other.
    After,
}

crate::names!(Side {
    Before => "before",
    After => "after",
});

/// The static part of a side of a hyper-connection (mHC), as in DeepSeek-V4: two of each side in a layer, not divided
/// among ranks.
///
/// Source: vLLM 0.33, `vllm/model_executor/kernels/mhc/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct StreamsShape {
    /// The side.
    pub side: Side,
    /// Hidden size.
    pub hidden: u32,
    /// Residual streams.
    pub streams: u32,
}

impl StreamsShape {
    /// Returns FLOPs and bytes of so many tokens. Before a part, the streams of a token are multiplied with `streams x
    /// hidden` by `streams (streams + 2)` weights and added up; all are read and one hidden state is written. After it,
    /// that hidden state and the streams are read, mixed and written.
    ///
    /// ```
    /// use rooflut_roofline::{Side, StreamsShape};
    /// let before = StreamsShape { side: Side::Before, hidden: 4096, streams: 4 };
    /// assert_eq!(before.work(10.0).flops, 10.0 * 2.0 * 4.0 * 4096.0 * (24.0 + 1.0));
    /// let after = StreamsShape { side: Side::After, ..before };
    /// assert_eq!(after.work(10.0).bytes, 10.0 * 4096.0 * (4.0 + 1.0 + 4.0) * 2.0);
    /// ```
    #[inline]
    pub fn work(&self, tokens: f64) -> Work {
        let [hidden, streams] = [self.hidden, self.streams].map(f64::from);
        let (products, copies, weights) = match self.side {
            Side::Before => {
                let mixed = streams * (streams + 2.0);
                (streams * (mixed + 1.0), streams + 1.0, streams * mixed)
            }
            Side::After => (streams * (streams + 1.0), 2.0 * streams + 1.0, 0.0),
        };
        Work {
            flops: 2.0 * tokens * hidden * products,
            bytes: hidden * (tokens * copies * STREAM_BYTES + weights * MIX_BYTES),
            link_bytes: 0.0,
        }
    }

    /// Returns the reference time, seconds: launch time and traffic.
    #[inline]
    pub fn reference_s(&self, tokens: f64, reference: &Reference) -> f64 {
        reference.t0_s + self.work(tokens).bytes * reference.rates.s_per_byte
    }
}

impl From<Codes> for StreamsShape {
    #[inline]
    fn from([side, hidden, streams, ..]: Codes) -> StreamsShape {
        StreamsShape { side: if side == 0 { Side::Before } else { Side::After }, hidden, streams }
    }
}

impl From<StreamsShape> for Codes {
    #[inline]
    fn from(shape: StreamsShape) -> Codes {
        let mut codes = Codes::default();
        let own = [shape.side as u32, shape.hidden, shape.streams];
        codes.iter_mut().zip(own).for_each(|(code, own)| *code = own);
        codes
    }
}
