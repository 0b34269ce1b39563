//! Files that a run reads.

use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::LazyLock;

use rooflut_error::Whole;
use rooflut_traces::Input;
use tempfile::spooled_tempfile;

/// Most bytes of a pipe that are copied to memory; a longer one is copied to a temporary file.
const IN_MEMORY: usize = 1 << 25;

/// Standard input, which several plans may read.
static STDIN: LazyLock<Input> = LazyLock::new(|| once(io::stdin()));

/// Opens the file at `path`; `-` is standard input.
///
/// # Errors
/// A file that cannot be opened, and a pipe that no program writes to within a second.
pub fn open(path: &Path) -> io::Result<Input> {
    if path == Path::new("-") {
        return Ok(STDIN.clone());
    }
    let mut file = rooflut_error::open(path)?;
    Ok(match file.rewind() {
        Ok(()) => file.into(),
        Err(_) => once(file),
    })
}

/// Reads the whole file at `path`, which is of this kind; `-` is standard input.
///
/// # Errors
/// As of [`open`], and a file that cannot be read to its end, or is too large.
pub fn read(path: &Path, kind: Whole) -> io::Result<Vec<u8>> {
    match path.to_str() {
        Some("-") => kind.read(STDIN.clone().reader()?),
        _ => kind.open(path),
    }
}

/// Returns an input that can be read only once, such as a pipe.
fn once(source: impl Read + Send + 'static) -> Input {
    // Its file has no name, so that nothing is left behind.
    Input::once(source, spooled_tempfile(IN_MEMORY))
}
