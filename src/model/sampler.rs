//! The sampling of a model's tokens.

/// The sampling of a model's tokens, as far as it costs time.
///
/// vLLM takes the `generation_config.json` of a model as the default of its requests. A request that sets `top_p` 1,
/// `top_k` 0 and `repetition_penalty` 1, or `temperature` 0 where the file has no penalty, is sampled as
/// [`Plain`](Sampler::Plain).
///
/// Assumes: all requests use the same sampling, and a penalty comes with top-p or top-k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Sampler {
    /// Greedy, or with a temperature alone.
    #[default]
    Plain,
    /// With top-p or top-k; sorts the vocabulary.
    TopP,
    /// With top-p or top-k and a repetition penalty; counts the tokens of each request.
    RepetitionPenalty,
}

crate::names!(Sampler {
    Plain => "plain",
    TopP => "top-p",
    RepetitionPenalty => "repetition-penalty",
});
