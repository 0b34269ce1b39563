#![doc = include_str!("../README.md")]

use rooflut::table::DATA_FINGERPRINT;

/// Returns the version with the commit that was built, if it is known, and the fingerprint of the measurements:
/// `0.1.0 (commit 4c135aa26bcd, data 93d1f0a7)`.
pub fn version() -> String {
    let commit = match option_env!("ROOFLUT_COMMIT") {
        Some(commit) => format!("commit {commit}"),
        None => "built without git".to_owned(),
    };
    // As many digits as tell two states of the data apart.
    let data = DATA_FINGERPRINT >> 32;
    format!("{} ({commit}, data {data:08x})", env!("CARGO_PKG_VERSION"))
}
