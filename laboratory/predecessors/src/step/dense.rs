//! The model and the step in the form that BLIS and the calibrated roofline use: one dense FFN, a head dimension of
//! hidden / heads, lists of requests.
//!
//! Source: BLIS and the calibrated model before it.

use super::spec::impossible_ranks;
use super::{CompatPart, CompatSpec};
use rooflut::step::StepBatch;
use rooflut_error::Error;

/// Bytes of a weight and of a KV entry, b.
pub(super) const BYTES_PER_PARAM: f64 = 2.0;
/// Shares of the KV reads and of the activations that reach the memory: prefill, decode.
const PREFILL_SHARES: (f64, f64) = (0.92, 0.85);
const DECODE_SHARES: (f64, f64) = (0.80, 0.75);

/// One of the two phases of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Prefill,
    Decode,
}

/// Identical requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requests {
    /// Number of requests.
    pub(super) count: f64,
    /// New tokens of each.
    pub(super) new: f64,
    /// Tokens of each in the KV cache. For decode this is the whole KV length, as in the originals.
    pub(super) context: f64,
}

impl Phase {
    /// Returns the requests of this phase.
    pub(super) fn requests<'a>(self, batch: &'a StepBatch<'_>) -> impl Iterator<Item = Requests> + 'a {
        let (prefill, decode) = match self {
            Phase::Prefill => (batch.prefill, &[][..]),
            Phase::Decode => (&[][..], batch.decode),
        };
        let chunks = prefill.iter().map(|chunk| Requests {
            count: 1.0,
            new: f64::from(chunk.new_tokens()),
            context: f64::from(chunk.context()),
        });
        let groups = decode.iter().map(|group| Requests {
            count: f64::from(group.requests()),
            new: 1.0,
            context: group.kv_tokens() as f64 / f64::from(group.requests()),
        });
        chunks.chain(groups)
    }

    /// Returns the compute and the memory part of this phase.
    pub(super) fn parts(self) -> (CompatPart, CompatPart) {
        match self {
            Phase::Prefill => (CompatPart::PrefillCompute, CompatPart::PrefillMemory),
            Phase::Decode => (CompatPart::DecodeCompute, CompatPart::DecodeMemory),
        }
    }

    /// Returns the number of requests of this phase.
    pub(super) fn count(self, batch: &StepBatch<'_>) -> f64 {
        self.requests(batch).map(|requests| requests.count).sum()
    }

    /// Returns the number of new tokens of this phase.
    pub(super) fn tokens(self, batch: &StepBatch<'_>) -> f64 {
        self.requests(batch).map(|requests| requests.count * requests.new).sum()
    }
}

/// Dimensions of a model, with one FFN in place of all experts.
#[derive(Debug, Clone, Copy)]
pub(super) struct DenseModel {
    pub(super) layers: f64,
    pub(super) hidden: u32,
    pub(super) q_heads: u32,
    pub(super) kv_heads: u32,
    /// hidden / q_heads, an integer division as in the originals.
    pub(super) head_dim: u32,
    pub(super) intermediate: u32,
}

impl DenseModel {
    /// Returns the dense form of `model`. Both models divide times by tp, so only a tp of 0 is rejected.
    pub(super) fn try_new(spec: CompatSpec, tp: u32) -> Result<DenseModel, Error> {
        let (model, heads) = (&spec.model, spec.heads()?);
        if tp == 0 {
            return Err(impossible_ranks(tp, tp, u32::MAX));
        }
        Ok(DenseModel {
            layers: f64::from(model.layers.total()),
            hidden: model.hidden,
            q_heads: heads.q_heads,
            kv_heads: heads.kv_heads,
            head_dim: model.hidden / heads.q_heads,
            intermediate: spec.intermediate_size(),
        })
    }

    /// Returns H as a float.
    pub(super) fn h(&self) -> f64 {
        f64::from(self.hidden)
    }

    /// Returns the width of the keys, v d.
    pub(super) fn kv_width(&self) -> f64 {
        f64::from(self.kv_heads) * f64::from(self.head_dim)
    }

    /// Returns the width of the queries, a d (less than H if the division has a remainder).
    pub(super) fn q_width(&self) -> f64 {
        f64::from(self.q_heads) * f64::from(self.head_dim)
    }

    /// Returns the weights of one layer: H (H + 2 v d) + H^2 + 3 H I.
    pub(super) fn layer_params(&self) -> f64 {
        let h = self.h();
        h * (h + 2.0 * self.kv_width()) + h * h + 3.0 * h * f64::from(self.intermediate)
    }

    /// Returns the bytes of one phase in one layer, before any division by tp: weights once, KV written, KV of the
    /// context read, activations. A prefill chunk of one token has the decode shares.
    pub(super) fn phase_bytes(&self, phase: Phase, batch: &StepBatch<'_>) -> f64 {
        let kv_token = 2.0 * self.kv_width() * BYTES_PER_PARAM;
        let weights = self.layer_params() * BYTES_PER_PARAM;
        phase.requests(batch).fold(weights, |sum, requests| {
            let one_token = requests.new <= 1.0;
            let (kv_share, activation_share) = match phase {
                Phase::Prefill if !one_token => PREFILL_SHARES,
                _ => DECODE_SHARES,
            };
            let written = kv_token * requests.new;
            let read = kv_token * requests.context * kv_share;
            let activations = self.h() * BYTES_PER_PARAM * requests.new * activation_share;
            sum + requests.count * (written + read + activations)
        })
    }
}
