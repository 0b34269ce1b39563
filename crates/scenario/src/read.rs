//! Files that the caller opens.

use std::io::{self, Read as _};
use std::path::Path;

use rooflut_traces::Input;

use crate::run_error::RunError;

/// Opens the file at a path.
pub(crate) type Read<'r> = &'r dyn Fn(&Path) -> io::Result<Input>;

pub(crate) fn open(path: &Path, read: Read<'_>) -> Result<Input, RunError> {
    read(path).map_err(|error| unreadable(path, error))
}

pub(crate) fn read_file(path: &Path, read: Read<'_>) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let file = open(path, read)?.reader();
    match file.and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(unreadable(path, error)),
    }
}

fn unreadable(path: &Path, error: io::Error) -> RunError {
    RunError::Read {
        path: path.to_owned(),
        error,
    }
}
