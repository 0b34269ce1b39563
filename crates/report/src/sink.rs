//! A writer that remembers its first failure.

use std::io::{self, Write};

/// Writes until the first failure, which [`finish`](Sink::finish) returns. (Observers cannot fail.)
pub(crate) struct Sink<W> {
    writer: W,
    failure: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub(crate) fn new(writer: W) -> Sink<W> {
        Sink { writer, failure: None }
    }

    /// Calls `write` unless an earlier call has failed.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = write(&mut self.writer).err();
        }
    }

    /// Flushes the writer and returns it.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.write(W::flush);
        self.failure.map_or(Ok(self.writer), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_after_a_failure() {
        let mut sink = Sink::new(Vec::new());
        sink.write(|out| out.write_all(b"a"));
        sink.write(|_| Err(io::ErrorKind::StorageFull.into()));
        sink.write(|_| unreachable!("an earlier write has failed"));
        let error = sink.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
