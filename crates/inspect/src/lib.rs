//! Inspects a set of kernel tables before it is trusted.
//!
//! The code generator rejects impossible rows. This crate finds rows that are possible but suspicious: an
//! [`Inspection`] compares every row with its neighbours.
//!
//! - [`outliers`]: rows far slower or faster than their neighbours suggest.
//! - [`dips`]: rows with more work that take less time.
//! - [`suspects`]: rows that other shapes or formats, or the link, contradict.
//! - [`Corrected`]: the outliers and dips on which the steps of a deployment depend.
//!
//! The crate opens no files and reads no clock: the same rows give the same findings and the same bytes.
//!
//! ```
//! use rooflut::table::sets;
//! use rooflut_inspect::{Inspection, outliers};
//!
//! let inspection = Inspection::of(&sets::H100);
//! for family in &inspection.families {
//!     for outlier in outliers(family) {
//!         println!("{}: {:?} is {:.1} times as long as expected", family.name,
//!             family.rows[outlier.row].kernel, outlier.ratio);
//!     }
//! }
//! ```

mod dips;
mod family;
mod flagged;
mod line;
mod outliers;
mod residual;
mod row;
mod stats;
mod suspects;

pub use dips::{DIP, Dip, Dips, dips};
pub use family::{Excluded, Family, Inspection, family_name};
pub use flagged::{Corrected, Flagged, FlaggedTally, LEAST_CHANGE};
pub use outliers::{FAR, OUTLIER, Outlier, outliers};
pub use row::{Location, Row, Shape};
pub use suspects::{Cause, EAGER, HOST, LAUNCH_BOUND, Suspect, UNSPLIT, suspects};
