//! The bytes of a trace, compressed or not.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use rooflut_error::Error;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::failure;
use crate::lines;

/// Bytes from which the format of a file is recognised.
const HEAD: u64 = 1 << 20;
/// Bytes that identify a compression.
const MAGIC: u64 = 4;
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The end of what pzstd begins with, a frame without data.
const ZSTD_SKIPPED: &[u8] = b"\x2a\x4d\x18";

/// The bytes of a trace: in memory, or of a file.
///
/// Bytes that begin as gzip or zstd are decompressed as they are read.
#[derive(Clone)]
pub struct Input(Bytes);

#[derive(Clone)]
enum Bytes {
    Memory(Arc<[u8]>),
    Stored(Arc<Mutex<Stored>>),
}

/// A place for a copy of an input that can be read only once.
pub trait Scratch: Read + Write + Seek + Send {}

impl<T: Read + Write + Seek + Send> Scratch for T {}

impl Input {
    /// Creates an input from a source that can be read only once, such as a pipe; `copy` is an empty file for its
    /// bytes.
    ///
    /// No more is read than is asked for: a source that does not begin as a trace is not copied to its end.
    pub fn once(source: impl Read + Send + 'static, copy: impl Scratch + 'static) -> Input {
        Input::stored(source, copy, 0)
    }

    fn stored(source: impl Read + Send + 'static, copy: impl Scratch + 'static, copied: u64) -> Input {
        Input(Bytes::Stored(Arc::new(Mutex::new(Stored { source: Box::new(source), copy: Box::new(copy), copied }))))
    }
}

/// Whether bytes begin as gzip, and whether as zstd.
fn compressions(magic: &[u8]) -> (bool, bool) {
    (magic.starts_with(GZIP), magic.starts_with(ZSTD) || magic.get(1..).is_some_and(|it| it.starts_with(ZSTD_SKIPPED)))
}

impl From<&[u8]> for Input {
    fn from(bytes: &[u8]) -> Input {
        Input(Bytes::Memory(bytes.into()))
    }
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Input {
        Input(Bytes::Memory(bytes.into()))
    }
}

impl From<File> for Input {
    /// The file from its beginning; it must be seekable, which pipes are not.
    fn from(file: File) -> Input {
        Input::stored(io::empty(), file, u64::MAX)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl Input {
    /// Whether bytes are decompressed as they are read.
    pub fn is_compressed(bytes: &[u8]) -> bool {
        let (is_gzip, is_zstd) = compressions(bytes);
        is_gzip || is_zstd
    }

    /// Returns a reader of the decompressed bytes, from the first.
    ///
    /// # Errors
    ///
    /// A failure to read the file, and compressed data that cannot be read.
    pub fn reader(&self) -> io::Result<Box<dyn Read>> {
        let mut raw: Box<dyn Read> = match &self.0 {
            Bytes::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Bytes::Stored(stored) => Box::new(FromStart { stored: Arc::clone(stored), offset: 0 }),
        };
        let mut magic = Vec::new();
        raw.by_ref().take(MAGIC).read_to_end(&mut magic)?;
        let (is_gzip, is_zstd) = compressions(&magic);
        let whole = Cursor::new(magic).chain(raw);
        Ok(match (is_gzip, is_zstd) {
            (true, _) => Box::new(MultiGzDecoder::new(whole)),
            (_, true) => Box::new(ZstdDecoder { source: BufReader::new(whole), decoder: FrameDecoder::new() }),
            _ => Box::new(whole),
        })
    }

    /// Returns the first bytes, decompressed.
    pub(crate) fn head(&self) -> Result<Vec<u8>, Error> {
        let mut head = Vec::new();
        let reader = self.reader();
        let read = reader.and_then(|reader| reader.take(HEAD).read_to_end(&mut head));
        read.map(|_| head).map_err(failure)
    }

    /// Returns the line, from 1, of the first byte from `offset` that ends no line.
    ///
    /// Reads all bytes before `offset`: for messages only.
    pub(crate) fn line_at(&self, offset: u64) -> Option<u64> {
        lines::line_at(BufReader::new(self.reader().ok()?), offset).ok()
    }
}

/// Bytes of which the first `copied` are in `copy`, and the others follow in `source`.
struct Stored {
    source: Box<dyn Read + Send>,
    copy: Box<dyn Scratch>,
    copied: u64,
}

impl Stored {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset < self.copied {
            self.copy.seek(SeekFrom::Start(offset))?;
            return self.copy.read(buffer);
        }
        let read = self.source.read(buffer)?;
        self.copy.seek(SeekFrom::Start(self.copied))?;
        self.copy.write_all(buffer.get(..read).unwrap_or_default())?;
        self.copied += read as u64;
        Ok(read)
    }
}

/// Reads shared bytes from their beginning, wherever other readers are.
struct FromStart {
    stored: Arc<Mutex<Stored>>,
    offset: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let read = stored.read_at(self.offset, buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Reads the frames of zstd data one after another.
struct ZstdDecoder<R> {
    source: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Read for ZstdDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (source, decoder) = (&mut self.source, &mut self.decoder);
        loop {
            if decoder.can_collect() > 0 {
                return decoder.read(buffer);
            }
            if !decoder.is_finished() {
                let decoded = decoder.decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(io::Error::other)?;
                continue;
            }
            let expected = decoder.get_checksum_from_data();
            if expected.is_some() && expected != decoder.get_calculated_checksum() {
                return Err(io::Error::other("wrong checksum of zstd data"));
            }
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match decoder.reset(&mut *source) {
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut source.take(length.into()), &mut io::sink())?;
                }
                started => started.map_err(io::Error::other)?,
            }
        }
    }
}
