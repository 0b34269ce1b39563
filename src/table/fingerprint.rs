//! The fingerprint of the measurements.

/// Fingerprint of the measurements of all built-in sets, whether compiled in or not: a hash (64-bit FNV-1a) of
/// `bench_data/fingerprints.csv`. It changes when a measurement does.
pub const DATA_FINGERPRINT: u64 = fnv1a(include_bytes!("../../bench_data/fingerprints.csv"));

/// Source: Fowler, Noll, Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut rest = bytes;
    while let Some((byte, tail)) = rest.split_first() {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        rest = tail;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        // The test vectors of its authors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
