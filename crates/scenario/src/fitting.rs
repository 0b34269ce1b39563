//! Settings that make a model fit into memory.

use rooflut_error::setting;

/// Settings that together let a model fit into memory.
pub(crate) struct Fitting {
    /// Their keys and values; one, except that pipeline stages may need another tensor parallelism.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// The KV blocks that these settings leave.
    pub(crate) kv_blocks: u32,
}

impl Fitting {
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.settings.iter().map(|(key, _)| *key)
    }

    /// Returns the settings as part of a message: `--tp 8 and --pp 2`.
    pub(crate) fn written(&self) -> String {
        let settings = self.settings.iter().map(|(key, value)| setting(key, value).to_string());
        settings.collect::<Vec<_>>().join(" and ")
    }
}
