//! Requests that a server can serve.

use super::SimConfig;
use crate::engine::{BeyondMaxModelLen, PadSpecDecode, Scheduling};
use crate::sim::{Rejection, Request, Speculation};

impl SimConfig {
    /// Checks that a server with these limits can serve `request`, at least alone.
    ///
    /// # Errors
    ///
    /// [`Rejection`] for an empty prompt or output, a request that is too long or arrives too late, and one
    /// that needs more KV blocks than there are. With [`BeyondMaxModelLen::Truncate`] a request is too long only if its
    /// prompt leaves no room for a token.
    pub fn check(&self, request: &Request) -> Result<(), Rejection> {
        let request = &Request { output_tokens: self.served_output(request), ..*request };
        if request.prompt_tokens == 0 {
            return Err(Rejection::EmptyPrompt);
        }
        if request.output_tokens == 0 {
            return Err(Rejection::EmptyOutput);
        }
        if request.tokens() > u64::from(self.max_model_len) {
            return Err(Rejection::TooLong { tokens: request.tokens(), max_model_len: self.max_model_len });
        }
        if request.arrival_ns > Self::LAST_ARRIVAL_NS {
            let arrival_ns = request.arrival_ns;
            return Err(Rejection::TooLate { arrival_ns });
        }
        let blocks = self.blocks_for(request);
        if blocks > self.kv_blocks {
            return Err(Rejection::TooManyBlocks { blocks, kv_blocks: self.kv_blocks });
        }
        Ok(())
    }

    /// Returns the output tokens of a request as the server serves it: cut at `max_model_len` if that is the rule.
    pub(in crate::sim) fn served_output(&self, request: &Request) -> u32 {
        let room = self.max_model_len.saturating_sub(request.prompt_tokens);
        if self.rules.beyond_max_model_len == BeyondMaxModelLen::Truncate && room > 0 {
            request.output_tokens.min(room)
        } else {
            request.output_tokens
        }
    }

    /// Returns the tokens of prompt and output of a request as the server serves it.
    pub(in crate::sim) fn served_tokens(&self, request: &Request) -> u64 {
        u64::from(request.prompt_tokens) + u64::from(self.served_output(request))
    }

    /// Returns the KV blocks that admission leaves free while requests run.
    pub(in crate::sim) fn watermark_blocks(&self) -> u32 {
        // vLLM counts its null block, too.
        (self.watermark * (f64::from(self.kv_blocks) + 1.0)) as u32
    }

    /// KV blocks that `request` needs at its longest.
    pub(in crate::sim) fn blocks_for(&self, request: &Request) -> u32 {
        let longest = u64::from(self.max_model_len);
        // The last token is sampled and not computed.
        let kv_tokens = request.tokens().saturating_sub(1);
        let (drafts, lookahead) = match self.speculation {
            Some(speculation) => self.drafts_for(request, speculation),
            None => (0, 0),
        };
        let kv_tokens = (kv_tokens + u64::from(drafts)).min(longest.saturating_sub(1));
        // At most a u32, `max_model_len`.
        let kv_tokens = (kv_tokens + u64::from(lookahead)).min(longest) as u32;
        self.kv_groups.blocks(kv_tokens, self.block_size, self.in_flight_tokens())
    }

