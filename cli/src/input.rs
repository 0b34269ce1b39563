//! Files that a run reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use rooflut_traces::Input;
use tempfile::spooled_tempfile;

/// Time in which a pipe must be opened by the program at its other end.
const PATIENCE: Duration = Duration::from_secs(1);
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
    let mut file = open_file(path)?;
    Ok(match file.rewind() {
        Ok(()) => file.into(),
        Err(_) => once(file),
    })
}

/// Reads the whole file at `path`; `-` is standard input.
///
/// # Errors
/// As of [`open`], and a file that cannot be read to its end.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        STDIN.clone().reader()?.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the file at `path`, or a pipe.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?;
    if kind.is_file() || kind.is_dir() {
        File::open(path)
    } else {
        open_in_time(path, File::options().read(true), "no program writes to this pipe")
    }
}

/// Returns an input that can be read only once, such as a pipe.
fn once(source: impl Read + Send + 'static) -> Input {
    // Its file has no name, so that nothing is left behind.
    Input::once(source, spooled_tempfile(IN_MEMORY))
}

/// Opens a pipe, unless nothing opens its other end, which is `cause`.
pub(crate) fn open_in_time(path: &Path, options: &OpenOptions, cause: &'static str) -> io::Result<File> {
    let (sender, receiver) = mpsc::channel();
    let (path, options) = (path.to_owned(), options.clone());
    // It may wait for ever; it ends with the program.
    thread::spawn(move || sender.send(options.open(path)));
    let timeout = || Err(io::Error::new(io::ErrorKind::TimedOut, cause));
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| timeout())
}
