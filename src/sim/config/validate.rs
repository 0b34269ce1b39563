//! Contradictions of a configuration.

use super::{PrefixCaching, SimConfig};
use crate::engine::{DraftScheduling, PadSpecDecode, Scheduling};
use crate::model::{Parallelism, Span};
use crate::sim::SimError;

impl SimConfig {
    /// Checks that a step can run under these limits.
    pub(crate) fn validate(&self) -> Result<(), SimError> {
        let limits = [
            ("max_num_seqs", self.max_num_seqs),
            ("max_num_batched_tokens", self.max_num_batched_tokens),
            ("long_prefill_token_threshold", self.long_prefill_token_threshold.unwrap_or(u32::MAX)),
            ("max_model_len", self.max_model_len),
            ("kv_blocks", self.kv_blocks),
            ("block_size", self.block_size),
            ("kv_groups", self.kv_groups.count()),
            ("pipeline_parallel_size", self.pipeline_parallel_size),
        ];
        if let Some((limit, _)) = limits.into_iter().find(|(_, value)| *value == 0) {
            return Err(SimError::ZeroLimit { limit });
        }
        if !(0.0..1.0).contains(&self.watermark) {
            return Err(SimError::InvalidParameter {
                parameter: "watermark",
                expected: "a number from 0 to below 1",
                found: self.watermark,
            });
        }
        self.check_groups()?;
        let tokens_per_request = self.tokens_per_request();
        let needed = u64::from(self.max_num_seqs) * u64::from(tokens_per_request);
        if u64::from(self.max_num_batched_tokens) < needed {
            return Err(SimError::BudgetBelowSequences {
                max_num_batched_tokens: self.max_num_batched_tokens,
                max_num_seqs: self.max_num_seqs,
                tokens_per_request,
            });
        }
        self.check_pipeline()?;
        self.check_drafts()
    }

    fn check_groups(&self) -> Result<(), SimError> {
        let wrong_span = match self.kv_groups.span {
            _ if self.kv_groups.limited == 0 => None,
            Span::Full | Span::Window(0) => Some(("a window or chunk of at least 1 token", 0)),
            Span::Chunk(tokens) if tokens == 0 || tokens % self.block_size != 0 => {
                Some(("chunks of whole KV blocks", tokens))
            }
            Span::Window(_) | Span::Chunk(_) => None,
        };
        if let Some((expected, found)) = wrong_span {
            return Err(SimError::InvalidParameter { parameter: "kv_groups.span", expected, found: f64::from(found) });
        }
        if self.kv_groups.states > 0 && self.prefix_caching == PrefixCaching::Enabled {
            return Err(SimError::CachedStates);
        }
        let is_mtp = self.speculation.is_some_and(|drafts| drafts.is_mtp());
        if is_mtp && (self.kv_groups.count() > 1 || self.kv_groups.limited > 0) {
            return Err(SimError::MtpGroups);
        }
        Ok(())
    }

    fn check_pipeline(&self) -> Result<(), SimError> {
        let stages = self.pipeline_parallel_size;
        if stages > Parallelism::MAX_PP {
            return Err(SimError::InvalidParameter {
                parameter: "pipeline_parallel_size",
                expected: "at most 64 stages",
                found: f64::from(stages),
            });
        }
        if !self.is_pipelined() {
            return Ok(());
        }
        if self.speculation.is_some() {
            return Err(SimError::PipelinedDrafts { stages });
        }
        match self.rules.scheduling {
            Scheduling::Synchronous => Ok(()),
            Scheduling::OneStepAhead => Err(SimError::PipelineAhead { stages }),
        }
    }

