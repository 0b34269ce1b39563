//! Files in, checked numbers out.
//!
//! Modules import in one direction; `tests/suite/layering.rs` has their order.

mod constants;
mod csv_file;
mod defaults;
mod engine;
mod error;
mod excluded;
mod files;
mod fingerprint;
mod gpus;
mod header;
mod lookup_errors;
mod measurement;
mod physics;
mod record_lines;
mod rules;
mod set;
mod single;
mod stored;
mod table;
mod toml_file;

pub(crate) use constants::{Constant, read_constants};
pub(crate) use defaults::{Defaults, Limits};
pub(crate) use engine::{Engine, Given, OF_MEMORY, OF_REQUEST, OF_STEP, Unit};
pub use error::{Error, ErrorKind};
pub(crate) use error::{Found, Location};
pub use excluded::ExcludedRows;
pub use files::FILES;
pub use fingerprint::{Fingerprint, fingerprints, fingerprints_csv};
pub use gpus::{Gpus, data_sheet, own_gpu};
pub(crate) use lookup_errors::{ErrorGroup, Errors, read_lookup_errors};
pub use measurement::MeasuredRow;
pub use record_lines::{RecordLines, line_ends};
pub(crate) use rules::Rule;
pub use set::{BUILT_IN, TableSet, read_any_set, read_own_set, read_set, set_files};
pub use single::{MeasuredRows, RefusedRow, read_rows};
pub use stored::{StoredAxes, StoredEntry, StoredSet, StoredTable};
pub use table::TableRows;
