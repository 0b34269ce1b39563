//! Index from the key of a shape to its place in a table.

#[cfg(feature = "runtime-tables")]
use alloc::vec::Vec;

/// Places of the shapes of a table, by key.
pub enum Index {
    /// Perfect hashing, for compiled tables.
    Hashed(phf::Map<u64, u16>),
    /// Keys in ascending order, for tables created at run time.
    #[cfg(feature = "runtime-tables")]
    Sorted(Vec<(u64, u16)>),
}

impl Index {
    /// Creates the index of shapes with these keys, given in the order of their places.
    #[cfg(feature = "runtime-tables")]
    pub(super) fn sorted(keys: impl Iterator<Item = u64>) -> Index {
        let mut keys: Vec<(u64, u16)> = keys.zip(0..=u16::MAX).collect();
        keys.sort_unstable();
        Index::Sorted(keys)
    }

    /// Returns the place of `key`, if the table has it.
    pub(super) fn place(&self, key: u64) -> Option<usize> {
        match self {
            Index::Hashed(map) => map.get(&key).copied().map(usize::from),
            #[cfg(feature = "runtime-tables")]
            Index::Sorted(keys) => {
                let found = keys.binary_search_by_key(&key, |(key, _)| *key).ok()?;
                keys.get(found).map(|(_, place)| usize::from(*place))
            }
        }
    }
}
