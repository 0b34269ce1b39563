//! Time of a step that no table holds.

use crate::units::Seconds;

/// What an engine adds to the measured kernels of a step.
///
/// Source of the defaults: fitted on the time per output token of vLLM 0.15.1 on H100, one pair for
/// all models, with a step model that had no traffic of small kernels. Not fitted again with it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Overheads {
    /// Launches of the small kernels (norms, rotary embedding, activation, KV write) and gaps
    /// between kernels, per layer. Their traffic comes on top.
    pub per_layer: Seconds,
    /// Sampling, per sampled row and vocabulary entry.
    pub per_logit: Seconds,
}

impl Overheads {
    /// Nothing but the kernels.
    pub const NONE: Overheads = Overheads {
        per_layer: Seconds::ZERO,
        per_logit: Seconds::ZERO,
    };
}

impl Default for Overheads {
    fn default() -> Overheads {
        Overheads {
            per_layer: Seconds::from_us(19.0),
            per_logit: Seconds(0.17e-9),
        }
    }
}
