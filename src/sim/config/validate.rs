//! Contradictions of a configuration.

use super::{PrefixCaching, Role, SimConfig};
use crate::engine::{DraftScheduling, PadSpecDecode, Scheduling};
use crate::error::{Invalid, MessagePart};
use crate::model::{Parallelism, Span};

impl SimConfig {
    /// Checks that a step can run under these limits.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
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
            return Err(Invalid::zero(limit));
        }
        if !(0.0..1.0).contains(&self.watermark) {
            let text = "expected a number from 0 to below 1, found {}";
            return Err(Invalid::new("watermark", text, &[self.watermark.into()]));
        }
        if self.patience_ns == Some(0) {
            return Err(Invalid::zero("patience_ns"));
        }
        self.check_groups()?;
        let tokens_per_request = self.tokens_per_request();
        let needed = u64::from(self.max_num_seqs) * u64::from(tokens_per_request);
        if u64::from(self.max_num_batched_tokens) < needed {
            let (needed, found) = (needed.into(), self.max_num_batched_tokens.into());
            let invalid = |text, values: &[MessagePart]| Err(Invalid::new("max_num_batched_tokens", text, values));
            return match tokens_per_request {
                1 => invalid(
                    "expected at least `max_num_seqs` ({}), found {}; raise it, or lower `max_num_seqs`",
                    &[needed, found],
                ),
                tokens => invalid(
                    "expected at least `max_num_seqs` x {} tokens ({}), found {}; raise it, or lower `max_num_seqs`",
                    &[tokens.into(), needed, found],
                ),
            };
        }
        self.check_pipeline()?;
        self.check_drafts()?;
        self.check_role()
    }

    /// Refuses what is not modelled on separate prefill and decode servers.
    fn check_role(&self) -> Result<(), Invalid> {
        if self.role == Role::Whole {
            return Ok(());
        }
        if self.speculation.is_some() {
            let text = "expected none on separate prefill and decode servers, found some, which is not modelled; use one \
                of the two";
            return Err(Invalid::new("speculation", text, &[]));
        }
        if self.kv_groups.states > 0 {
            let text = "expected a model without layers that keep a state (gated delta nets), whose transfer is not \
                modelled; use servers for prefill and decode";
            return Err(Invalid::new("disaggregated prefill", text, &[]));
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<(), Invalid> {
        let wrong_span = match self.kv_groups.span {
            _ if self.kv_groups.limited == 0 => None,
            Span::Full | Span::Window(0) => Some(("expected a window or chunk of at least 1 token, found {}", 0)),
            Span::Chunk(tokens) if tokens == 0 || tokens % self.block_size != 0 => {
                Some(("expected chunks of whole KV blocks, found {}", tokens))
            }
            Span::Window(_) | Span::Chunk(_) => None,
        };
        if let Some((text, found)) = wrong_span {
            return Err(Invalid::new("kv_groups.span", text, &[found.into()]));
        }
        if self.kv_groups.states > 0 && self.prefix_caching == PrefixCaching::Enabled {
            let text = "expected off for a model whose layers keep a state (gated delta nets), found on; turn it off, as \
                caches of states are not modelled";
            return Err(Invalid::new("prefix_caching", text, &[]));
        }
        let is_mtp = self.speculation.is_some_and(|drafts| drafts.is_mtp());
        if is_mtp && (self.kv_groups.count() > 1 || self.kv_groups.limited > 0) {
            let text = "expected a model whose layers attend to all tokens with an MTP layer or an EAGLE-3 head, found \
                windows, chunks or several kinds of layers, whose prefix hits with drafts are not modelled; use a draft \
                model";
            return Err(Invalid::new("speculation", text, &[]));
        }
        Ok(())
    }

    fn check_pipeline(&self) -> Result<(), Invalid> {
        let stages = self.pipeline_parallel_size;
        if stages > Parallelism::MAX_PP {
            let text = "expected at most {} stages, found {}";
            let values = [Parallelism::MAX_PP.into(), stages.into()];
            return Err(Invalid::new("pipeline_parallel_size", text, &values));
        }
        if !self.is_pipelined() {
            return Ok(());
        }
        if self.speculation.is_some() {
            let text =
                "expected none with {} pipeline stages, found some, which is not modelled; use one pipeline stage";
            return Err(Invalid::new("speculation", text, &[stages.into()]));
        }
        match self.rules.scheduling {
            Scheduling::Synchronous => Ok(()),
            Scheduling::OneStepAhead => {
                let text = "expected sync with {} pipeline stages, whose steps wait for the tokens before them, found \
                    async; leave it out";
                Err(Invalid::new("scheduling", text, &[stages.into()]))
            }
        }
    }

    fn check_drafts(&self) -> Result<(), Invalid> {
        if let Some(speculation) = self.speculation
            && self.rules.scheduling == Scheduling::OneStepAhead
        {
            let (possible, found) = match self.rules.draft_scheduling {
                DraftScheduling::Synchronous => (false, "which this engine does not support"),
                DraftScheduling::HeadsAhead => (
                    speculation.lookahead_tokens() > 0,
                    "which this engine supports with an EAGLE or MTP head as draft model only",
                ),
                DraftScheduling::Ahead => (true, ""),
            };
            if !possible {
                let text =
                    "expected sync with speculative decoding, found async, {}; leave it out, or use a later engine";
                return Err(Invalid::new("scheduling", text, &[found.into()]));
            }
        }
        if let Some(threshold) = self.long_prefill_token_threshold
            && threshold <= self.draft_tokens()
            && self.rules.pad_spec_decode != PadSpecDecode::Never
        {
            let text = "expected more than `draft_tokens` ({}), found {}, at which this engine fails when a prompt is \
                cached; raise it";
            let values = [self.draft_tokens().into(), threshold.into()];
            return Err(Invalid::new("long_prefill_token_threshold", text, &values));
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
            let refused = config.validate().unwrap_err();
            assert_eq!(refused, Invalid::zero(refused.setting()));
            refused.setting()
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
        let refused = config.validate().unwrap_err();
        let expected = "long_prefill_token_threshold: expected more than draft_tokens (3), found 3, at which this engine \
            fails when a prompt is cached; raise it";
        assert_eq!(refused.to_string(), expected);
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
            let why = match rule {
                DraftScheduling::HeadsAhead => "supports with an EAGLE or MTP head as draft model only",
                _ => "does not support",
            };
            let refused = config.validate().map_err(|error| error.to_string());
            let expected = format!(
                "scheduling: expected sync with speculative decoding, found async, which this engine {why}; leave it out, or \
                 use a later engine"
            );
            assert_eq!(refused, if possible { Ok(()) } else { Err(expected) });
            config.rules.scheduling = Scheduling::Synchronous;
            assert_eq!(config.validate(), Ok(()));
        }
    }
}
