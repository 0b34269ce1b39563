//! A builder for the dimensions of a model.

use super::{
    Attention, Compressed, DeltaNet, Eagle3, Ffn, Gqa, LayerGroup, Layers, Mla, ModelSpec, Msa, Sampler, Span,
};
use crate::error::Invalid;
use crate::hardware::{Dtype, Indexer};

/// A builder for [`ModelSpec`].
///
/// A dimension that is not set is 0, and [`build`](Self::build) rejects it by name. Layers have experts if
/// [`experts`](Self::experts) is set, and are dense otherwise. All layers are alike unless
/// [`and_layers`](Self::and_layers) adds others.
///
/// ```
/// use rooflut::model::{ModelSpec, Sampler, find};
/// let qwen3_30b_a3b = ModelSpec::builder()
///     .hidden(2048).layers(48).q_heads(32).kv_heads(4).head_dim(128)
///     .experts(128).top_k(8).intermediate(768)
///     .vocab(151_936).max_model_len(40_960).sampler(Sampler::TopP)
///     .build()?;
/// assert_eq!(qwen3_30b_a3b, find("qwen3-30b-a3b").unwrap().spec);
/// let error = ModelSpec::builder().hidden(2048).build().unwrap_err();
/// assert_eq!(error.to_string(), "layers: expected a positive number, found 0");
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ModelSpecBuilder {
    hidden: u32,
    /// Layers before those that the setters describe.
    before: Option<Result<Layers, Invalid>>,
    layers: u32,
    mtp_layers: u32,
    q_heads: u32,
    kv_heads: u32,
    head_dim: u32,
    q_rank: u32,
    kv_rank: u32,
    nope_dim: u32,
    rope_dim: u32,
    v_dim: u32,
    index_heads: u32,
    index_dim: u32,
    index_top_k: u32,
    sparse_block: u32,
    top_blocks: u32,
    k_heads: u32,
    v_heads: u32,
    output_gate: bool,
    joint_qk_norm: bool,
    o_groups: u32,
    o_rank: u32,
    window: u32,
    ratio: u32,
    streams: u32,
    target_hidden: u32,
    aux_states: u32,
    draft_vocab: u32,
    span: Span,
    vocab: u32,
    intermediate: u32,
    gated: bool,
    experts: u32,
    top_k: u32,
    shared_intermediate: u32,
    weight_dtype: Dtype,
    expert_dtype: Option<Dtype>,
    shared_dtype: Option<Dtype>,
    tied_embeddings: bool,
    positions: u32,
    max_model_len: u32,
    sampler: Sampler,
}

impl ModelSpec {
    /// Returns a builder with no dimensions yet, 16-bit weights and untied embeddings.
    pub const fn builder() -> ModelSpecBuilder {
        ModelSpecBuilder::NEW
    }
}

impl ModelSpecBuilder {
    const NEW: ModelSpecBuilder = ModelSpecBuilder {
        hidden: 0,
        before: None,
        layers: 0,
        mtp_layers: 0,
        q_heads: 0,
        kv_heads: 0,
        head_dim: 0,
        q_rank: 0,
        kv_rank: 0,
        nope_dim: 0,
        rope_dim: 0,
        v_dim: 0,
        index_heads: 0,
        index_dim: 0,
        index_top_k: 0,
        sparse_block: 0,
        top_blocks: 0,
        k_heads: 0,
        v_heads: 0,
        output_gate: false,
        joint_qk_norm: false,
        o_groups: 0,
        o_rank: 0,
        window: 0,
        ratio: 0,
        streams: 0,
        target_hidden: 0,
        aux_states: 0,
        draft_vocab: 0,
        span: Span::Full,
        vocab: 0,
        intermediate: 0,
        gated: true,
        experts: 0,
        top_k: 0,
        shared_intermediate: 0,
        weight_dtype: Dtype::Bf16,
        expert_dtype: None,
        shared_dtype: None,
        tied_embeddings: false,
        positions: 0,
        max_model_len: 0,
        sampler: Sampler::Plain,
    };

