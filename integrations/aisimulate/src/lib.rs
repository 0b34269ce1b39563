#![doc = include_str!("../README.md")]

mod error;
mod timing;

pub use error::TimingError;
pub use timing::RooflineTiming;
