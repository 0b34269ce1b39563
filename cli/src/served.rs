//! A run of the simulator, with a record per request or without.

use rooflut::sim::Observer;
use rooflut::sim::figures::{BatchSizes, Digest, Goodput, LatencyLimits, Summary, TokenGaps};
use rooflut::sim::load::Source;
use rooflut_report::Rejections;

use crate::fleet::Fleet;

/// Made-up requests up to which each has a record, so that percentiles are exact.
pub(crate) const MOST_KEPT: u64 = 100_000;

/// What was served.
pub(crate) struct Served {
    pub(crate) summary: Summary,
    pub(crate) rejections: Rejections,
}

impl Served {
    /// Keeps a record of each request if `keep` says so.
    pub(crate) fn new(
        fleet: &Fleet<'_>,
        source: &mut impl Source,
        keep: bool,
        limits: Option<LatencyLimits>,
        onlooker: &mut impl Observer,
    ) -> Served {
        match keep {
            true => Served::kept(fleet, source, limits, onlooker),
            false => Served::digested(fleet, source, limits, onlooker),
        }
    }

    /// Keeps a record of each request.
    pub(crate) fn kept(
        fleet: &Fleet<'_>,
        source: &mut impl Source,
        limits: Option<LatencyLimits>,
        onlooker: &mut impl Observer,
    ) -> Served {
        let mut looks = (TokenGaps::new(), BatchSizes::new());
        let mut rejections = Rejections::default();
        let mut onlookers = (&mut rejections, (&mut looks, onlooker));
        let mut report = fleet.report(source, &mut onlookers);
        let (gaps, sizes) = looks;
        report.summary.itl = gaps.stats();
        report.summary.batch = sizes.stats();
        report.summary.goodput = limits.map(|limits| Goodput::of(limits, &report));
        Served {
            summary: report.summary,
            rejections,
        }
    }

    /// Keeps none, so that memory does not grow with the requests.
    fn digested(
        fleet: &Fleet<'_>,
        source: &mut impl Source,
        limits: Option<LatencyLimits>,
        onlooker: &mut impl Observer,
    ) -> Served {
        let mut digest = match limits {
            Some(limits) => Digest::new().with_limits(limits),
            None => Digest::new(),
        };
        let mut rejections = Rejections::default();
        let mut onlookers = (&mut rejections, (&mut digest, onlooker));
        let totals = fleet.totals(source, &mut onlookers);
        Served {
            summary: digest.into_summary(&totals),
            rejections,
        }
    }
}
