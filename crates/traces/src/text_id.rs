//! Numbers for the texts that a trace names by an id.

/// The kind of text that an id names. The same id names different texts of different kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The beginning of prompts.
    Prefix = 1,
    /// A conversation.
    Session = 2,
    /// The rest of a single request.
    Request = 3,
}

/// Returns a number for the text with this `id`, the same in every run and on every platform.
///
/// A hash needs no table of ten million sessions. Assumes: no two ids of a trace have the same hash; among
/// ten million ids the probability is three in a million.
pub(crate) fn text_id(kind: Kind, id: &[u8]) -> u64 {
    // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv), ...
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in [kind as u8].iter().chain(id) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // ... and the mixer of SplitMix64 (Steele, Lea, Flood 2014), so that all bits depend on all.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_of_all_kinds_have_different_hashes() {
        let ids = (0..100_000_u32).flat_map(|id| {
            let text = id.to_string();
            [Kind::Prefix, Kind::Session, Kind::Request].map(|kind| text_id(kind, text.as_bytes()))
        });
        assert_eq!(ids.collect::<HashSet<u64>>().len(), 300_000);
    }
}
