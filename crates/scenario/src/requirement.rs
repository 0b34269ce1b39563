//! The limits that a run is required to meet.

use rooflut_error::{Error, Kind, key};
use rooflut_report::LatencyMs;

use crate::number::grouped;
use crate::outcome::Outcome;
use crate::value::Latency;

impl Outcome<'_> {
    /// Returns what the run misses of [`Output::goodput`](crate::Output::goodput), each with what was found; nothing if
    /// it meets all limits.
    ///
    /// With [`Output::attainment`](crate::Output::attainment), this share of the requests must meet all limits together;
    /// rejected and abandoned ones do not. Without it, the p99 of each latency must be within its limit and no request
    /// may be rejected or abandoned.
    ///
    /// # Errors
    /// A p99 that is not known of so few requests.
    pub fn missed(&self) -> Result<Vec<String>, Error> {
        let (summary, output) = (&self.summary, &self.run.scenario().output);
        if let Some((share, goodput)) = output.attainment.zip(summary.goodput) {
            let (met, requests) = (goodput.met, summary.completed + summary.rejected);
            let is_missed = (met as f64) < share * requests as f64;
            let found = format!(
                "{} of {} requests meet all limits, fewer than the share of {share}",
                grouped(met),
                grouped(requests)
            );
            return Ok(Vec::from_iter(is_missed.then_some(found)));
        }
        let abandoned = self.totals.abandoned;
        let unserved = [(self.totals.rejected - abandoned, "rejected"), (abandoned, "abandoned")].into_iter();
        let unserved = unserved.filter(|(requests, _)| *requests > 0);
        let mut missed: Vec<String> =
            unserved.map(|(requests, end)| format!("{} requests are {end}", grouped(requests))).collect();
        for limit in output.goodput.iter().flatten() {
            let stats = match limit.latency() {
                Latency::Ttft => summary.ttft,
                Latency::Tpot => summary.tpot,
                Latency::E2e => summary.e2e,
            };
            let name = limit.latency().name().to_uppercase();
            match LatencyMs::of(stats, summary.completed).p99 {
                Some(found) if found > limit.ms() => {
                    missed.push(format!("the p99 of {name} is {found:.1} ms, above {} ms", limit.ms()));
                }
                None if missed.is_empty() => return Err(unknown(&name, summary.completed)),
                _ => (),
            }
        }
        Ok(missed)
    }

    /// Returns whether the required limits are met; `None` if none are required, or if it is not known.
    pub(crate) fn limits_met(&self) -> Option<bool> {
        let is_required = self.run.scenario().output.require == Some(true);
        let missed = is_required.then(|| self.missed().ok())??;
        Some(missed.is_empty() && !self.is_overloaded())
    }
}

fn unknown(latency: &str, completed: u64) -> Error {
    let text = format!(
        "the p99 of {latency}, which {} asks for, is not known of {} requests; use more, or give {}",
        key("require"),
        grouped(completed),
        key("attainment")
    );
    Error::new(Kind::NoAnswer, text)
}
