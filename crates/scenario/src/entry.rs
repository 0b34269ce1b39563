//! A key with its value.

use crate::key::Key;

/// A key of a scenario with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which.
    pub key: &'static Key,
    /// Where it is, from 1.
    pub line: u64,
    /// What it is, as the flag takes it: one value, several for a flag that is repeated, none for one
    /// that is switched on.
    pub values: Vec<String>,
}

impl Entry {
    /// The arguments of the command line that say the same.
    pub fn arguments(&self) -> Vec<String> {
        let flag = self.key.flag();
        match (self.key.kind, self.values.as_slice()) {
            (crate::Kind::Switch, _) => vec![format!("--{flag}")],
            (_, values) => {
                let each = values.iter().map(|value| format!("--{flag}={value}"));
                each.collect()
            }
        }
    }
}
