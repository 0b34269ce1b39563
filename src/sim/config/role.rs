//! Servers for prefill and decode, and for one of the two.

/// Role of a server ([`SimConfig::with_role`](crate::sim::SimConfig::with_role)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Role {
    /// Prefill and decode.
    #[default]
    Whole,
    /// Prefill: requests have one output token, which the decode server computes again.
    Prefill,
    /// Decode: the KV entries of a prompt come from a prefill server and are there when the request arrives. Its last
    /// token is computed again for the first token of the output.
    Decode,
}

crate::names!(Role {
    Whole => "whole",
    Prefill => "prefill",
    Decode => "decode",
});
