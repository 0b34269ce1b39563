#![doc = include_str!("../README.md")]

mod answer;
mod bounds;
mod break_even;
mod excluded;
mod ladder;
mod least;
mod limit;
mod limited_by;
mod notes;
mod plan;
mod question;
mod recovery;
mod refuted;
mod saturate;
mod search;
mod servers;
mod space;
mod trial;
mod tried;
mod variant;

pub use answer::{Answer, LimitedFigure, PrefillServer};
pub use break_even::BreakEven;
pub use excluded::{Excluded, Reason};
pub use least::{Least, LeastServers};
pub use limit::{Figure, Limit, Limits};
pub use limited_by::{LimitedBy, Setting};
pub use plan::Plan;
pub use question::Question;
pub use refuted::Misses;
pub use rooflut_scenario::Error;
pub use saturate::{Division, MostUsers, Point, RateQuestion, Saturation, Split, UsersPoint};
pub use space::{Choice, Space};
