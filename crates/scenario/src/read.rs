//! Files that the caller reads.

use std::io;
use std::path::Path;

use crate::run_error::RunError;

/// Reads the file at a path.
pub(crate) type Read<'r> = &'r dyn Fn(&Path) -> io::Result<Vec<u8>>;

pub(crate) fn read_file(path: &Path, read: Read<'_>) -> Result<Vec<u8>, RunError> {
    read(path).map_err(|error| RunError::Read {
        path: path.to_owned(),
        error,
    })
}
