//! The tables that InferSim uses for a model, chosen once.

use super::CompatSpec;
use crate::lookup::infersim::{decode_grid, gemm_curve, prefill_curve};
use crate::lookup::{MfuCurve, MfuGrid};
use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::model::Gqa;
use rooflut::table::TableSet;
use rooflut_error::Error;

/// Tables for the shapes of one rank; `None` if a default MFU is used.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    /// Prefill attention.
    pub(super) prefill: Option<MfuCurve>,
    /// Decode attention.
    pub(super) decode: Option<MfuGrid>,
    /// Query, key and value projection.
    pub(super) qkv: Gemm,
    /// Output projection.
    pub(super) output: Gemm,
    /// Gate and up projection.
    pub(super) gate_up: Gemm,
}

/// A GEMM and the table chosen for it.
#[derive(Debug, Clone)]
pub(super) struct Gemm {
    pub(super) k: u32,
    pub(super) n: u32,
    pub(super) curve: Option<MfuCurve>,
}

impl Tables {
    /// Chooses the tables. All divisions are integer divisions.
    pub(super) fn try_new(spec: &CompatSpec, heads: Gqa, set: &TableSet, tp: u32, world: u32) -> Result<Tables, Error> {
        let shape = AttentionShape {
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Bf16,
            q_heads: heads.q_heads,
            kv_heads: heads.kv_heads,
            head_dim: heads.head_dim,
            tp,
        };
        let gemm = |k, n| {
            let curve = gemm_curve(set, k, n)?;
            Ok(Gemm { k, n, curve })
        };
        let hidden = spec.model.hidden;
        let qkv_width = (heads.q_heads + 2 * heads.kv_heads) / tp * heads.head_dim;
        let (intermediate, _) = spec.known_experts();
        Ok(Tables {
            prefill: prefill_curve(set, &shape)?,
            decode: decode_grid(set, &shape)?,
            qkv: gemm(hidden, qkv_width)?,
            output: gemm(heads.q_heads / tp * heads.head_dim, hidden)?,
            gate_up: gemm(hidden, 2 * intermediate / world)?,
        })
    }
}
