//! Servers that are lost for some time.

use alloc::vec::Vec;

use crate::error::Invalid;
use crate::sim::SimConfig;
use crate::units::Seconds;

/// A server that is lost at a time and back at a later one.
///
/// The requests of a lost server start again elsewhere: the router sends them to another server at once, which
/// computes prompt and output from the beginning. A [`RequestRecord`](crate::sim::RequestRecord) has the arrival of the
/// request and the times of the attempt that finished, so TTFT and E2E contain the lost time.
/// [`Totals::restarted`](crate::sim::figures::Totals::restarted) counts these requests. The server comes back with an
/// empty prefix cache. The router sends nothing to a lost server; while all servers that can serve a request are lost,
/// it waits and is sent when the first of them is back.
///
/// Assumes: the router knows at once that a server is lost, or back. A step that has begun ends; if it yields the last
/// token of a request, the request has finished. Of the batches in the stages of a pipeline, this is the one that ends
/// next. A request that starts again passes the API server once more, and the patience of its client begins anew. Steps
/// of a lost server count in the totals.
///
/// ```
/// use rooflut::sim::cluster::{Cluster, Outage, Router};
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::{Request, SimConfig};
/// use rooflut::units::Seconds;
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
/// #         Seconds::from_us(batch.tokens() as f64)
/// #     }
/// # }
/// // `Linear` is a latency model of 1 us per token. The request needs 512 us, but its server is lost after 100 us.
/// let lost = Outage::try_new(0, Seconds::from_us(100.0), Seconds::from_us(10_000.0))?;
/// let servers = Cluster::try_new(Linear, SimConfig::new(8_192, 1_000), 2, Router::RoundRobin)?.with_outages(vec![lost])?;
/// let requests = [Request::new(512, 2)];
/// let report = servers.run_source(&mut RequestList::new(&requests), &mut ())?;
/// // The step that has begun ends, but the other server computes the prompt again from 100 us on.
/// let timing = report.records[0].timing().unwrap();
/// assert_eq!((timing.replica, timing.first_token_ns), (1, 612_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Outage {
    /// The server, counted from 0 in the order of the pools, prefill servers first. A server of several data-parallel
    /// ranks is one server.
    pub server: u32,
    /// When it is lost, in nanoseconds from the start.
    pub from_ns: u64,
    /// When it is back, in nanoseconds from the start.
    pub to_ns: u64,
}

impl Outage {
    /// Creates an outage of `server` between two times from the start.
    ///
    /// # Errors
    /// [`Invalid`] for times that are negative or not finite, or beyond [`SimConfig::LAST_ARRIVAL_NS`], and for a server
    /// that is back before it is lost, or at that time.
    pub fn try_new(server: u32, from: Seconds, to: Seconds) -> Result<Outage, Invalid> {
        for time in [from, to] {
            if !(0.0..=SimConfig::LAST_ARRIVAL_NS as f64 / 1e9).contains(&time.0) {
                let text = "expected times from 0 to 292 years, in seconds, found {}";
                return Err(Invalid::new("outage", text, &[time.0.into()]));
            }
        }
        let outage = Outage { server, from_ns: from.to_nanos(), to_ns: to.to_nanos() };
        outage.validate()?;
        Ok(outage)
    }

    fn validate(&self) -> Result<(), Invalid> {
        if self.to_ns <= self.from_ns || self.to_ns > SimConfig::LAST_ARRIVAL_NS {
            let text = "expected an end after its beginning at {} s and before 292 years, found {} s";
            let seconds = |ns: u64| ns as f64 / 1e9;
            let values = [seconds(self.from_ns).into(), seconds(self.to_ns).into()];
            return Err(Invalid::new("outage", text, &values));
        }
        Ok(())
    }
}

/// Checks that these outages are of the first `servers` servers, and that no two of a server overlap.
pub(super) fn validate(outages: &[Outage], servers: u64) -> Result<(), Invalid> {
    let mut sorted: Vec<&Outage> = outages.iter().collect();
    sorted.sort_unstable_by_key(|outage| (outage.server, outage.from_ns));
    for outage in &sorted {
        outage.validate()?;
        if u64::from(outage.server) >= servers {
            let text = "expected a server from 0 to {}, found {}";
            return Err(Invalid::new("outage", text, &[servers.saturating_sub(1).into(), outage.server.into()]));
        }
    }
    for pair in sorted.windows(2) {
        if let [first, second] = pair
            && first.server == second.server
            && first.to_ns > second.from_ns
        {
            let text =
                "expected one at a time of server {}, found one from {} s on before the end of another; join them";
            let from_s = second.from_ns as f64 / 1e9;
            return Err(Invalid::new("outage", text, &[second.server.into(), from_s.into()]));
        }
    }
    Ok(())
}
