//! Errors of the timing model.

use std::ops::RangeInclusive;

use rooflut::Invalid;
use rooflut::step::UncertainPart;

/// The error of a deployment that is not translated for AISimulate, or of a batch without a step time.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TimingError {
    /// The deployment has no single server: the model does not fit into memory, or has several data-parallel ranks.
    #[error("{0}")]
    Deployment(rooflut::Error),
    /// A setting of the deployment that this crate does not translate for AISimulate.
    #[error("{setting}: expected {expected}, as no other reaches AISimulate, found {found}; {remedy}")]
    Unsupported {
        /// Name of the setting.
        setting: &'static str,
        /// The only value that is translated.
        expected: &'static str,
        /// Value of the deployment.
        found: String,
        /// Way out.
        remedy: &'static str,
    },
    /// A batch size or length outside of the deployment's limits.
    #[error("{argument}: expected {} to {}, found {found}; {remedy}", .accepted.start(), .accepted.end())]
    OutOfRange {
        /// Name of the argument.
        argument: &'static str,
        /// Accepted values.
        accepted: RangeInclusive<u32>,
        /// Value found.
        found: usize,
        /// Way out.
        remedy: &'static str,
    },
    /// Fewer KV tokens than requests.
    #[error("{0}")]
    Batch(Invalid),
    /// A step time less certain than the accepted [`Strictness`](rooflut::table::Strictness).
    #[error("{0}")]
    Uncertain(UncertainPart),
}
