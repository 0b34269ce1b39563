//! What a person should know of a set of kernel tables before trusting it.
//!
//! The code generator refuses rows that cannot be true. This crate looks at those that can: an
//! [`Inspection`] holds every row beside its neighbours.
//!
//! - [`outliers`]: rows far slower or faster than their neighbours let expect.
//! - [`dips`]: more work in less time.
//! - [`coverage`]: what the set answers for which model.
//! - [`errors`]: how well rows that are left out are predicted.
//! - [`picture`]: all of it as SVG, so that a person sees a bad row.
//!
//! No files, no clock: the same rows in give the same findings and the same bytes out.
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

mod coverage;
mod dips;
mod errors;
mod family;
mod line;
mod outliers;
mod plot;
mod residual;
mod row;
mod stats;

pub use coverage::{Cover, Coverage, TENSOR_PARALLEL, coverage};
pub use dips::{DIP, Dip, Dips, dips};
pub use errors::{Errors, errors};
pub use family::{Family, Inspection, family_name};
pub use outliers::{FAR, OUTLIER, Outlier, outliers};
pub use plot::{DrawingError, picture};
pub use row::{Place, Row, Shape};
