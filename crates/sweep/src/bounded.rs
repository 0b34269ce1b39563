//! Parquet files that may be hostile: none takes much more memory than its own bytes.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};

/// Bytes of the largest page. Writers end a page at about 1 MiB.
const PAGE: usize = 16 << 20;
/// Bytes of the largest footer, which takes up to thirty times as much in memory.
const FOOTER: usize = 8 << 20;
/// Bytes of the longest header of a page, which may have statistics.
const HEADER: u64 = 64 << 10;
/// Nested structs of a header: a page's own, and its statistics.
const DEPTH: usize = 4;

/// Opens a Parquet file.
///
/// # Errors
/// A file that is no Parquet, or whose footer is larger than 8 MiB.
pub fn open_parquet<R: ChunkReader + 'static>(file: R) -> Result<SerializedFileReader<BoundedParquet<R>>> {
    // Frames of LZ4, as libraries of 2021 wrote them, may unpack to any size.
    let properties = ReaderProperties::builder().set_backward_compatible_lz4(false).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
    SerializedFileReader::new_with_options(BoundedParquet::try_new(file)?, options)
}

/// A Parquet file whose pages are refused if they, unpacked, take more than 16 MiB, or if a few bytes of them stand for
/// many values that are in memory at once.
#[derive(Debug)]
pub struct BoundedParquet<R> {
    file: R,
    /// Bytes of levels before the packed values of the page whose header was read last.
    levels: AtomicUsize,
}

impl<R: ChunkReader> BoundedParquet<R> {
    fn try_new(file: R) -> Result<BoundedParquet<R>> {
        let start =
            file.len().checked_sub(8).ok_or_else(|| refused("expected Parquet, found a file of a few bytes"))?;
        // The length of the footer, and four bytes that tell Parquet.
        let end = file.get_bytes(start, 8)?;
        let length = end.iter().take(4).rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length > FOOTER && end.ends_with(b"PAR1") {
            return Err(refused(format!("expected a footer of at most 8 MiB, found one of {length} bytes")));
        }
        Ok(BoundedParquet { file, levels: AtomicUsize::new(0) })
    }
}

impl<R: ChunkReader> Length for BoundedParquet<R> {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl<R: ChunkReader> ChunkReader for BoundedParquet<R> {
    type T = R::T;

    /// Reads the header of a page, or the end of the file.
    fn get_read(&self, start: u64) -> Result<R::T> {
        if self.len().saturating_sub(start) > 8 {
            let mut head = Vec::new();
            self.file.get_read(start)?.take(HEADER).read_to_end(&mut head)?;
            let header = PageHeader::read(&head)
                .ok_or_else(|| refused("expected the header of a page, found other bytes, or more than 64 KiB"))?;
            header.check()?;
            self.levels.store(header.levels, Ordering::Relaxed);
        }
        self.file.get_read(start)
    }

    /// Reads a page, or the footer.
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if length > 2 * PAGE || length as u64 > self.len().saturating_sub(start) {
            return Err(refused(format!(
                "expected at most 32 MiB in one piece, and no more than the file has, found {length} bytes"
            )));
        }
        let bytes = self.file.get_bytes(start, length)?;
        let packed = bytes.get(self.levels.load(Ordering::Relaxed)..).unwrap_or_default();
        // The other codecs unpack no more than the header says.
        if packed.starts_with(&[0x1f, 0x8b]) {
            let mut unpacked = MultiGzDecoder::new(packed).take(PAGE as u64 + 1);
            // Bytes that are no gzip are for the reader to refuse.
            if io::copy(&mut unpacked, &mut io::sink()).is_ok_and(|bytes| bytes > PAGE as u64) {
                return Err(refused("expected pages of at most 16 MiB, found one that unpacks to more"));
            }
        }
        Ok(bytes)
    }
}

fn refused(problem: impl Into<String>) -> ParquetError {
    ParquetError::General(problem.into())
}

/// The sizes in the header of a page: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.
#[derive(Default)]
struct PageHeader {
    kind: i64,
    unpacked: i64,
    values: i64,
    encoding: i64,
    levels: usize,
}

impl PageHeader {
    const DICTIONARY: i64 = 2;

    fn read(bytes: &[u8]) -> Option<PageHeader> {
        let mut header = PageHeader::default();
        Thrift(bytes).fields(&mut |thrift, id, kind| {
            match (id, kind) {
                (1, Thrift::INTEGER) => header.kind = thrift.integer()?,
                (2, Thrift::INTEGER) => header.unpacked = thrift.integer()?,
                (5 | 7 | 8, Thrift::STRUCT) => thrift.fields(&mut |thrift, inner, kind| {
                    match (id, inner, kind) {
                        (_, 1, Thrift::INTEGER) => header.values = thrift.integer()?,
                        (5 | 7, 2, Thrift::INTEGER) | (8, 4, Thrift::INTEGER) => header.encoding = thrift.integer()?,
                        (8, 5 | 6, Thrift::INTEGER) => header.levels += usize::try_from(thrift.integer()?).ok()?,
                        _ => thrift.skip(kind, DEPTH)?,
                    }
                    Some(())
                })?,
                _ => thrift.skip(kind, DEPTH)?,
            }
            Some(())
        })?;
        Some(header)
    }

