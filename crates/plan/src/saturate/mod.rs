//! The highest rate that a deployment serves within limits, and latencies around it.

mod curve;
mod division;
mod knee;
mod point;
mod rates;
mod saturation;
mod scale;
mod users;

pub use division::{Division, Split};
pub use point::Point;
pub use saturation::{RateQuestion, Saturation};
pub use users::{MostUsers, UsersPoint};
