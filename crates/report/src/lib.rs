#![doc = include_str!("../README.md")]

mod clients;
mod clock;
pub mod compare;
mod cost;
mod figures;
mod flagged;
mod interval;
pub mod load;
mod priority;
mod rejections;
mod report;
mod requests_csv;
mod seeds;
mod sink;
mod sources;
mod steady;
mod steps_csv;
mod timeline;
mod versioned;
mod windows;

pub use clients::Clients;
pub use cost::{Cost, EnergyBound, PerWork, Price, Usage};
pub use figures::{Goodput, LatencyMs, Percentiles, QueueGrowth};
pub use flagged::FlaggedRow;
pub use interval::{Ends, LatencyRange, ModelInterval, Range};
pub use priority::PriorityClass;
pub use rejections::Rejections;
pub use report::{Disaggregation, MeasuredAcceptance, ModelSize, Report, ScenarioFile, Speculation, Weights};
pub use requests_csv::{RequestsCsv, outcome_name};
pub use seeds::{LatencySpread, Seeds, Spread};
pub use sources::{Provenance, Shares};
pub use steady::Steady;
pub use steps_csv::StepsCsv;
pub use timeline::Timeline;
pub use versioned::{SCHEMA_VERSION, Versioned};
pub use windows::{Window, WindowBounds};
