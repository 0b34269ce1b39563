//! The lookups of the two predecessors, on the same tables, for cross-checks.
//!
//! Both read model FLOPs utilization (MFU) where this library reads latencies: [`MfuCurve`] and [`MfuGrid`] present
//! measured points in the form of their published `mfu` column, rounded to three decimals. [`infersim`] takes the row
//! below (or nearest), [`blis`] interpolates linearly; each also has its own rule for a shape that was not measured.
//! The default model uses none of this.
//!
//! A lookup has two parts: first choose a table of a set or make one from borrowed points, then query it.
//!
//! ```
//! use rooflut_predecessors::lookup::{Matched, blis, infersim};
//! use rooflut::table::{Class, sets};
//! use rooflut::units::Mfu;
//! // The smallest measured GEMM that covers k 4096, n 6000, at 100 rows.
//! let curve = blis::gemm_curve(&sets::H100, 4096, 6000)?;
//! let blend = blis::linear_mfu(&curve, 100.0)?;
//! let below = infersim::floor_mfu(&curve, 100.0, Mfu(0.35))?;
//! assert_eq!(blend.matched, Matched::Between(curve.table()));
//! assert!(matches!(below.matched, Matched::Row(row) if row.at <= 100));
//! assert_eq!(below.provenance, Class::Transferred.inside());
//! # Ok::<(), rooflut_error::Error>(())
//! ```

pub mod blis;
pub mod infersim;

mod corners;
mod curve;
mod error;
mod gemm_entries;
mod grid;
mod method;
mod nearest_shape;
mod reading;

use rooflut::table::{Class, Provenance};

pub use curve::{MfuCurve, MfuPoint};
pub use grid::{MfuCell, MfuGrid};
pub use method::Method;
pub use reading::{Matched, MfuReading, Row, TableKey};

/// Returns the provenance with a class no better than `best`.
fn at_best(place: Provenance, best: Class) -> Provenance {
    Provenance::new(place.class.max(best), place.extent)
}
