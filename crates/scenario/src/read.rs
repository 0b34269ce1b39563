//! Files that the caller opens.

use std::io::{self, Read as _};
use std::path::Path;

use rooflut_error::{Error, reading};
use rooflut_traces::Input;

/// Opens the file at a path.
pub(crate) type Read<'r> = &'r dyn Fn(&Path) -> io::Result<Input>;

/// Opens the file that a key names.
pub(crate) fn open(key: &'static str, path: &Path, read: Read<'_>) -> Result<Input, Error> {
    read(path).map_err(|error| reading(path)(error).about([key]))
}

/// Reads the file that a key names.
pub(crate) fn read_file(key: &'static str, path: &Path, read: Read<'_>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let file = open(key, path, read)?.reader();
    let read = file.and_then(|mut file| file.read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| reading(path)(error).about([key]))
}
