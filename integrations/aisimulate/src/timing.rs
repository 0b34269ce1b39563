//! Step times for AISimulate.

use std::ops::RangeInclusive;

use aisimulate_core::engine::{EngineConfig, TimingModel, TimingModelConfig};
use rooflut::Deployment;
use rooflut::deployment::ServedModel;
use rooflut::sim::{PrefixCaching, SimConfig};
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch, StepModel};
use rooflut::table::Strictness;

use crate::TimingError;

/// Step times of a [`Deployment`], as the timing model of AISimulate's engines.
///
/// AISimulate passes the batch size and the mean lengths of the prompt chunks of a step, rounded down, and the batch
/// size and the sum of the lengths of its decoding requests:
///
/// | call | step of rooflut |
/// |---|---|
/// | `predict_prefill_ms(n, isl, prefix)` | `n` chunks, each [`Chunk::last`]`(isl - prefix, isl)` |
/// | `predict_decode_ms(n, active_kv_tokens, _, _)` | [`DecodeGroup::from_sum`]`(n, active_kv_tokens)` |
///
/// Assumes: each chunk of a prompt yields a token, because AISimulate does not tell the last chunk from the others.
///
/// Does not model: one step of prompt chunks and decoding requests. AISimulate asks for two steps and adds their times,
/// so weights are read twice and the overhead of the engine counts twice. Also not modelled: drafts (`aic_nextn`),
/// because the calls do not show their verification, and windows: decoding requests read the tokens behind a window as
/// well.
#[derive(Debug, Clone)]
pub struct RooflineTiming {
    model: ServedModel,
    config: SimConfig,
    strictness: Strictness,
}

impl RooflineTiming {
    /// Creates the timing model of `deployment`.
    ///
    /// # Errors
    /// The model does not fit into memory, or the deployment has data-parallel ranks, pipeline stages or speculative
    /// decoding: calls with batch size and lengths cannot express these.
    pub fn try_new(deployment: &Deployment) -> Result<RooflineTiming, TimingError> {
        let simulator = deployment.simulator().map_err(TimingError::Deployment)?;
        let config = *simulator.config();
        let stages = config.pipeline_parallel_size.to_string();
        let drafts = config.speculation.map_or(0, |drafts| drafts.draft_tokens());
        let settings = [("pipeline_parallel_size", "1", stages), ("draft_tokens", "0", drafts.to_string())];
        check_settings(settings, "change the deployment")?;
        Ok(RooflineTiming { model: simulator.model().clone(), config, strictness: Strictness::ANY })
    }

    /// Sets the least certain step time that is accepted; default: any. Calls for less certain steps return an error,
    /// and the error ends the run. With [`inside`](Strictness::inside), so do calls for steps outside of the measured
    /// tables.
    #[must_use]
    pub fn with_strictness(self, strictness: Strictness) -> RooflineTiming {
        RooflineTiming { strictness, ..self }
    }

    /// Returns the configuration of AISimulate's engine for the server of the deployment: its KV blocks and limits.
    ///
    /// # Errors
    /// Layers with a window or a state: AISimulate describes their blocks in bytes (`kv_cache_groups`, `state_cache`).
    /// A setting that `EngineConfig` does not have: a policy other than first come, first served, a watermark, a
    /// maximum queue length, or a limit of tokens per step and prompt.
    pub fn engine_config(&self) -> Result<EngineConfig, TimingError> {
        let config = &self.config;
        let groups = config.kv_groups;
        let (full, limited, states) = (groups.full, groups.limited, groups.states);
        let kinds = format!("{full} full, {limited} limited, {states} of states");
        let text = |limit: Option<u32>| limit.map_or("none".to_owned(), |limit| limit.to_string());
        let settings = [
            ("kv_groups", "1 full, 0 limited, 0 of states", kinds),
            ("policy", "fcfs", config.policy.to_string()),
            ("watermark", "0", config.watermark.to_string()),
            ("max_waiting", "none", text(config.max_waiting)),
            ("long_prefill_token_threshold", "none", text(config.long_prefill_token_threshold)),
        ];
        check_settings(settings, "set the fields of EngineConfig yourself")?;
        Ok(EngineConfig {
            num_gpu_blocks: config.kv_blocks as usize,
            block_size: config.block_size as usize,
            max_model_len: Some(config.max_model_len as usize),
            max_num_seqs: config.max_num_seqs as usize,
            max_num_batched_tokens: config.max_num_batched_tokens as usize,
            enable_prefix_caching: config.prefix_caching == PrefixCaching::Enabled,
            // With this name, an engine that is built without the timing model fails instead of using another.
            timing_model: TimingModelConfig::External { provider: "rooflut".to_owned(), config: Default::default() },
            ..EngineConfig::default()
        })
    }

