//! Files that the caller opens.

use std::io;
use std::path::Path;

use rooflut_error::{Error, Whole, reading};
use rooflut_traces::Input;

/// Opens the file at a path.
pub(crate) type Read<'r> = &'r dyn Fn(&Path) -> io::Result<Input>;

/// Opens the file that a key names.
pub(crate) fn open(key: &'static str, path: &Path, read: Read<'_>) -> Result<Input, Error> {
    read(path).map_err(|error| reading(path)(error).about([key]))
}

/// Reads the file that a key names, of this kind.
pub(crate) fn read_file(key: &'static str, kind: Whole, path: &Path, read: Read<'_>) -> Result<Vec<u8>, Error> {
    let file = open(key, path, read)?.reader();
    file.and_then(|file| kind.read(file)).map_err(|error| reading(path)(error).about([key]))
}
