#![doc = include_str!("../README.md")]

mod clock;
mod rejections;
mod requests_csv;
mod sink;
mod steps_csv;
mod timeline;

pub use rejections::Rejections;
pub use requests_csv::RequestsCsv;
pub use steps_csv::StepsCsv;
pub use timeline::Timeline;