    crate::setters! {
        /// Sets the hidden size.
        hidden(hidden: u32);
        /// Sets the number of layers.
        layers(layers: u32);
        /// Sets the number of layers that draft tokens (default: none).
        mtp_layers(mtp_layers: u32);
        /// Sets the number of query heads.
        q_heads(q_heads: u32);
        /// Sets the number of key and value heads.
        kv_heads(kv_heads: u32);
        /// Sets the dimension of a head, which is not always hidden / q_heads.
        head_dim(head_dim: u32);
        /// Sets the rank of the compressed query of latent attention (`q_lora_rank`; default: not compressed).
        q_rank(q_rank: u32);
        /// Sets the rank of the latent vector of keys and values (`kv_lora_rank`; default: no such attention). Then
        /// [`kv_heads`](Self::kv_heads), [`head_dim`](Self::head_dim) and [`span`](Self::span) have no effect.
        kv_rank(kv_rank: u32);
        /// Sets the dimension of a latent head without rotary embedding (`qk_nope_head_dim`).
        nope_dim(nope_dim: u32);
        /// Sets the dimension of a latent head with rotary embedding (`qk_rope_head_dim`).
        rope_dim(rope_dim: u32);
        /// Sets the dimension of a latent head's values (`v_head_dim`).
        v_dim(v_dim: u32);
        /// Sets the number of heads of the indexer of sparse latent attention (`index_n_heads`; default: no indexer, or
        /// beside [`index_top_k`](Self::index_top_k) the keys that an earlier layer selected).
        index_heads(index_heads: u32);
        /// Sets the dimension of a head of the indexer (`index_head_dim`).
        index_dim(index_dim: u32);
        /// Sets the maximum number of keys that the indexer selects for a query (`index_topk`).
        index_top_k(index_top_k: u32);
        /// Sets the tokens of a block of keys of block-sparse attention (`sparse_block_size`).
        sparse_block(sparse_block: u32);
        /// Sets the maximum number of blocks that the indexer of block-sparse attention selects for a query
        /// (`sparse_topk_blocks`; default: 0, no such layers). Its heads are as many as [`kv_heads`](Self::kv_heads) and
        /// have [`index_dim`](Self::index_dim); [`span`](Self::span) and [`output_gate`](Self::output_gate) have no effect.
        top_blocks(top_blocks: u32);
        /// Sets the tokens that a token attends to (default: all up to its own).
        span(span: Span);
        /// Sets the number of heads of queries, and of keys, of a gated delta net.
        k_heads(k_heads: u32);
        /// Sets the number of heads of values of a gated delta net (default: 0, no such layers). Then
        /// [`q_heads`](Self::q_heads), [`kv_heads`](Self::kv_heads), [`span`](Self::span) and
        /// [`output_gate`](Self::output_gate) have no effect.
        v_heads(v_heads: u32);
        /// Sets whether a gate as wide as the queries multiplies the output of attention (default: none does).
        output_gate(output_gate: bool);
        /// Sets whether queries and keys have norms over all their heads (default: over each head, or none).
        joint_qk_norm(joint_qk_norm: bool);
        /// Sets the number of groups of the output projection of attention over compressed keys (`o_groups`; default: 0,
        /// no such layers). Then [`kv_heads`](Self::kv_heads), [`span`](Self::span) and
        /// [`output_gate`](Self::output_gate) have no effect.
        o_groups(o_groups: u32);
        /// Sets the rank of the output of such a group (`o_lora_rank`).
        o_rank(o_rank: u32);
        /// Sets the tokens that such layers attend to beside compressed keys (`sliding_window`).
        window(window: u32);
        /// Sets the tokens of a compressed key (`compress_ratios`; default: 0, the window alone).
        ratio(ratio: u32);
        /// Sets the number of residual streams of hyper-connections (`hc_mult`; default: 0, none).
        streams(streams: u32);
        /// Sets the hidden size of the model that an EAGLE-3 head drafts for (default: 0, no such head).
        target_hidden(target_hidden: u32);
        /// Sets the number of hidden states of the target that an EAGLE-3 head reads.
        aux_states(aux_states: u32);
        /// Sets the number of tokens that an EAGLE-3 head can draft.
        draft_vocab(draft_vocab: u32);
        /// Sets the vocabulary size, as padded in the weights.
        vocab(vocab: u32);
        /// Sets the intermediate size of the FFN, or of one expert.
        intermediate(intermediate: u32);
        /// Sets whether a dense FFN has a gate projection (default: it has). Experts always have one.
        gated(gated: bool);
        /// Sets the number of experts.
        experts(experts: u32);
        /// Sets the number of experts per token.
        top_k(top_k: u32);
        /// Sets the intermediate size of the expert that every token visits (default: no such expert).
        shared_intermediate(shared_intermediate: u32);
        /// Sets the format of all layers' weights (default: bf16). Embedding, router and lm_head are
        /// 16-bit.
        weight_dtype(weight_dtype: Dtype);
        /// Sets whether embedding and lm_head are the same weights (default: they are not).
        tied_embeddings(tied_embeddings: bool);
        /// Sets the number of learned position embeddings (default: none).
        positions(positions: u32);
        /// Sets the longest sequence, prompt and output together.
        max_model_len(max_model_len: u32);
        /// Sets the sampling of the tokens (default: plain).
        sampler(sampler: Sampler);
    }

    /// Sets the format of the shared expert's weights (default: the format of the other experts).
    #[must_use]
    pub const fn shared_dtype(mut self, shared_dtype: Dtype) -> ModelSpecBuilder {
        self.shared_dtype = Some(shared_dtype);
        self
    }

    /// Sets the format of the experts' weights (default: the format of the other weights).
    #[must_use]
    pub const fn expert_dtype(mut self, expert_dtype: Dtype) -> ModelSpecBuilder {
        self.expert_dtype = Some(expert_dtype);
        self
    }

