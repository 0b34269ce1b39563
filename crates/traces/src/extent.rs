//! The part of a trace that is replayed, and its speed.

use rooflut_error::Error;

use crate::rows::{Notes, Row, Rows};
use crate::unit::LATEST_NS;

/// The part of a trace that is replayed: all of it by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// At most this many requests, the first ones of the file.
    pub requests: Option<u64>,
    /// Only requests that arrive within this time, in nanoseconds on the clock of the file from the point that is 0 in the
    /// simulation.
    pub duration_ns: Option<u64>,
}

/// Reads the requests of a part.
pub(crate) struct Part {
    rows: Box<dyn Rows>,
    /// Requests of the file that may follow.
    left: u64,
    /// The first arrival that is left out, on the clock of the file.
    until_ns: Option<u64>,
}

impl Part {
    pub(crate) fn new(rows: Box<dyn Rows>, extent: Extent, start_ns: u64) -> Part {
        let until_ns = extent.duration_ns.map(|duration_ns| start_ns.saturating_add(duration_ns));
        Part { rows, left: extent.requests.unwrap_or(u64::MAX), until_ns }
    }
}

impl Rows for Part {
    fn next(&mut self, notes: &mut Notes) -> Result<Option<Row>, Error> {
        while self.left > 0
            && let Some(row) = self.rows.next(notes)?
        {
            self.left -= 1;
            if self.until_ns.is_none_or(|until_ns| row.request.arrival_ns < until_ns) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// Times of a trace over those of its replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed(pub(crate) f64);

impl Speed {
    /// Returns a time of the replay, at most the end of the clock. Assumes: the time is below 104 days, beyond which
    /// it is rounded to more than a nanosecond.
    pub(crate) fn replayed_ns(self, file_ns: u64) -> u64 {
        if self.0.total_cmp(&1.0).is_eq() {
            return file_ns;
        }
        ((file_ns as f64 / self.0).round() as u64).min(LATEST_NS)
    }
}
