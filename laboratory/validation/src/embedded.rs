//! The measurements that come with the project.

use crate::dataset::Dataset;
use crate::error::Error;
use crate::kind::Kind;
use crate::read::read;

/// Returns the measurements that come with the project, one dataset of each kind. The crate's README
/// names their sources.
///
/// # Errors
/// Never, as a test asserts.
pub fn embedded() -> Result<Vec<Dataset>, Error> {
    let files = Kind::ALL.map(|kind| read(kind.file(), kind.shipped()));
    files.into_iter().collect()
}