    /// Adds that many layers to those set so far. The new layers equal the last ones, except for settings after this
    /// call.
    ///
    /// ```
    /// use rooflut::model::ModelSpec;
    /// // GLM-4.5-Air: a dense layer and 45 with experts.
    /// let model = ModelSpec::builder()
    ///     .hidden(4096).layers(1).q_heads(96).kv_heads(8).head_dim(128).intermediate(10_944)
    ///     .and_layers(45).experts(128).top_k(8).intermediate(1408).shared_intermediate(1408)
    ///     .vocab(151_552).max_model_len(131_072)
    ///     .build()?;
    /// assert_eq!(model.weight_params() / 1_000_000_000, 106);
    /// # Ok::<(), rooflut::Invalid>(())
    /// ```
    #[must_use]
    pub const fn and_layers(mut self, layers: u32) -> ModelSpecBuilder {
        self.before = Some(self.groups());
        self.layers = layers;
        self
    }

    /// Returns the layers so far.
    const fn groups(&self) -> Result<Layers, Invalid> {
        let group = self.group();
        match self.before {
            None => Ok(Layers::alike(group)),
            Some(Ok(before)) => before.try_and(group),
            Some(error) => error,
        }
    }

    /// Returns the layers that the setters describe.
    const fn group(&self) -> LayerGroup {
        let dense =
            self.experts == 0 && self.top_k == 0 && self.shared_intermediate == 0 && self.expert_dtype.is_none();
        let (intermediate, gated) = (self.intermediate, self.gated);
        let expert_dtype = match self.expert_dtype {
            Some(dtype) => dtype,
            None => self.weight_dtype,
        };
        LayerGroup {
            layers: self.layers,
            attention: self.attention(),
            attention_dtype: self.weight_dtype,
            ffn: if dense {
                Ffn::Dense { intermediate, gated }
            } else {
                Ffn::Moe {
                    experts: self.experts,
                    top_k: self.top_k,
                    intermediate,
                    shared_intermediate: self.shared_intermediate,
                }
            },
            ffn_dtype: expert_dtype,
            shared_dtype: match self.shared_dtype {
                Some(dtype) => dtype,
                None => expert_dtype,
            },
        }
    }

    const fn attention(&self) -> Attention {
        let q_heads = self.q_heads;
        let indexer = match [self.index_heads, self.index_top_k] {
            [0, 0] => None,
            [heads, top_k] => Some(Indexer { heads, head_dim: self.index_dim, top_k }),
        };
        match self.kv_rank {
            0 if self.o_groups > 0 => Attention::Compressed(Compressed {
                q_heads,
                q_rank: self.q_rank,
                head_dim: self.head_dim,
                window: self.window,
                ratio: self.ratio,
                o_groups: self.o_groups,
                o_rank: self.o_rank,
                indexer,
            }),
            0 if self.v_heads > 0 => {
                Attention::DeltaNet(DeltaNet { k_heads: self.k_heads, v_heads: self.v_heads, head_dim: self.head_dim })
            }
            0 if self.top_blocks > 0 => Attention::Msa(Msa {
                q_heads,
                kv_heads: self.kv_heads,
                head_dim: self.head_dim,
                index_dim: self.index_dim,
                block: self.sparse_block,
                top_blocks: self.top_blocks,
            }),
            0 => Attention::Gqa(Gqa {
                q_heads,
                kv_heads: self.kv_heads,
                head_dim: self.head_dim,
                output_gate: self.output_gate,
                joint_qk_norm: self.joint_qk_norm,
                span: self.span,
            }),
            kv_rank => Attention::Mla(Mla {
                q_heads,
                q_rank: self.q_rank,
                kv_rank,
                nope_dim: self.nope_dim,
                rope_dim: self.rope_dim,
                v_dim: self.v_dim,
                indexer,
            }),
        }
    }

    /// Returns the model.
    ///
    /// # Errors
    /// As [`ModelSpec::check`]; `experts` is zero although another parameter of the experts is set; more groups of
    /// layers than [`Layers::MAX_GROUPS`].
    pub fn build(self) -> Result<ModelSpec, Invalid> {
        let Self { target_hidden, aux_states, draft_vocab, .. } = self;
        let is_head = [target_hidden, aux_states, draft_vocab] != [0; 3];
        let spec = ModelSpec {
            hidden: self.hidden,
            layers: self.groups()?,
            mtp_layers: self.mtp_layers,
            streams: self.streams,
            eagle3: is_head.then_some(Eagle3 { target_hidden, aux_states, draft_vocab }),
            vocab: self.vocab,
            tied_embeddings: self.tied_embeddings,
            positions: self.positions,
            max_model_len: self.max_model_len,
            sampler: self.sampler,
        };
        spec.check()?;
        Ok(spec)
    }
}
