//! Temporary files and folders, which do not outlive the process.

#[cfg(unix)]
use std::fs;
use std::io;
#[cfg(unix)]
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The paths of all that the process has made, moved and removed ones included.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Text that a signal writes to standard error before it ends the process.
static LAST_WORDS: Mutex<Option<Box<dyn Fn() -> String + Send>>> = Mutex::new(None);

/// Sets the text that a signal writes to standard error before it ends the process, until the end of the guard.
pub fn say_on_signals(words: impl Fn() -> String + Send + 'static) -> LastWords {
    *last_words() = Some(Box::new(words));
    LastWords
}

/// A guard until whose end a signal writes something.
pub struct LastWords;

impl Drop for LastWords {
    fn drop(&mut self) {
        *last_words() = None;
    }
}

fn last_words() -> MutexGuard<'static, Option<Box<dyn Fn() -> String + Send>>> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a file or folder that `make` makes, and that a signal removes.
pub fn create<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut temporary = hold();
    let made = make()?;
    temporary.push(made.as_ref().to_owned());
    Ok(made)
}

/// Returns a guard until whose end signals wait.
pub fn hold() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes SIGINT, SIGQUIT, SIGTERM and SIGHUP remove what is temporary and end the process with 128 + their number, and
/// makes writing beyond the shell's limit of file sizes an error.
///
/// Where SIGHUP is ignored, as by a job of `nohup`, it stays ignored.
#[cfg(unix)]
pub fn remove_on_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGXFSZ])?;
    if !ignores_hangup() {
        signals.add_signal(SIGHUP)?;
    }
    let end = move || {
        let ends = signals.forever().find(|signal| *signal != SIGXFSZ);
        // Held to the end: nothing is created any more.
        let temporary = hold();
        for path in temporary.iter() {
            // It may be gone already.
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        if let Some(words) = last_words().as_ref() {
            // Where standard error is closed, the exit code remains. The first line may have a bar.
            let _ = writeln!(io::stderr(), "\n{}", words());
        }
        std::process::exit(128 + ends.unwrap_or(SIGTERM));
    };
    std::thread::Builder::new().spawn(end).map(drop)
}

/// Returns whether the process ignores SIGHUP, or cannot tell.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is that of signal 1, SIGHUP.
    ignored.is_none_or(|mask| mask & 1 != 0)
}
