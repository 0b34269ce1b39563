//! A file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use crate::error::Error;

/// A file to be written beside its destination and moved there when it is whole. Dropped before
/// that, it leaves nothing behind.
pub(crate) struct PendingFile {
    file: BufWriter<File>,
    temporary: PathBuf,
    destination: PathBuf,
    named: PathBuf,
    failure: Option<io::Error>,
}

impl PendingFile {
    /// Opens a file beside `path`, so that what cannot be written is refused before any work.
    ///
    /// `inputs` are files that must not be replaced, with what is said of a `path` that is one of them.
    pub(crate) fn create(
        path: &Path,
        inputs: &[(&Path, &'static str)],
    ) -> Result<PendingFile, Error> {
        let refuse = |why: &str| {
            let path = path.display();
            Error::new(format!("{path} {why}; name another file"))
        };
        // A link is followed, so that it stays one.
        let destination = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = destination.file_name() else {
            return Err(refuse("is no file name"));
        };
        if destination.exists() && !destination.is_file() {
            return Err(refuse("is not a regular file"));
        }
        let is_destination =
            |input: &Path| fs::canonicalize(input).ok().as_ref() == Some(&destination);
        if let Some((_, why)) = inputs.iter().find(|(input, _)| is_destination(input)) {
            return Err(refuse(why));
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", process::id()));
        let temporary = destination.with_file_name(hidden);
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary);
        // The name has the process: two outputs of one run are to be the same file.
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => refuse("is being written already"),
            _ => Error::writing(path)(error),
        })?;
        Ok(PendingFile {
            file: BufWriter::new(file),
            temporary,
            destination,
            named: path.to_owned(),
            failure: None,
        })
    }

    /// Writes more. After a failure nothing more is written, and [`finish`](PendingFile::finish) tells it.
    pub(crate) fn write(&mut self, more: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = more(&mut self.file).err();
        }
    }

    /// Puts the file in its place, if all was written.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let written = match self.failure.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        };
        written
            .and_then(|()| fs::rename(&self.temporary, &self.destination))
            .map_err(Error::writing(&self.named))
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a rename there is nothing of that name; a failure to clean up has no reader.
        let _ = fs::remove_file(&self.temporary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_written_whole_leaves_the_old_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut file = PendingFile::create(&path, &[]).unwrap();
        file.write(|file| file.write_all(b"new"));
        file.write(|_| Err(io::ErrorKind::StorageFull.into()));
        file.write(|_| unreachable!("it has failed"));
        let error = file.finish().unwrap_err().to_string();
        assert!(error.contains("out.csv"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);

        let mut file = PendingFile::create(&path, &[]).unwrap();
        file.write(|file| file.write_all(b"new"));
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
