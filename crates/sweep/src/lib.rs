#![doc = include_str!("../README.md")]

mod axis;
#[cfg(feature = "parquet")]
mod bounded;
mod cells;
mod checksum;
mod column;
mod contents;
mod cost;
mod fnv;
mod grid;
mod keys;
mod kind;
mod merge;
mod ordered;
mod pareto;
#[cfg(feature = "parquet")]
mod parts;
#[cfg(feature = "plot")]
mod plot;
mod range;
mod resume;
mod runs;
mod shard;
mod sweep;

pub use axis::Axis;
#[cfg(feature = "parquet")]
pub use bounded::{BoundedParquet, open_parquet};
pub use contents::Open;
pub use cost::duration;
pub use fnv::Fnv;
pub use grid::Grid;
pub use keys::OF_ONE_RUN;
pub use kind::Kind;
pub use merge::merge;
pub use pareto::{Front, FrontRow};
#[cfg(feature = "parquet")]
pub use parts::{EarlierParts, Part, csv_of_parts, earlier_parts, merge_parts};
#[cfg(feature = "plot")]
pub use plot::Plot;
pub use resume::{Earlier, earlier};
pub use rooflut_scenario::Error;
pub use runs::{Find, Named, Sources};
pub use shard::Shard;
pub use sweep::{Row, Sweep};
