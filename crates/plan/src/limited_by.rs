//! The setting of servers that holds requests back, and what raising it gains.

use rooflut::sim::figures::LimitShares;
use rooflut_scenario::Run;
use serde::Serialize;

use crate::trial::Trial;

/// Share of the time below which a setting does not count.
const LEAST_SHARE: f64 = 0.1;

/// The setting of the servers that holds requests back for the longest time, and the answer with twice its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LimitedBy {
    /// The setting.
    pub setting: Setting,
    /// Share of the time during which the setting holds requests back, a mean over the seeds; at least 0.1.
    pub share: f64,
    /// Value of the setting; null for the KV cache, because its size follows from the memory.
    pub value: Option<u32>,
    /// Twice its value; null where servers with it are not possible.
    pub raised_to: Option<u32>,
    /// The highest rate with the raised value; null for a plan, and where there is none.
    pub rate: Option<f64>,
    /// The GPUs that are needed with the raised value; null for a rate, and if no number is enough.
    pub gpus: Option<u32>,
}

/// A setting that holds requests back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Setting {
    /// Maximum number of running requests.
    MaxNumSeqs,
    /// Maximum number of tokens in a step.
    MaxNumBatchedTokens,
    /// Size of the KV cache.
    KvCache,
}

impl LimitedBy {
    /// Returns the setting that holds requests back in the runs of `trials`, if one does.
    pub(crate) fn of(run: &Run, trials: &[Trial]) -> Option<LimitedBy> {
        let known = || trials.iter().filter_map(|trial| trial.limits);
        let count = known().count().max(1) as f64;
        let mean = |of: fn(&LimitShares) -> f64| known().map(|shares| of(&shares)).sum::<f64>() / count;
        let config = run.config();
        let settings = [
            (Setting::KvCache, mean(|shares| shares.kv_cache), None),
            (
                Setting::MaxNumBatchedTokens,
                mean(|shares| shares.max_num_batched_tokens),
                Some(config.max_num_batched_tokens),
            ),
            (Setting::MaxNumSeqs, mean(|shares| shares.max_num_seqs), Some(config.max_num_seqs)),
        ];
        let longest = settings.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let (setting, share, value) = longest.filter(|(_, share, _)| *share >= LEAST_SHARE)?;
        Some(LimitedBy { setting, share, value, raised_to: None, rate: None, gpus: None })
    }

    /// Returns the run with twice the value; `None` where it cannot be raised.
    pub(crate) fn raised(&mut self, run: &Run) -> Option<Run> {
        let twice = self.value?.checked_mul(2)?;
        let config = run.config();
        let raised = match self.setting {
            Setting::KvCache => return None,
            Setting::MaxNumSeqs => run.with_step_limits(twice, config.max_num_batched_tokens.max(twice)),
            Setting::MaxNumBatchedTokens => run.with_step_limits(config.max_num_seqs, twice),
        };
        let raised = raised.ok()?;
        self.raised_to = Some(twice);
        Some(raised)
    }
}
