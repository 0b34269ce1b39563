//! EAGLE-3 heads.

use super::checks::{MAX_COUNT, MAX_WIDTH, within};
use super::{Attention, Gqa, LayerGroup, Layers, Mla};
use crate::error::Invalid;

/// Dimensions of an EAGLE-3 head beside those of its layer, which drafts tokens for another model, the target.
///
/// `fc` projects hidden states of the target to the hidden size of the head, once for each token of a step of the target.
/// Queries, keys and values are projections of hidden state and embedding, twice as wide as the hidden state. The lm_head
/// has the drafted part of the vocabulary (`vllm/model_executor/models/llama_eagle3.py`, `deepseek_eagle3.py`).
///
/// Assumes: `fc` is 16-bit and whole on each rank; a head as wide as its target shares the target's embedding, and any
/// other has its own.
///
/// Does not model: heads of several layers, and heads without `fc`.
///
/// ```
/// use rooflut::model::ModelSpec;
/// // For Llama-3.1-8B, with 32,000 of its 128,256 tokens.
/// let head = ModelSpec::builder()
///     .hidden(4096).layers(1).q_heads(32).kv_heads(8).head_dim(128).intermediate(14_336)
///     .target_hidden(4096).aux_states(3).draft_vocab(32_000)
///     .vocab(128_256).max_model_len(131_072)
///     .build()?;
/// assert_eq!(head.weight_params() / 1_000_000, 424);
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Eagle3 {
    /// Hidden size of the target (`target_hidden_size`).
    pub target_hidden: u32,
    /// Hidden states of the target that `fc` reads for each token, of as many layers
    /// (`eagle_aux_hidden_state_layer_ids`).
    pub aux_states: u32,
    /// Tokens of the vocabulary that the head can draft (`draft_vocab_size`).
    pub draft_vocab: u32,
}

impl Eagle3 {
    /// Returns the number of values of a token that `fc` reads.
    pub(crate) const fn fc_inputs(&self) -> u32 {
        self.target_hidden.saturating_mul(self.aux_states)
    }

    pub(super) fn check(&self, layers: &Layers, vocab: u32) -> Result<(), Invalid> {
        within("target_hidden", self.target_hidden, MAX_WIDTH)?;
        within("aux_states", self.aux_states, MAX_COUNT)?;
        within("draft_vocab", self.draft_vocab, vocab)?;
        match layers.all() {
            [LayerGroup { layers: 1, attention: Attention::Gqa(Gqa { output_gate: false, .. }), .. }]
            | [LayerGroup { layers: 1, attention: Attention::Mla(Mla { indexer: None, .. }), .. }] => Ok(()),
            _ => {
                let text = "expected a single one of plain or latent attention in an EAGLE-3 head, found {}";
                Err(Invalid::new("layers", text, &[layers.total().into()]))
            }
        }
    }
}
