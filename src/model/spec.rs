//! Checked dimensions of a transformer.

use super::checks::{MAX_COUNT, MAX_WIDTH, divides, product, within};
use super::{Attention, Eagle3, Ffn, LayerGroup, Layers, Mla, Parallelism, Sampler, Span};
use crate::error::Invalid;
use crate::hardware::{Dtype, Indexer};

/// Dimensions of a decoder-only transformer.
///
/// [`ModelSpec::builder`] makes one and checks it. Fields are public and may be changed afterwards;
/// every constructor that takes a `ModelSpec` calls [`ModelSpec::check`] again.
///
/// ```
/// use rooflut::model::ModelSpec;
/// let llama_3_1_8b = ModelSpec::builder()
///     .hidden(4096).layers(32).q_heads(32).kv_heads(8).head_dim(128).intermediate(14_336)
///     .vocab(128_256).max_model_len(131_072)
///     .build()?;
/// assert_eq!(llama_3_1_8b.weight_params() / 1_000_000, 8_030);
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ModelSpec {
    /// Hidden size.
    pub hidden: u32,
    /// The layers.
    pub layers: Layers,
    /// Layers that draft tokens, for multi-token prediction (MTP); not among [`layers`](ModelSpec::layers), and not among
    /// [`weight_params`](ModelSpec::weight_params). They are like the last group of layers. 0 if there are none.
    pub mtp_layers: u32,
    /// Residual streams that each attention and FFN reads and writes (hyper-connections, `hc_mult`); 0 if they share one
    /// residual.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_zero"))]
    pub streams: u32,
    /// Further dimensions of an EAGLE-3 head; `None` for other models.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub eagle3: Option<Eagle3>,
    /// Vocabulary size, as padded in the weights.
    pub vocab: u32,
    /// Whether embedding and lm_head are the same weights.
    pub tied_embeddings: bool,
    /// Learned position embeddings; 0 where positions have no weights, as with rotary embeddings.
    pub positions: u32,
    /// Longest sequence, prompt and output together.
    pub max_model_len: u32,
    /// Sampling of the tokens, unless requests set another.
    pub sampler: Sampler,
}

/// Maximum vocabulary size.
const MAX_VOCAB: u32 = 1 << 24;

