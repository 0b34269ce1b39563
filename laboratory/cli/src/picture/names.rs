//! Names of axes and coordinates.

/// Returns the name of an axis with its unit.
pub(super) fn described(axis: &str) -> &str {
    match axis {
        "m" => "m (tokens)",
        "seq_len" => "seq_len (tokens of a prompt)",
        "kv_len" => "kv_len (tokens of a request)",
        "bytes" => "message (bytes)",
        other => other,
    }
}

/// Formats a coordinate, a round one in at most five characters: 16384, 1Mi.
pub(super) fn short(coordinate: u32) -> String {
    const MI: u32 = 1 << 20;
    const KI: u32 = 1 << 10;
    match coordinate {
        large if large >= MI && large.is_multiple_of(MI) => format!("{}Mi", large / MI),
        large if large >= 100_000 && large.is_multiple_of(KI) => format!("{}Ki", large / KI),
        other => other.to_string(),
    }
}
