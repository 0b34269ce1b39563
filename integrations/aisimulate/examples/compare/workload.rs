//! Requests that all simulators serve.

use rooflut::sim::load::{Arrivals, Lengths, RequestMix, SyntheticLoad};
use rooflut::sim::{Request, SimError};

/// Requests and their name.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) requests: Vec<Request>,
}

impl Workload {
    /// Returns requests of one length.
    pub(crate) fn even() -> Result<Workload, SimError> {
        let name = "Even: 2,000 requests of 512 + 128 tokens, 12 per second";
        let mix = RequestMix::new(Lengths::try_fixed(512)?, Lengths::try_fixed(128)?);
        Workload::try_new(name, 12.0, mix)
    }

    /// Returns requests of widely spread lengths.
    pub(crate) fn spread() -> Result<Workload, SimError> {
        let name = "Spread: 2,000 requests, prompts lognormal:400,1.5@16..32768, outputs lognormal:128,1@8..2048, \
                    5 per second";
        let prompt = Lengths::try_lognormal(400.0, 1.5, 16..=32_768)?;
        let output = Lengths::try_lognormal(128.0, 1.0, 8..=2_048)?;
        Workload::try_new(name, 5.0, RequestMix::new(prompt, output))
    }

    fn try_new(name: &'static str, per_s: f64, mix: RequestMix) -> Result<Workload, SimError> {
        let load = SyntheticLoad::new(Arrivals::try_poisson(per_s, 1)?, mix, 1);
        let requests = load.take(2_000).collect();
        Ok(Workload { name, requests })
    }
}
