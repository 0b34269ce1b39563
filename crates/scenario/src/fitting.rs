//! Settings that make a model fit into memory.

use crate::error::KeyName;

/// Settings that together let a model fit into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fitting {
    /// Their keys and values; one, except that pipeline stages may need another tensor parallelism.
    pub settings: Vec<(&'static str, String)>,
    /// The KV blocks that these settings leave.
    pub kv_blocks: u32,
}

impl Fitting {
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.settings.iter().map(|(key, _)| *key)
    }

    /// Returns the settings as `name` writes them: `--tp 8 and --pp 2`.
    pub(crate) fn written(&self, name: KeyName) -> String {
        let settings = self.settings.iter().map(|(key, value)| name(key, Some(value)));
        settings.collect::<Vec<_>>().join(" and ")
    }
}
