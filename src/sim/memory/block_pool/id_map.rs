//! A map from content ids to slots that is the same on every platform.

use core::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

/// A map from the id of a block's contents to a slot. It is never iterated, so that its order does not matter.
pub(super) type IdMap = HashMap<u64, u32, BuildHasherDefault<IdHasher>>;

/// Hashes one `u64` by folding the halves of a product; has no seed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write_u64(&mut self, id: u64) {
        let product = u128::from(id ^ self.0) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