/// Returns whether a field is 0, its value in files that are older than the field.
#[cfg(feature = "serde")]
#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ModelSpec {
    /// Checks that the dimensions are consistent.
    ///
    /// # Errors
    /// A zero, a number larger than in any model, query heads that are not a multiple of KV heads, more experts per
    /// token than experts, windows or chunks of different lengths.
    pub fn check(&self) -> Result<(), Invalid> {
        within("hidden", self.hidden, MAX_WIDTH)?;
        for group in self.layers.iter() {
            within("layers", group.layers, MAX_COUNT)?;
            group.attention.check()?;
        }
        within("layers", self.layers.total(), MAX_COUNT)?;
        within("mtp_layers", self.mtp_layers.max(1), MAX_COUNT)?;
        within("streams", self.streams.max(1), MAX_COUNT)?;
        within("vocab", self.vocab, MAX_VOCAB)?;
        within("positions", self.positions.max(1), MAX_VOCAB)?;
        within("max_model_len", self.max_model_len, u32::MAX)?;
        self.layers.iter().try_for_each(LayerGroup::check_ffn)?;
        self.eagle3.map_or(Ok(()), |head| head.check(&self.layers, self.vocab))?;
        let is_compressed = |group: &LayerGroup| matches!(group.attention, Attention::Compressed(_));
        if self.layers.iter().any(is_compressed) && !self.layers.iter().all(is_compressed) {
            let text =
                "expected attention over compressed keys in all or none, found both; such models are not modelled";
            return Err(Invalid::new("groups of layers", text, &[]));
        }
        let mut limited = self.spans().filter(|span| *span != Span::Full);
        let first = limited.next();
        if limited.any(|span| Some(span) != first) {
            let text = "expected one length of windows or chunks, found several; such models are not modelled";
            return Err(Invalid::new("groups of layers", text, &[]));
        }
        Ok(())
    }

    /// Returns the tokens that a token attends to, for each group of layers.
    fn spans(&self) -> impl Iterator<Item = Span> {
        let groups = self.layers.iter();
        groups.map(|group| group.attention.span().up_to(self.max_model_len))
    }

    /// Returns the window or chunk of layers that do not attend to all tokens of the longest sequence; [`Span::Full`]
    /// if all do.
    pub fn limited_span(&self) -> Span {
        let mut limited = self.spans().filter(|span| *span != Span::Full);
        limited.next().unwrap_or_default()
    }

    /// Returns whether some layers have a window or keep a state instead of keys and values.
    #[cfg(feature = "alloc")]
    pub(crate) fn is_hybrid(&self) -> bool {
        self.keeps_states() || matches!(self.limited_span(), Span::Window(_))
    }

    /// Returns whether some layers keep a state instead of keys and values.
    #[cfg(feature = "alloc")]
    pub(crate) fn keeps_states(&self) -> bool {
        let mut groups = self.layers.iter();
        groups.any(|group| matches!(group.attention, Attention::DeltaNet(_)))
    }

    /// Checks that the ranks can share the model: query heads and FFN are divisible by `tp`, KV heads are divisible or
    /// replicated on `tp / kv_heads` ranks each, and experts are divisible, in width or in number. (The vocabulary is
    /// padded.)
    ///
    /// # Errors
    /// The first dimension that is not divisible; expert parallelism or several data-parallel ranks without experts;
    /// more pipeline stages than layers, or stages of several data-parallel ranks.
    pub fn check_parallelism(&self, parallelism: impl Into<Parallelism>) -> Result<(), Invalid> {
        let parallelism = parallelism.into();
        within("tp", parallelism.tp, MAX_COUNT)?;
        within("dp", parallelism.dp, MAX_COUNT)?;
        within("pp", parallelism.pp, Parallelism::MAX_PP.min(self.layers.total()))?;
        if parallelism.pp > 1 && parallelism.dp > 1 {
            let text = "expected 1, as pipelines of {} data-parallel ranks are not modelled, found {}; use `tp`";
            return Err(Invalid::new("pp", text, &[parallelism.dp.into(), parallelism.pp.into()]));
        }
        if parallelism.dp > 1 && self.experts().is_none() {
            let text = "expected 1, as ranks of a model without experts share nothing, found {}; use {} replicas";
            return Err(Invalid::new("dp", text, &[parallelism.dp.into(); 2]));
        }
        if parallelism.expert_parallel && self.experts().is_none() {
            let text = "expected a model with experts, found none; leave it out";
            return Err(Invalid::new("expert_parallel", text, &[]));
        }
        let mut groups = self.layers.iter();
        groups.try_for_each(|group| group.check_parallelism(parallelism))
    }

    /// Returns the model with weights of another format. Embedding, router and lm_head stay 16-bit.
    ///
    /// In a 16-bit model, attention projections, FFN and experts change. In a model with quantised weights, the parts
    /// that the publisher left at 16 bits stay at 16 bits: `fp8` means 128 x 128 blocks for a model that has such
    /// blocks; `nvfp4` means `mxfp4` for a model published in `mxfp4`. With `mxfp4`, with `int4`, and with `nvfp4` in a
    /// quantised model, routed experts alone are quantised if there are any, as in gpt-oss, in Kimi-K2 and in NVIDIA's
    /// releases of models that are published in fp8. `nvfp4` leaves latent attention at 16 bits, too.
    ///
    /// Does not model: whether such weights exist, and the quality of their answers.
    ///
    /// ```
    /// use rooflut::hardware::{Dtype, gpus};
    /// use rooflut::model::{self, MemoryLimits, MemoryPlan};
    /// let llama = model::find("llama-3.1-8b").unwrap().spec;
    /// let plan = |spec| MemoryPlan::try_new(&spec, &gpus::H100, 1, MemoryLimits::default());
    /// let (bf16, fp8) = (plan(llama)?, plan(llama.with_weight_dtype(Dtype::Fp8))?);
    /// assert!(fp8.weight_bytes < 0.6 * bf16.weight_bytes);
    /// assert!(fp8.kv_blocks > bf16.kv_blocks);
    /// # Ok::<(), rooflut::Error>(())
    /// ```
    #[must_use]
    pub fn with_weight_dtype(mut self, dtype: Dtype) -> ModelSpec {
        let is_quantized = self.is_quantized();
        let is_latent = |group: &LayerGroup| matches!(group.attention, Attention::Mla(_) | Attention::Msa(_));
        let is_latent = self.layers.iter().any(is_latent);
        let experts_only = self.experts().is_some()
            && match dtype {
                Dtype::Mxfp4 | Dtype::Mxfp4Mxfp8 | Dtype::Int4 => true,
                other => other == Dtype::Nvfp4 && (is_quantized || is_latent),
            };
        let instead_of = |own: Dtype, is_routed: bool| match (own, dtype) {
            (Dtype::Bf16, _) if is_quantized => Dtype::Bf16,
            _ if own == dtype => own,
            (Dtype::Fp8Block, Dtype::Fp8) => Dtype::Fp8Block,
            (Dtype::Mxfp4, Dtype::Nvfp4) => Dtype::Mxfp4,
            _ if experts_only && !is_routed => Dtype::Bf16,
            _ => dtype,
        };
        for group in self.layers.iter_mut() {
            let is_routed = matches!(group.ffn, Ffn::Moe { .. });
            group.attention_dtype = instead_of(group.attention_dtype, false);
            group.ffn_dtype = instead_of(group.ffn_dtype, is_routed);
            group.shared_dtype = instead_of(group.shared_dtype, false);
        }
        self
    }

    /// Returns whether some weights have fewer than 16 bits.
    pub fn is_quantized(&self) -> bool {
        let mut dtypes = self.layers.iter().flat_map(LayerGroup::dtypes);
        dtypes.any(|dtype| dtype != Dtype::Bf16)
    }

    /// Returns the model with another sampling of its tokens.
    #[must_use]
    pub const fn with_sampler(mut self, sampler: Sampler) -> ModelSpec {
        self.sampler = sampler;
        self
    }

    /// Returns an MTP layer as a separate model that shares embedding and lm_head with this model.
    ///
    /// # Errors
    /// A model without such layers.
    pub fn mtp_layer(&self) -> Result<ModelSpec, Invalid> {
        let last = self.drafting_group().and_then(|group| self.layers.get(group)).filter(|_| self.mtp_layers > 0);
        let text = "expected a model with layers for multi-token prediction, found none; use a draft model";
        let last = *last.ok_or(Invalid::new("mtp_layers", text, &[]))?;
        Ok(ModelSpec { layers: Layers::alike(LayerGroup { layers: 1, ..last }), mtp_layers: 0, ..*self })
    }

    /// Returns the index of the layers that those for multi-token prediction are like: the last ones, or with an indexer
    /// the last ones that have one of their own.
    fn drafting_group(&self) -> Option<usize> {
        let reuses = |group: &LayerGroup| {
            matches!(group.attention, Attention::Mla(Mla { indexer: Some(Indexer { heads: 0, .. }), .. }))
        };
        self.layers.iter().rposition(|group| !reuses(group))
    }

    /// Returns the model with its MTP layers among the others.
    #[must_use]
    pub(crate) fn with_mtp_counted(mut self) -> ModelSpec {
        if let Some(last) = self.drafting_group().and_then(|group| self.layers.get_mut(group)) {
            last.layers = last.layers.saturating_add(self.mtp_layers);
        }
        self
    }

    /// Returns the first layers with experts, if there are any.
    pub fn experts(&self) -> Option<&LayerGroup> {
        let mut groups = self.layers.iter();
        groups.find(|group| matches!(group.ffn, Ffn::Moe { .. }))
    }

    /// Returns the width of the input of the attention projections: of an EAGLE-3 head a hidden state and an embedding.
    pub(crate) const fn attention_input(&self) -> u32 {
        match self.eagle3 {
            Some(_) => self.hidden.saturating_mul(2),
            None => self.hidden,
        }
    }

    /// Returns the number of rows, each as wide as the hidden state, of embedding and lm_head together.
    pub(super) fn vocabulary_rows(&self) -> u64 {
        let vocab = u64::from(self.vocab);
        match self.eagle3 {
            Some(head) if head.target_hidden == self.hidden => head.draft_vocab.into(),
            Some(head) => vocab + u64::from(head.draft_vocab),
            None if self.tied_embeddings => vocab,
            None => 2 * vocab,
        }
    }

    /// Returns the number of weights of `fc`, 0 in other models than EAGLE-3 heads.
    pub(super) fn fc_params(&self) -> u64 {
        self.eagle3.map_or(0, |head| product([head.fc_inputs().into(), self.hidden.into()]))
    }

    /// Returns the number of weights: layers, norms, embeddings and lm_head, without [`mtp_layers`](ModelSpec::mtp_layers).
    /// It saturates at `u64::MAX`, which no checked model reaches.
    pub fn weight_params(&self) -> u64 {
        let hidden = u64::from(self.hidden);
        let streams = u64::from(self.streams);
        let mixing = product([2, streams, streams + 2, streams, hidden]);
        let layers = self.layers.iter().map(|group| {
            let layer = group
                .attention
                .params([self.attention_input(), self.hidden])
                .saturating_add(group.ffn_params(self.hidden))
                .saturating_add(2 * hidden)
                .saturating_add(mixing);
            product([u64::from(group.layers), layer])
        });
        let vocabulary = product([self.vocabulary_rows(), hidden]);
        let positions = product([self.positions.into(), hidden]);
        // A head has a norm more.
        let norms = if self.eagle3.is_some() { 2 * hidden } else { hidden };
        let others = [vocabulary, positions, norms, self.fc_params()];
        layers.chain(others).fold(0, u64::saturating_add)
    }
}

