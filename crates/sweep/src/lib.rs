#![doc = include_str!("../README.md")]

mod axis;
mod column;
mod error;
mod fnv;
mod grid;
mod keys;
mod merge;
mod ordered;
mod plot;
mod range;
mod resume;
mod runs;
mod shard;
mod sweep;

pub use axis::Axis;
pub use error::SweepError;
pub use fnv::Fnv;
pub use grid::Grid;
pub use merge::merge;
pub use plot::{Plot, PlotError};
pub use resume::{Earlier, earlier};
pub use runs::{Named, NotFound, Sources};
pub use shard::Shard;
pub use sweep::{Row, Sweep};
