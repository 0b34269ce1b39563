//! Requests that the KV cache of a deployment holds.

use super::DeploymentBuilder;
use crate::error::Error;
use crate::model::MemoryPlan;
use crate::sim::SimConfig;

/// Memory of a deployment and the requests that it holds, whether or not the tables know its kernels.
///
/// Blocks, tokens and requests are those of one rank; data-parallel ranks have as many each.
///
/// ```
/// use rooflut::table::sets;
/// use rooflut::{Deployment, model};
///
/// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
/// let capacity = Deployment::builder(llama.spec, &sets::H100).capacity()?;
/// assert_eq!(capacity.longest_request(), 131_072);
/// // As many tokens in all, whether they are a few long requests or many short ones.
/// assert!(capacity.requests_of(131_072) > 3.0);
/// assert!(capacity.requests_of(1_000) > 400.0);
/// # Ok::<(), rooflut::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    memory: MemoryPlan,
    config: SimConfig,
}

impl DeploymentBuilder {
    /// Returns what the memory holds, without a look at the kernels. A given number of KV blocks does not count.
    ///
    /// # Errors
    /// Dimensions or limits that are out of range, ranks that cannot share the model, and
    /// [`ErrorKind::DoesNotFit`](crate::ErrorKind::DoesNotFit): not even one KV block fits.
    pub fn capacity(&self) -> Result<Capacity, Error> {
        let longest = self.longest_request()?;
        let given = self.clone().with_defaults(longest);
        let memory = given.memory_plan(given.parallelism)?;
        let config = given.server_config(longest, memory.kv_blocks);
        Ok(Capacity { memory, config })
    }
}

impl Capacity {
    /// Returns the memory use of one GPU.
    pub fn memory(&self) -> &MemoryPlan {
        &self.memory
    }

    /// Returns the tokens that the KV cache holds if all requests have `tokens` each, as vLLM logs them at startup for
    /// the longest request: layers with a window or a state hold more of long requests.
    pub fn kv_tokens(&self, tokens: u32) -> u64 {
        (self.requests_of(tokens) * f64::from(tokens)) as u64
    }

    /// Returns the longest request, prompt and output together, in tokens: that of the model, or less where the KV
    /// cache holds less.
    pub fn longest_request(&self) -> u32 {
        let SimConfig { kv_groups, kv_blocks, block_size, max_model_len, .. } = self.config;
        let held = kv_groups.longest(kv_blocks, block_size, self.config.in_flight_tokens());
        max_model_len.min(held)
    }

    /// Returns the number of requests of `tokens` each, prompt and output together, that the KV cache holds at the same
    /// time: vLLM's "maximum concurrency".
    pub fn requests_of(&self, tokens: u32) -> f64 {
        let SimConfig { kv_groups, kv_blocks, block_size, .. } = self.config;
        let blocks = kv_groups.blocks(tokens, block_size, self.config.in_flight_tokens());
        f64::from(kv_blocks) / f64::from(blocks.max(1))
    }
}
