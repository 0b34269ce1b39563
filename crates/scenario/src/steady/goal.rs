//! Goals of runs.

use rooflut::sim::RequestRecord;
use rooflut::sim::figures::LatencyLimits;
use rooflut::units::Seconds;

use crate::value::Latency;

/// The goal that ends a run whose number of requests is not given.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Goal {
    /// The means of TTFT, TPOT and end-to-end latency are known to 3 %.
    #[default]
    Figures,
    /// It is clear whether all these bounds hold, or that the servers do not keep up with the load. The run ends at
    /// once; what is in flight is left unserved.
    Bounds(Vec<Bound>),
}

/// A bound on the mean of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The score of each request.
    pub score: Score,
    /// The largest mean.
    pub at_most: f64,
}

/// A number for each request that was served or abandoned. A percentile of a latency is within a limit if the mean of the
/// requests [`Beyond`](Score::Beyond) is within a share, so bounds on means suffice.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Score {
    /// The latency, seconds.
    Latency(Latency),
    /// 1 if the latency is above a limit, else 0.
    Beyond(Latency, Seconds),
    /// 1 if a limit is missed, else 0.
    Missed(LatencyLimits),
}

impl Bound {
    /// Returns the number of requests from which on a mean within the bound means something: ten of them are expected
    /// beyond it, where it is one on a share.
    pub(crate) fn least_requests(&self) -> u64 {
        const EXPECTED: f64 = 10.0;
        match self.score {
            Score::Latency(_) => 0,
            Score::Beyond(..) | Score::Missed(_) => (EXPECTED / self.at_most).ceil() as u64,
        }
    }
}

impl Score {
    /// Returns the score of a request; `None` if it has no such latency.
    pub(crate) fn of(&self, record: &RequestRecord) -> Option<f64> {
        match self {
            Score::Latency(latency) => latency.of(record).map(|time| time.0),
            Score::Beyond(latency, limit) => {
                let is_beyond = |time| if time > *limit { 1.0 } else { 0.0 };
                latency.of(record).map(is_beyond)
            }
            Score::Missed(limits) => {
                if limits.are_met_by(record) {
                    Some(0.0)
                } else {
                    Some(1.0)
                }
            }
        }
    }
}
