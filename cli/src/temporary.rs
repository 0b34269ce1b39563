//! Temporary files and folders, which do not outlive the process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The paths of all that the process has made, moved and removed ones included.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Returns a file or folder that `make` makes, and that a signal removes.
pub(crate) fn create<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut temporary = hold();
    let made = make()?;
    temporary.push(made.as_ref().to_owned());
    Ok(made)
}

/// Returns a guard until whose end signals wait.
pub(crate) fn hold() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes Ctrl-C and SIGTERM remove what is temporary and end the process with 128 + their number, and makes writing
/// beyond the shell's limit of file sizes an error.
///
/// A background job of `nohup` ignores SIGHUP, which is therefore left as it is.
#[cfg(unix)]
pub(crate) fn remove_on_signals() -> io::Result<()> {
    use std::fs;

    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGXFSZ])?;
    let end = move || {
        let ends = signals.forever().find(|signal| *signal != SIGXFSZ);
        // Held to the end: nothing is created any more.
        let temporary = hold();
        for path in temporary.iter() {
            // It may be gone already.
            let _ = match path.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
        }
        std::process::exit(128 + ends.unwrap_or(SIGTERM));
    };
    std::thread::Builder::new().spawn(end).map(drop)
}
