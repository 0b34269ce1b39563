//! Figures of a run: percentiles, goodput, use of the server and its KV cache.
//!
//! [`Summary`] holds the figures of a run. With a record per request it is exact; `Digest` (with `std`)
//! computes the same figures in constant memory, with percentiles within 0.05 %, of a whole run or of a part of it.

mod batch_sizes;
#[cfg(feature = "std")]
mod digest;
mod drafts;
mod goodput;
mod limit_times;
#[cfg(feature = "std")]
mod quantiles;
mod queue_growth;
#[cfg(feature = "std")]
mod queue_trend;
pub(super) mod report;
#[cfg(feature = "std")]
mod sketch;
pub(super) mod stages;
mod stats;
pub(super) mod summary;
#[cfg(feature = "std")]
mod times;
#[cfg(feature = "std")]
mod token_gaps;
mod totals;

pub use batch_sizes::{BatchSizes, BatchStats};
#[cfg(feature = "std")]
pub use digest::Digest;
pub use drafts::Drafts;
pub use goodput::{Goodput, LatencyLimits};
pub use limit_times::{LimitShares, LimitTimes};
#[cfg(feature = "std")]
pub use quantiles::Quantiles;
pub use queue_growth::QueueGrowth;
pub use stages::{PoolUse, Stages};
pub use stats::Stats;
pub use summary::{KvUse, ServerUse, Summary, Throughput};
#[cfg(feature = "std")]
pub use token_gaps::TokenGaps;
pub use totals::Totals;
