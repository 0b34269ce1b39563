//! Kinds of files, which differ in their columns.

/// Kind of a file: the type of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// [`LoadStage`](crate::LoadStage)s.
    LoadStages,
    /// [`ReplayedRequest`](crate::ReplayedRequest)s.
    Requests,
    /// [`SoloRequest`](crate::SoloRequest)s.
    SoloRequests,
    /// [`DecodeStep`](crate::DecodeStep)s.
    DecodeSteps,
    /// [`KvBlockCount`](crate::KvBlockCount)s.
    KvBlocks,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [
        Kind::LoadStages,
        Kind::Requests,
        Kind::SoloRequests,
        Kind::DecodeSteps,
        Kind::KvBlocks,
    ];

    /// The embedded file of this kind.
    pub const fn file(self) -> &'static str {
        match self {
            Kind::LoadStages => "experiments.csv",
            Kind::Requests => "requests.csv",
            Kind::SoloRequests => "solo_requests.csv",
            Kind::DecodeSteps => "decode_steps.csv",
            Kind::KvBlocks => "kv_blocks.csv",
        }
    }

    /// The required columns.
    pub const fn required(self) -> &'static [&'static str] {
        match self {
            Kind::LoadStages => &[
                "id",
                "gpu",
                "model",
                "tp",
                "arrival",
                "rate_rps",
                "duration_s",
                "prompt_tokens",
                "output_tokens",
            ],
            Kind::Requests => &[
                "experiment",
                "gpu",
                "model",
                "tp",
                "arrival_ms",
                "prompt_tokens",
                "output_tokens",
            ],
            Kind::SoloRequests => &[
                "experiment",
                "gpu",
                "model",
                "tp",
                "prompt_tokens",
                "prefill_ms",
                "mean_context_tokens",
            ],
            Kind::DecodeSteps => &[
                "experiment",
                "gpu",
                "model",
                "tp",
                "decode_requests",
                "mean_context_tokens",
                "step_ms",
            ],
            Kind::KvBlocks => &["gpu", "model", "tp", "kv_blocks_16_tokens"],
        }
    }

    /// The required columns that `header` lacks.
    pub(crate) fn missing(self, header: &[&str]) -> Vec<&'static str> {
        let required = self.required().iter().copied();
        required.filter(|name| !header.contains(name)).collect()
    }
}