    fn batch_size(&self, found: usize) -> Result<u32, TimingError> {
        let remedy = match found {
            0 => "leave empty batches out",
            _ => "build the deployment with the max_num_seqs of AISimulate",
        };
        in_range("batch_size", found, 1..=self.config.max_num_seqs, remedy)
    }

    fn length(&self, argument: &'static str, found: usize) -> Result<u32, TimingError> {
        let remedy = match found {
            0 => "leave requests without tokens out",
            _ => "lower max_model_len of AISimulate to the deployment's max_model_len",
        };
        in_range(argument, found, 1..=self.config.max_model_len, remedy)
    }

    /// Returns the time of a step in milliseconds.
    fn step_ms(&self, batch: &StepBatch<'_>) -> Result<f64, TimingError> {
        if self.strictness == Strictness::ANY {
            return Ok(self.model.total_time(batch).ms());
        }
        let step = self.model.step_time(batch);
        step.check(self.strictness).map_err(TimingError::Uncertain)?;
        Ok(step.total().ms())
    }
}

impl TimingModel for RooflineTiming {
    fn prefill_batch_validation_can_fail(&self) -> bool {
        false
    }

    fn predict_prefill_ms(&self, batch_size: usize, mean_isl: usize, mean_prefix: usize) -> anyhow::Result<f64> {
        let requests = self.batch_size(batch_size)?;
        let kv_len = self.length("mean_isl", mean_isl)?;
        let remedy = "leave prompts without new tokens out of the batch";
        let context = in_range("mean_prefix", mean_prefix, 0..=kv_len - 1, remedy)?;
        let chunk = Chunk::last(kv_len - context, kv_len).map_err(TimingError::Batch)?;
        let chunks = vec![chunk; requests as usize];
        let batch = StepBatch { prefill: &chunks, decode: &[] };
        Ok(self.step_ms(&batch)?)
    }

    fn predict_decode_ms(
        &self,
        batch_size: usize,
        active_kv_tokens: usize,
        _mean_context_length: usize,
        _total_kv_tokens: usize,
    ) -> anyhow::Result<f64> {
        let requests = self.batch_size(batch_size)?;
        let mean = active_kv_tokens.div_ceil(batch_size);
        self.length("active_kv_tokens / batch_size", mean)?;
        let decode = DecodeGroup::from_sum(requests, active_kv_tokens as u64).map_err(TimingError::Batch)?;
        let batch = StepBatch { prefill: &[], decode: &[decode] };
        Ok(self.step_ms(&batch)?)
    }
}

/// Checks settings of which only one value is translated: name, this value, and that of the deployment.
fn check_settings<const N: usize>(
    settings: [(&'static str, &'static str, String); N],
    remedy: &'static str,
) -> Result<(), TimingError> {
    let mut others = settings.into_iter().filter(|(_, expected, found)| expected != found);
    match others.next() {
        None => Ok(()),
        Some((setting, expected, found)) => Err(TimingError::Unsupported { setting, expected, found, remedy }),
    }
}

fn in_range(
    argument: &'static str,
    found: usize,
    accepted: RangeInclusive<u32>,
    remedy: &'static str,
) -> Result<u32, TimingError> {
    let value = u32::try_from(found).ok().filter(|value| accepted.contains(value));
    value.ok_or(TimingError::OutOfRange { argument, accepted, found, remedy })
}
