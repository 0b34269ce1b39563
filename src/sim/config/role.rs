//! Servers for prefill and decode, and for decode only.

/// Role of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::sim) enum Role {
    /// Prefill and decode.
    #[default]
    Whole,
    /// Decode only; the KV entries of the prompt come from a prefill server.
    Decode,
}
