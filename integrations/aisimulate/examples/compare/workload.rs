//! Requests that all simulators serve.

use std::error::Error;

use rooflut::engine::stacks;
use rooflut::sim::Request;
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, SyntheticLoad};
use rooflut::{Deployment, model, table::sets};

/// A server and its requests.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) deployment: Deployment,
    pub(crate) requests: Vec<Request>,
}

impl Workload {
    /// Returns requests of one length.
    pub(crate) fn even() -> Result<Workload, Box<dyn Error>> {
        let name = "Even: 2,000 requests of 512 + 128 tokens, 12 per second; 2,048 tokens per step";
        let mix = RequestMix::new(Lengths::try_fixed(512)?, Lengths::try_fixed(128)?);
        Ok(Workload { name, deployment: llama(2_048)?, requests: requests(12.0, mix)? })
    }

    /// Returns requests of widely spread lengths, for a server whose steps hold several prompts.
    pub(crate) fn spread() -> Result<Workload, Box<dyn Error>> {
        let name = "Spread: 2,000 requests, prompts lognormal:400,1.5@16..32768, outputs \
                    lognormal:128,1@8..2048, 5 per second; 8,192 tokens per step";
        let prompt = Lengths::try_lognormal(400.0, 1.5, 16..=32_768)?;
        let output = Lengths::try_lognormal(128.0, 1.0, 8..=2_048)?;
        Ok(Workload { name, deployment: llama(8_192)?, requests: requests(5.0, RequestMix::new(prompt, output))? })
    }
}

/// Returns Llama 3.1 8B on one H100.
pub(crate) fn llama(max_num_batched_tokens: u32) -> Result<Deployment, Box<dyn Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let builder = Deployment::builder(llama.spec, &sets::H100).engine(&stacks::VLLM_0_15_1);
    Ok(builder.max_num_batched_tokens(max_num_batched_tokens).max_num_seqs(128).build()?)
}

fn requests(per_s: f64, mix: RequestMix) -> Result<Vec<Request>, Box<dyn Error>> {
    let load = SyntheticLoad::new(Arrivals::try_poisson(per_s, 1)?, mix, 1);
    Ok(load.take(2_000).collect())
}
