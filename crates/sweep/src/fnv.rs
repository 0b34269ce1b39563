//! The hash of fingerprints.

use std::io;

/// 64-bit FNV-1a, over bytes that are added or written.
///
/// Source: Fowler, Noll, Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>.
#[derive(Debug, Clone, Copy)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    /// Returns the hash.
    pub fn finish(self) -> u64 {
        self.0
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        let mut hash = Fnv::default();
        hash.add(b"foo");
        hash.add(b"bar");
        assert_eq!(hash.finish(), 0x8594_4171_f739_67e8);
    }
}
