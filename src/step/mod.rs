//! Time of an engine step.

mod all_reduce;
mod at_end;
mod attention;
mod batch;
mod binding;
#[cfg(feature = "alloc")]
mod compressed;
mod constructors;
mod decode;
#[cfg(feature = "alloc")]
mod delta;
mod drafting;
#[cfg(feature = "alloc")]
mod exchange;
mod experts;
mod finder;
mod kernel_time;
mod kernels;
mod kinds;
#[cfg(feature = "alloc")]
mod latent;
mod launch;
#[cfg(feature = "alloc")]
mod lockstep;
#[cfg(feature = "alloc")]
mod msa;
mod network;
mod options;
#[cfg(feature = "alloc")]
mod other_attention;
mod part_errors;
mod ring;
mod roofline;
mod routing;
mod sampling;
#[cfg(all(feature = "serde", feature = "alloc"))]
mod serde;
mod smoothing;
mod source;
mod sources;
#[cfg(feature = "alloc")]
mod stages;
#[cfg(feature = "alloc")]
mod step_kernels;
#[cfg(feature = "alloc")]
mod tabulated;
#[cfg(feature = "alloc")]
mod tally;
mod time;
#[cfg(feature = "alloc")]
mod transfer;
mod uncertain;
#[cfg(feature = "alloc")]
mod window;

pub use crate::model::Parallelism;
pub use crate::part::Part;
pub use at_end::{AtEnd, End};
pub use batch::{Chunk, DecodeGroup, StepBatch};
pub use binding::Binding;
pub use drafting::Drafting;
pub use network::Network;
pub use options::StepOptions;
pub use roofline::RooflineModel;
pub use source::TimeSource;
pub use sources::TimeSources;
#[cfg(feature = "alloc")]
pub use step_kernels::StepKernel;
#[cfg(feature = "alloc")]
pub use tabulated::TabulatedModel;
#[cfg(feature = "alloc")]
pub use tally::Tally;
pub use time::{LatencyModel, PartTime, StepModel, StepTime};
pub use uncertain::UncertainPart;
