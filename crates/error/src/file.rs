//! Files that are opened, and those that are read whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Time in which a pipe must be opened by the program at its other end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Maximum length of a line of a file that is read line by line, bytes.
pub const MAX_LINE: u64 = 1 << 20;

/// Opens the file at `path`, or a pipe.
///
/// # Errors
/// A file that cannot be opened, and a pipe that no program writes to within a second.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?;
    if kind.is_file() || kind.is_dir() {
        File::open(path)
    } else {
        open_in_time(path, File::options().read(true), "no program writes to this pipe")
    }
}

/// Opens a pipe, unless nothing opens its other end within a second, which is `cause`.
///
/// # Errors
/// As of [`open`].
pub fn open_in_time(path: &Path, options: &OpenOptions, cause: &'static str) -> io::Result<File> {
    let (sender, receiver) = mpsc::channel();
    let (path, options) = (path.to_owned(), options.clone());
    // It may wait for ever; it ends with the program.
    thread::spawn(move || sender.send(options.open(path)));
    let timeout = || Err(io::Error::new(ErrorKind::TimedOut, cause));
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| timeout())
}

/// A kind of file that is read whole. Its size has a limit, so that memory has one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whole {
    /// A scenario.
    Scenario,
    /// A fleet of servers.
    Fleet,
    /// A model's `config.json`, or a file beside it.
    Model,
    /// A data sheet of a GPU.
    DataSheet,
    /// An engine.
    Engine,
    /// Lengths of requests.
    Lengths,
    /// Prices of GPUs.
    Prices,
    /// A shell script or a manifest with a command of a server.
    Command,
    /// A report, or a scenario to be compared with one.
    Report,
    /// Results of benchmarks, metrics and logs.
    Measured,
    /// A published table.
    Table,
}

impl Whole {
    /// Reads the file at `path`, or a pipe.
    ///
    /// # Errors
    /// As of [`open`] and [`read`](Whole::read).
    pub fn open(self, path: &Path) -> io::Result<Vec<u8>> {
        let file = open(path)?;
        let length = file.metadata()?.len();
        if length > self.limit() {
            return Err(self.too_large(&size(length)));
        }
        // A buffer that grows has twice the length for a while.
        self.read_into(Vec::with_capacity(length as usize), file)
    }

    /// Reads a file to its end.
    ///
    /// # Errors
    /// A file that cannot be read, and one that is too large ([`ErrorKind::FileTooLarge`]).
    pub fn read(self, source: impl Read) -> io::Result<Vec<u8>> {
        self.read_into(Vec::new(), source)
    }

    fn read_into(self, mut bytes: Vec<u8>, mut source: impl Read) -> io::Result<Vec<u8>> {
        let mut more = Vec::new();
        source.by_ref().take(self.limit()).read_to_end(&mut bytes)?;
        // Apart from the others, for which there is room.
        source.take(1).read_to_end(&mut more)?;
        if more.is_empty() { Ok(bytes) } else { Err(self.too_large("more")) }
    }

    /// The size of the largest file, bytes. The memory that its contents take is less than 1 GB: those of TOML take 80
    /// times its size.
    fn limit(self) -> u64 {
        let mib = match self {
            Whole::Scenario | Whole::Fleet | Whole::DataSheet | Whole::Engine | Whole::Prices | Whole::Command => 4,
            // One with a format for each of 70,000 experts has 8 MB.
            Whole::Model => 16,
            Whole::Report => 32,
            Whole::Lengths => 64,
            Whole::Table => 256,
            // Results of a benchmark may have each token of each request.
            Whole::Measured => 512,
        };
        mib << 20
    }

    fn too_large(self, found: &str) -> io::Error {
        let kind = match self {
            Whole::Scenario => "a scenario",
            Whole::Fleet => "a fleet",
            Whole::Model => "a config.json",
            Whole::DataSheet => "a data sheet",
            Whole::Engine => "an engine",
            Whole::Lengths => "a file of lengths",
            Whole::Prices => "a file of prices",
            Whole::Command => "a script or a manifest",
            Whole::Report => "a report",
            Whole::Measured => "the result of a benchmark",
            Whole::Table => "a table",
        };
        let text = format!("expected at most {}, found {found}; is it {kind}?", size(self.limit()));
        io::Error::new(ErrorKind::FileTooLarge, text)
    }
}

/// Returns a number of bytes as text: `64 MiB`, `6.0 GiB`.
fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes {
        ..0x4000_0000 => format!("{} MiB", bytes.div_ceil(MIB)),
        _ => format!("{:.1} GiB", bytes as f64 / (1024 * MIB) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit_of_its_kind() {
        let limit = Whole::Scenario.limit();
        let read = |length| Whole::Scenario.read(io::repeat(b'#').take(length));
        assert_eq!(read(limit).expect("a large scenario").len() as u64, limit);
        for endless in [limit + 1, u64::MAX] {
            let error = read(endless).expect_err("too large");
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            assert_eq!(error.to_string(), "expected at most 4 MiB, found more; is it a scenario?");
        }
    }

    #[test]
    fn sizes_are_those_of_files() {
        for (bytes, text) in
            [(64 << 20, "64 MiB"), ((64 << 20) + 1, "65 MiB"), (1 << 30, "1.0 GiB"), (6 << 30, "6.0 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
