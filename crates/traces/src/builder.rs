//! Builds a trace from the requests that a reader finds.

use rooflut::sim::Request;

use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::left_out::Tally;
use crate::trace::{ArrivalSource, Trace};

/// The requests that a reader has found so far.
#[derive(Default)]
pub(crate) struct TraceBuilder {
    pub(crate) requests: Vec<Request>,
    pub(crate) block_ids: Vec<u64>,
    pub(crate) left_out: Tally,
    /// `None` for recorded arrivals.
    pub(crate) arrivals: Option<ArrivalSource>,
}

impl TraceBuilder {
    /// A builder with room for the requests of `bytes`, at most one per line, so that they do not move as
    /// they grow.
    ///
    /// `shortest` is the length of the shortest line of a request: a file of line ends alone must not
    /// reserve fifty times its size.
    pub(crate) fn for_lines(bytes: &[u8], shortest: usize) -> TraceBuilder {
        let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
        let mut builder = TraceBuilder::default();
        // Where there is not so much memory, growing step by step may still succeed.
        let _ = builder
            .requests
            .try_reserve_exact(lines.min(1 + bytes.len() / shortest));
        builder
    }

    /// Returns the trace, or the reason why there is no request in it.
    pub(crate) fn build(mut self, format: Format) -> Result<Trace, TraceError> {
        let left_out = self.left_out.into_counts();
        let arrivals = self.arrivals.unwrap_or(ArrivalSource::Recorded);
        if format != Format::Own && arrivals == ArrivalSource::Recorded {
            count_from_earliest(&mut self.requests);
        }
        if self.requests.is_empty() {
            return Err(match left_out.is_empty() {
                true => Problem::NoRequests { format }.into(),
                false => Problem::AllLeftOut { left_out }.into(),
            });
        }
        Ok(Trace {
            requests: self.requests,
            block_ids: self.block_ids,
            left_out,
            format,
            arrivals,
        })
    }
}

/// Moves all arrivals so that the earliest is 0.
fn count_from_earliest(requests: &mut [Request]) {
    let arrivals = requests.iter().map(|request| request.arrival_ns);
    let earliest = arrivals.min().unwrap_or_default();
    for request in requests {
        request.arrival_ns -= earliest;
    }
}
