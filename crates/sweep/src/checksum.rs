//! The checksum of a row.

use crate::keys::shown;

/// The column of checksums, the last one.
pub(crate) const CHECKSUM: &str = "checksum";

/// Returns the checksum of a line without its end: its CRC-32, which a change of any four adjacent bytes changes.
///
/// Source: the CRC of gzip, RFC 1952, section 8.
pub(crate) fn checksum(cells: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(cells))
}

/// Checks that the last cell of a line of CSV is the checksum of those before it.
///
/// # Errors
/// The problem: expected and found.
pub(crate) fn check(line: &[u8]) -> Result<(), String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let end = line.iter().rposition(|byte| *byte == b',').unwrap_or(line.len());
    let (cells, found) = line.split_at(end);
    let (expected, found) = (checksum(cells), found.strip_prefix(b",").unwrap_or_default());
    if found == expected.as_bytes() {
        Ok(())
    } else {
        let found = shown(&String::from_utf8_lossy(found));
        Err(format!("{CHECKSUM}: expected {expected}, found \"{found}\": the row was changed after it was written"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_crc_of_gzip() {
        assert_eq!(checksum(b"123456789"), "cbf43926");
        assert_eq!((check(b"123456789,cbf43926\n"), check(b",00000000")), (Ok(()), Ok(())));
        for wrong in ["", "\n", "12345678,cbf43926\n", "123456789,CBF43926\n", "123456789,cbf43926 \n", "cbf43926"] {
            assert!(check(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
