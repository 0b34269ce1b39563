//! Rows of a trace, read one after another.

use rooflut::sim::Request;
use rooflut_error::Error;

use crate::arrival_source::ArrivalSource;
use crate::left_out::Tally;

/// Reads the requests of a file, in the order of the file.
pub(crate) trait Rows {
    /// Reads the next request; counts what is left out before it.
    fn next(&mut self, notes: &mut Notes) -> Result<Option<Row>, Error>;
}

/// A request that was read.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its arrival is on the clock of the file.
    pub(crate) request: Request,
    /// Properties that few requests have.
    pub(crate) extra: Option<Box<Extra>>,
}

/// Properties that few requests have.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// Ids of the blocks of the prompt.
    pub(crate) block_ids: Vec<u64>,
    /// The session.
    pub(crate) session: Option<u64>,
    /// Nanoseconds after the end of the turn before; `None` if the arrival is known.
    pub(crate) delay_ns: Option<u64>,
}

impl Row {
    /// Returns the delay after the end of the request before it in the session.
    pub(crate) fn delay_ns(&self) -> Option<u64> {
        self.extra.as_ref()?.delay_ns
    }
}

impl From<Request> for Row {
    fn from(request: Request) -> Row {
        Row { request, extra: None }
    }
}

/// Counts and names that a reader reports beside the requests.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) left_out: Tally,
    /// Columns or keys that are not read.
    pub(crate) ignored: Vec<String>,
    /// Requests with images.
    pub(crate) with_images: u64,
    /// Whether requests have priorities.
    pub(crate) has_priorities: bool,
    /// The origin of the arrivals; `None` if they are recorded.
    pub(crate) arrivals: Option<ArrivalSource>,
}
