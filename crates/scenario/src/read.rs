//! Files that the caller opens.

use std::io::{self, Read as _};
use std::path::Path;

use rooflut_traces::Input;

use crate::run_error::RunError;

/// Opens the file at a path.
pub(crate) type Read<'r> = &'r dyn Fn(&Path) -> io::Result<Input>;

/// Opens the file that a key names.
pub(crate) fn open(key: &'static str, path: &Path, read: Read<'_>) -> Result<Input, RunError> {
    read(path).map_err(|error| unreadable(key, path, error))
}

/// Reads the file that a key names.
pub(crate) fn read_file(key: &'static str, path: &Path, read: Read<'_>) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let file = open(key, path, read)?.reader();
    match file.and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(unreadable(key, path, error)),
    }
}

fn unreadable(key: &'static str, path: &Path, error: io::Error) -> RunError {
    RunError::Read { key, path: path.to_owned(), error }
}
