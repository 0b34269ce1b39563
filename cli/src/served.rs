//! A run of the simulator, with a record per request or without.

use rooflut::sim::{
    Digest, Goodput, LatencyLimits, Observer, Request, RequestRecord, Simulator, Stream, Summary,
    TokenGaps,
};
use rooflut::step::Tally;

use crate::progress::Bar;
use crate::rejections::Rejections;

/// Made-up requests up to which each has a record, so that percentiles are exact.
pub(crate) const MOST_KEPT: u32 = 100_000;

/// What was served.
pub(crate) struct Served {
    pub(crate) summary: Summary,
    pub(crate) rejections: Rejections,
    /// In the order of the requests; empty where none were kept.
    pub(crate) records: Vec<RequestRecord>,
}

impl Served {
    /// Keeps a record of each request.
    pub(crate) fn kept(
        simulator: &Simulator<&Tally<'_>>,
        requests: &[Request],
        limits: Option<LatencyLimits>,
        files: &mut impl Observer,
    ) -> Served {
        let mut gaps = TokenGaps::new();
        let mut rejections = Rejections::default();
        let mut onlookers = (Bar::new(), (&mut rejections, (&mut gaps, files)));
        let mut report = simulator.run_with(requests, &mut onlookers);
        report.summary.itl = gaps.stats();
        report.summary.goodput = limits.map(|limits| Goodput::of(limits, &report));
        Served {
            summary: report.summary,
            rejections,
            records: report.records,
        }
    }

    /// Keeps none, so that memory does not grow with the requests.
    pub(crate) fn digested(
        simulator: &Simulator<&Tally<'_>>,
        requests: impl Iterator<Item = Request>,
        limits: Option<LatencyLimits>,
        files: &mut impl Observer,
    ) -> Served {
        let mut digest = match limits {
            Some(limits) => Digest::new().with_limits(limits),
            None => Digest::new(),
        };
        let mut rejections = Rejections::default();
        let mut onlookers = (Bar::new(), (&mut rejections, (&mut digest, files)));
        let totals = simulator.serve(&mut Stream::new(requests), &mut onlookers);
        Served {
            summary: digest.into_summary(&totals),
            rejections,
            records: Vec::new(),
        }
    }
}
