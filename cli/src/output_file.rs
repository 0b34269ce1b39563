//! A file that appears whole or not at all, or a stream.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rooflut_error::open_in_time;
use tempfile::NamedTempFile;

use crate::destination::Destination;
use crate::error::Error;

/// An output: a file that is written beside its destination and moved there by [`finish`](OutputFile::finish) (dropped
/// before that, it leaves nothing behind), or a stream.
pub struct OutputFile {
    to: BufWriter<To>,
    /// The destination as messages name it.
    named: PathBuf,
}

enum To {
    File(NamedTempFile, Destination),
    Stream(Box<dyn Write>),
}

impl OutputFile {
    /// Opens a file beside its destination, with the permissions of what is there.
    pub(crate) fn beside(destination: Destination) -> Result<OutputFile, Error> {
        let file = destination.file_beside()?;
        let named = destination.named().to_owned();
        Ok(OutputFile::new(To::File(file, destination), &named))
    }

    /// Opens a file as [`beside`](OutputFile::beside), unless another process writes to its destination.
    pub(crate) fn alone(destination: Destination) -> Result<OutputFile, Error> {
        let output = OutputFile::beside(destination)?;
        if let To::File(file, destination) = output.to.get_ref() {
            destination.claim(file.as_file(), file.path())?;
        }
        Ok(output)
    }

    /// Standard output.
    pub(crate) fn stdout(named: &Path) -> OutputFile {
        OutputFile::new(To::Stream(Box::new(io::stdout())), named)
    }

    /// Opens a pipe or a device.
    pub(crate) fn stream(path: &Path) -> Result<OutputFile, Error> {
        let stream = open_in_time(path, File::options().write(true), "no program reads this pipe")
            .map_err(Error::writing(path))?;
        Ok(OutputFile::new(To::Stream(Box::new(stream)), path))
    }

    fn new(to: To, named: &Path) -> OutputFile {
        OutputFile { to: BufWriter::new(to), named: named.to_owned() }
    }

    /// Returns the path of what is written so far, the whole of it; `None` for a stream.
    pub(crate) fn written(&mut self) -> Result<Option<&Path>, Error> {
        self.flush().map_err(Error::writing(&self.named))?;
        Ok(match self.to.get_ref() {
            To::File(file, _) => Some(file.path()),
            To::Stream(_) => None,
        })
    }

    /// Moves the file to its destination.
    pub fn finish(self) -> Result<(), Error> {
        let written = self.to.into_inner().map_err(io::IntoInnerError::into_error);
        match written.map_err(Error::writing(&self.named))? {
            To::File(file, destination) => destination.take(file.path()),
            To::Stream(mut stream) => quietly((), stream.flush()).map_err(Error::writing(&self.named)),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // Its own errors name the temporary file.
            To::File(file, _) => file.as_file_mut().write(bytes),
            To::Stream(stream) => quietly(bytes.len(), stream.write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            To::File(file, _) => file.flush(),
            To::Stream(stream) => quietly((), stream.flush()),
        }
    }
}

/// Takes what is written after the reader has left, as `head` does, for `written`: the run has other outputs.
fn quietly<T>(written: T, result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(written),
        result => result,
    }
}
