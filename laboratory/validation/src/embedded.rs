//! The measurements that come with the project.

use rooflut_error::Error;

use crate::dataset::Dataset;
use crate::kind::Kind;
use crate::read::read;

/// The files of measurements beside the first of each kind.
const MORE: [(&str, &str); 2] = [
    ("servers_inferencex.csv", include_str!("../servers_inferencex.csv")),
    ("fleets_llama70b_h100.csv", include_str!("../fleets_llama70b_h100.csv")),
];

/// Returns the measurements that come with the project: a dataset of each kind, and two more of closed loops. The
/// crate's README names their sources.
///
/// # Errors
/// Never, as a test asserts.
pub fn embedded() -> Result<Vec<Dataset>, Error> {
    let files = Kind::ALL.map(|kind| (kind.file(), kind.shipped()));
    files.into_iter().chain(MORE).map(|(file, text)| read(file, text)).collect()
}
