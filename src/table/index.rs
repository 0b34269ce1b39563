//! From the key of a shape to its place in a table.

/// Places in [`KernelTable::entries`](super::KernelTable::entries) by key.
pub enum Index {
    /// Perfect hashing, of compiled tables.
    Hashed(phf::Map<u64, u16>),
    /// Keys in ascending order, of tables that were read at run time.
    #[cfg(feature = "runtime-tables")]
    Sorted(&'static [(u64, u16)]),
}

impl Index {
    /// The place of `key`, if the table has it.
    pub(super) fn place(&self, key: u64) -> Option<u16> {
        match self {
            Index::Hashed(map) => map.get(&key).copied(),
            #[cfg(feature = "runtime-tables")]
            Index::Sorted(keys) => {
                let found = keys.binary_search_by_key(&key, |(key, _)| *key).ok()?;
                keys.get(found).map(|(_, place)| *place)
            }
        }
    }
}