    fn check(&self) -> Result<()> {
        if self.unpacked > PAGE as i64 {
            return Err(refused(format!("expected pages of at most 16 MiB, found one of {} bytes", self.unpacked)));
        }
        // Each value of a dictionary takes four bytes or more.
        if self.kind == PageHeader::DICTIONARY && self.values > self.unpacked / 4 {
            return Err(refused(format!(
                "expected {} bytes of values in a dictionary, found {}",
                4 * self.values,
                self.unpacked
            )));
        }
        // Lengths of differences stand in the values: their number is not known before they are read.
        if (5..=7).contains(&self.encoding) {
            return Err(refused(
                "expected plain values or those of a dictionary, found differences; write the file anew",
            ));
        }
        Ok(())
    }
}

/// Bytes of Thrift's compact protocol, with the identifiers of fields in their order, as writers of Parquet have them.
struct Thrift<'b>(&'b [u8]);

type Field<'f, 'b> = &'f mut dyn FnMut(&mut Thrift<'b>, u8, u8) -> Option<()>;

impl<'b> Thrift<'b> {
    const INTEGER: u8 = 5;
    const STRUCT: u8 = 12;

    /// Calls `field` with the identifier and the kind of each field of a struct.
    fn fields(&mut self, field: Field<'_, 'b>) -> Option<()> {
        let mut id = 0_u8;
        loop {
            let (step, kind) = match self.byte()? {
                0 => return Some(()),
                byte => (byte >> 4, byte & 15),
            };
            // An identifier by itself might be one again that was read already.
            id = id.checked_add(step).filter(|_| step > 0)?;
            field(self, id, kind)?;
        }
    }

    /// Skips the value of a field.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            // Booleans are kinds.
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.number().map(drop),
            7 => self.advance(8),
            8 => {
                let length = self.number()?;
                self.advance(usize::try_from(length).ok()?)
            }
            Thrift::STRUCT => {
                let depth = depth.checked_sub(1)?;
                self.fields(&mut |thrift, _, kind| thrift.skip(kind, depth))
            }
            _ => None,
        }
    }

    fn advance(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::FileReader;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// A file with one text of so many zeros.
    fn zeros(length: usize, compression: Compression) -> Vec<u8> {
        let schema = Arc::new(parse_message_type("message table { REQUIRED BYTE_ARRAY text; }").unwrap());
        let properties = WriterProperties::builder().set_compression(compression).set_dictionary_enabled(false);
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let text = [ByteArray::from(vec![0; length])];
        column.typed::<ByteArrayType>().write_batch(&text, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    /// Reads the pages of a file.
    fn read(bytes: Vec<u8>) -> Result<usize> {
        let file = open_parquet(Bytes::from(bytes))?;
        let mut pages = file.get_row_group(0)?.get_column_page_reader(0)?;
        let mut length = 0;
        while let Some(page) = pages.get_next_page()? {
            length += page.buffer().len();
        }
        Ok(length)
    }

    #[test]
    fn pages_are_read_up_to_their_largest_size() {
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::ZSTD(Default::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
        ] {
            assert_eq!(read(zeros(PAGE - 4, compression)).unwrap(), PAGE, "{compression}");
            let error = read(zeros(PAGE - 3, compression)).unwrap_err();
            let message = "expected pages of at most 16 MiB, found one of 16777217 bytes";
            assert!(error.to_string().ends_with(message), "{compression}: {error}");
        }
    }

    #[test]
    fn a_page_that_unpacks_to_more_than_its_header_says_is_refused() {
        let mut bytes = zeros(2 * PAGE, Compression::GZIP(Default::default()));
        // The first page begins behind the magic number, with its kind and its size: 2, in as many bytes.
        assert_eq!(bytes[4..7], [0x15, 0, 0x15]);
        bytes[7..11].copy_from_slice(&[0x84, 0x80, 0x80, 0]);
        let error = read(bytes).unwrap_err();
        assert!(error.to_string().ends_with("found one that unpacks to more"), "{error}");
    }

    #[test]
    fn a_dictionary_of_more_values_than_bytes_is_refused() {
        // A kind of 2, 16 bytes and packed ones, then a dictionary of values in an encoding.
        let dictionary =
            |values: u8| PageHeader::read(&[0x15, 4, 0x15, 32, 0x15, 32, 0x4c, 0x15, 2 * values, 0x15, 0, 0, 0]);
        dictionary(4).unwrap().check().unwrap();
        assert!(dictionary(5).unwrap().check().is_err());
    }

    #[test]
    fn a_size_that_stands_twice_is_no_header() {
        let data = [0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0];
        let page = |end: &[u8]| PageHeader::read(&[&[0x15, 0, 0x15, 32, 0x15, 32], data.as_slice(), end].concat());
        assert_eq!(page(&[0]).unwrap().unpacked, 16);
        // Field 2 by its own number, behind field 5.
        assert!(page(&[5, 4, 32, 0]).is_none());
        // A header that ends within a field.
        assert!(page(&[]).is_none());
    }

    #[test]
    fn structs_in_structs_end() {
        // As deep as the header is long.
        let deep = vec![0x9c; 1 << 16];
        assert!(PageHeader::read(&deep).is_none());
    }

    #[test]
    fn values_whose_number_their_bytes_tell_are_refused() {
        let differences =
            PageHeader::read(&[0x15, 0, 0x15, 32, 0x15, 32, 0x2c, 0x15, 2, 0x15, 10, 0x15, 6, 0x15, 6, 0, 0]);
        assert!(differences.unwrap().check().is_err());
    }

    #[test]
    fn a_large_footer_is_refused() {
        let mut bytes = vec![0; FOOTER + 32];
        bytes.extend((FOOTER as u32 + 1).to_le_bytes());
        bytes.extend(b"PAR1");
        let error = open_parquet(Bytes::from(bytes)).err().unwrap();
        assert!(error.to_string().contains("expected a footer of at most 8 MiB"), "{error}");
    }
}