impl LayerGroup {
    fn check_ffn(&self) -> Result<(), Invalid> {
        match self.ffn {
            Ffn::Dense { intermediate, .. } => within("intermediate", intermediate, MAX_WIDTH),
            Ffn::Moe { experts, top_k, intermediate, shared_intermediate } => {
                within("experts", experts, MAX_COUNT)?;
                within("top_k", top_k, MAX_COUNT)?;
                within("intermediate", intermediate, MAX_WIDTH)?;
                within("shared_intermediate", shared_intermediate.max(1), MAX_WIDTH)?;
                if top_k > experts {
                    let text = "expected at most the {} experts, found {}";
                    return Err(Invalid::new("top_k", text, &[experts.into(), top_k.into()]));
                }
                Ok(())
            }
        }
    }

    fn check_parallelism(&self, parallelism: Parallelism) -> Result<(), Invalid> {
        let tp = parallelism.tp;
        self.attention.check_parallelism(tp)?;
        match self.ffn {
            Ffn::Dense { intermediate, .. } => divides("intermediate", intermediate, "tp", tp),
            Ffn::Moe { experts, intermediate, shared_intermediate, .. } => {
                let ranks = if parallelism.dp > 1 { "tp x dp" } else { "tp" };
                divides("experts", experts, ranks, parallelism.ep())?;
                divides("intermediate", intermediate, ranks, parallelism.expert_tp())?;
                divides("shared_intermediate", shared_intermediate, "tp", tp)
            }
        }
    }