    fn check_drafts(&self) -> Result<(), SimError> {
        if let Some(speculation) = self.speculation
            && self.rules.scheduling == Scheduling::OneStepAhead
        {
            let rule = self.rules.draft_scheduling;
            let possible = match rule {
                DraftScheduling::Synchronous => false,
                DraftScheduling::HeadsAhead => speculation.lookahead_tokens() > 0,
                DraftScheduling::Ahead => true,
            };
            if !possible {
                return Err(SimError::DraftsAhead { rule });
            }
        }
        if let Some(threshold) = self.long_prefill_token_threshold
            && threshold <= self.draft_tokens()
            && self.rules.pad_spec_decode != PadSpecDecode::Never
        {
            return Err(SimError::ThresholdBelowDrafts {
                long_prefill_token_threshold: threshold,
                draft_tokens: self.draft_tokens(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString;

    use super::*;
    use crate::sim::Speculation;

    #[test]
    fn a_watermark_is_a_share_below_one() {
        let config = SimConfig::new(64, 99);
        for (watermark, blocks) in [(0.0, 0), (0.01, 1), (0.025, 2), (0.99, 99)] {
            let config = config.with_watermark(watermark);
            assert_eq!(config.validate(), Ok(()));
            assert_eq!(config.watermark_blocks(), blocks);
        }
        for watermark in [-0.1, 1.0, f64::NAN] {
            let error = config.with_watermark(watermark).validate().unwrap_err();
            let expected = format!("watermark: expected a number from 0 to below 1, found {watermark}");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn every_zero_limit_is_refused_by_name() {
        let limits: [fn(&mut SimConfig) -> &mut u32; 6] = [
            |config| &mut config.max_num_seqs,
            |config| &mut config.max_num_batched_tokens,
            |config| config.long_prefill_token_threshold.insert(0),
            |config| &mut config.max_model_len,
            |config| &mut config.kv_blocks,
            |config| &mut config.block_size,
        ];
        let names = limits.map(|limit| {
            let mut config = SimConfig::new(64, 4);
            *limit(&mut config) = 0;
            match config.validate() {
                Err(SimError::ZeroLimit { limit }) => limit,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(
            names,
            [
                "max_num_seqs",
                "max_num_batched_tokens",
                "long_prefill_token_threshold",
                "max_model_len",
                "kv_blocks",
                "block_size"
            ]
        );
    }

    #[test]
    fn speculation_needs_room_for_its_drafts() {
        let mut config = SimConfig::new(64, 4);
        let speculation = Speculation::try_new(3, 0.5, 0).unwrap();
        config.speculation = Some(speculation);
        config.rules.scheduling = Scheduling::Synchronous;
        config.rules.pad_spec_decode = PadSpecDecode::Never;
        config.long_prefill_token_threshold = Some(3);
        assert_eq!(config.validate(), Ok(()));
        config.rules.pad_spec_decode = PadSpecDecode::Always;
        let refused = SimError::ThresholdBelowDrafts { long_prefill_token_threshold: 3, draft_tokens: 3 };
        assert_eq!(config.validate(), Err(refused));
        config.long_prefill_token_threshold = Some(4);
        assert_eq!(config.validate(), Ok(()));
        config.rules.pad_spec_decode = PadSpecDecode::Never;
        config.long_prefill_token_threshold = None;
        config.max_num_seqs = 513;
        let message = config.validate().unwrap_err().to_string();
        assert!(message.contains("max_num_seqs x 4 tokens (2052), found 2048"), "{message}");
    }

    #[test]
    fn drafts_ahead_need_an_engine_that_supports_them() {
        let ngram = Speculation::try_new(3, 0.5, 0).unwrap();
        let head = ngram.with_draft_model();
        for (rule, drafts, possible) in [
            (DraftScheduling::Synchronous, head, false),
            (DraftScheduling::HeadsAhead, ngram, false),
            (DraftScheduling::HeadsAhead, head, true),
            (DraftScheduling::Ahead, ngram, true),
        ] {
            let mut config = SimConfig::new(64, 4).with_speculation(drafts);
            config.rules.draft_scheduling = rule;
            let refused = Err(SimError::DraftsAhead { rule });
            assert_eq!(config.validate(), if possible { Ok(()) } else { refused });
            config.rules.scheduling = Scheduling::Synchronous;
            assert_eq!(config.validate(), Ok(()));
        }
    }
}
