//! The share of a run in one with more servers.

/// The share of a run in one with more servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// Servers of the whole per server of the sample.
    pub(crate) stands_for: f64,
    /// The sample gets one of so many requests.
    pub(crate) every: u32,
}

impl Share {
    /// The whole.
    pub(crate) const WHOLE: Share = Share { stands_for: 1.0, every: 1 };
}