    /// Returns the formats of the weights: attention projections, FFN or routed experts, and the shared expert if there
    /// is one.
    pub fn dtypes(&self) -> impl Iterator<Item = Dtype> {
        let shared = (self.shared_params(1) > 0).then_some(self.shared_dtype);
        [self.attention_dtype, self.ffn_dtype].into_iter().chain(shared)
    }

    /// Returns the number of weights of one layer's attention: the projections from and to a hidden state of this
    /// size.
    pub fn attention_params(&self, hidden: u32) -> u64 {
        self.attention.params([hidden; 2])
    }

    /// Returns the number of weights of one layer's FFN, all experts and router included.
    pub fn ffn_params(&self, hidden: u32) -> u64 {
        let router = match self.ffn {
            Ffn::Dense { .. } => 0,
            Ffn::Moe { experts, .. } => product([u64::from(hidden), u64::from(experts)]),
        };
        self.routed_params(hidden).saturating_add(self.shared_params(hidden)).saturating_add(router)
    }

    /// Returns the number of weights of one layer's dense FFN or routed experts.
    pub(super) fn routed_params(&self, hidden: u32) -> u64 {
        let width = match self.ffn {
            Ffn::Dense { intermediate, .. } => u64::from(intermediate),
            Ffn::Moe { experts, intermediate, .. } => product([experts.into(), intermediate.into()]),
        };
        self.matrices(hidden, width)
    }

    /// Returns the number of weights of one layer's shared expert, 0 if there is none.
    pub(super) fn shared_params(&self, hidden: u32) -> u64 {
        match self.ffn {
            Ffn::Dense { .. } => 0,
            Ffn::Moe { shared_intermediate, .. } => self.matrices(hidden, shared_intermediate.into()),
        }
    }

    /// Returns the number of weights of the up projections and the down projection to `width`.
    fn matrices(&self, hidden: u32, width: u64) -> u64 {
        let matrices = u64::from(self.ffn.up_projections()) + 1;
        product([matrices, hidden.into(), width])
    }
}
