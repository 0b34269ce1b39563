//! The steady state of a run: where its warm-up ends, how long it lasts, and whether servers keep up with their load.

mod classes;
mod feed;
mod goal;
mod groups;
mod observer;
mod series;
mod state;

pub(crate) use classes::Classes;
pub(crate) use feed::{Feed, Gate};
pub use goal::{Bound, Goal, Score};
pub use groups::GroupFigures;
pub(crate) use groups::Groups;
pub(crate) use observer::{Expected, Figures, InStep, Steady, WarmUp};
pub use state::{SteadyState, Window};
