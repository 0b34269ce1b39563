//! Clients that differ from those of the published rows.

use rooflut::units::Seconds;

/// Additions to the times of requests outside of the engine, in closed loops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Addition to the time of a request.
    pub request: Seconds,
    /// Addition to that for each token of its prompt.
    pub token: Seconds,
}

impl Moved {
    /// No additions.
    pub const NONE: Moved = Moved { request: Seconds::ZERO, token: Seconds::ZERO };
}