    /// Returns the drafted tokens of `request` that are computed after its last one, and those that are reserved beyond
    /// them.
    fn drafts_for(&self, request: &Request, speculation: Speculation) -> (u32, u32) {
        // The drafts of the last verification are computed; a single output token needs none, unless its prompt is
        // cached and padded, or has several chunks. One step ahead, the drafts of the step in flight may be accepted,
        // too. Some engines reserve slots of a draft model for running requests only: not with the first chunk of a
        // prompt.
        let room = self.max_model_len.saturating_sub(request.prompt_tokens);
        let chunk = self.long_prefill_token_threshold.unwrap_or(u32::MAX);
        let chunked = request.prompt_tokens > self.max_num_batched_tokens.min(chunk);
        // A request alone is padded under `PadSpecDecode::Always` only.
        let alone = self.rules.pad_spec_decode == PadSpecDecode::Always && self.draft_tokens() < room;
        let padded = alone || chunked && self.chunk_drafts() > 0;
        let samples = request.output_tokens.saturating_sub(u32::from(!padded));
        let reserves = samples > 0 || self.rules.admission_lookahead || chunked;
        let verifications = match self.rules.scheduling {
            Scheduling::Synchronous => samples.min(1),
            Scheduling::OneStepAhead => samples.min(2),
        };
        let lookahead = if reserves { speculation.lookahead_tokens() } else { 0 };
        (verifications * self.draft_tokens(), lookahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(prompt_tokens: u32, output_tokens: u32) -> Request {
        Request { prompt_tokens, output_tokens, ..Request::default() }
    }

    #[test]
    fn the_largest_request_that_fits_is_accepted_and_no_empty_one() {
        let too_long = |tokens, max_model_len| Rejection::TooLong { tokens, max_model_len };
        let (blocks, kv_blocks) = (3, 2);
        let too_many_blocks = Rejection::TooManyBlocks { blocks, kv_blocks };
        // Model length, blocks, prompt, output. The last token is not computed: 33 tokens take two blocks of 16.
        for (limits, tokens, expected) in [
            ((64, 2), (32, 1), Ok(())),
            ((64, 2), (1, 32), Ok(())),
            ((64, 2), (33, 1), Err(too_many_blocks)),
            ((64, 4), (32, 32), Ok(())),
            ((64, 4), (32, 33), Err(too_long(65, 64))),
            ((64, 4), (0, 0), Err(Rejection::EmptyPrompt)),
            ((64, 4), (1, 0), Err(Rejection::EmptyOutput)),
            ((u32::MAX, u32::MAX), (u32::MAX, u32::MAX), Err(too_long(8_589_934_590, u32::MAX))),
        ] {
            let config = SimConfig::new(limits.0, limits.1);
            assert_eq!(config.check(&request(tokens.0, tokens.1)), expected);
        }
    }

    #[test]
    fn an_output_beyond_max_model_len_is_rejected_or_cut() {
        let mut config = SimConfig::new(64, 4);
        for (rule, prompt_tokens, expected) in [
            (BeyondMaxModelLen::Reject, 60, Err(70)),
            (BeyondMaxModelLen::Truncate, 60, Ok(4)),
            (BeyondMaxModelLen::Truncate, 64, Err(74)),
            (BeyondMaxModelLen::Truncate, 40, Ok(10)),
        ] {
            config.rules.beyond_max_model_len = rule;
            let request = request(prompt_tokens, 10);
            let too_long = |tokens| Rejection::TooLong { tokens, max_model_len: 64 };
            let served = config.served_output(&request);
            assert_eq!(config.check(&request).map(|()| served), expected.map_err(too_long));
        }
    }

    #[test]
    fn arrivals_at_the_end_of_the_clock_are_rejected() {
        let config = SimConfig::new(64, 4);
        let at = |arrival_ns| Request { arrival_ns, ..request(1, 1) };
        assert_eq!(config.check(&at(SimConfig::LAST_ARRIVAL_NS)), Ok(()));
        let arrival_ns = SimConfig::LAST_ARRIVAL_NS + 1;
        let rejection = Rejection::TooLate { arrival_ns };
        assert_eq!(config.check(&at(arrival_ns)), Err(rejection));
    }

    /// 61 tokens are sampled after a prompt of 1, and the last verification has 3 drafts. One step ahead it comes after one
    /// whose drafts may be accepted.
    #[test]
    fn drafts_need_blocks() {
        let speculation = Speculation::try_new(3, 0.5, 0).unwrap();
        let mut config = SimConfig::new(128, 4).with_speculation(speculation);
        let (blocks, kv_blocks) = (5, 4);
        let refused = Err(Rejection::TooManyBlocks { blocks, kv_blocks });
        for (scheduling, longest) in [(Scheduling::Synchronous, 61), (Scheduling::OneStepAhead, 58)] {
            config.rules.scheduling = scheduling;
            assert_eq!(config.check(&request(1, longest)), Ok(()));
            assert_eq!(config.check(&request(1, longest + 1)), refused);
            // A single output token needs no drafts.
            assert_eq!(config.check(&request(63, 1)), Ok(()));
        }
    }

    #[test]
    fn slots_of_a_draft_model_need_blocks_where_a_prompt_has_several_chunks() {
        let speculation = Speculation::try_new(3, 0.5, 0).unwrap().with_draft_model();
        let mut config = SimConfig::new(128, 4).with_speculation(speculation);
        config.rules.admission_lookahead = false;
        let (blocks, kv_blocks) = (5, 4);
        for (budget, expected) in [(63, Ok(())), (62, Err(Rejection::TooManyBlocks { blocks, kv_blocks }))] {
            config.max_num_batched_tokens = budget;
            assert_eq!(config.check(&request(63, 1)), expected);
        }
    }
}
