//! Steps of data-parallel ranks.

use super::kernels::FfnOps;
use super::launch::Sink;
use super::{LatencyModel, Part, RooflineModel, StepBatch, StepTime};
use crate::math::ln;
use crate::units::Seconds;

/// Times of parts of a step that depend on counts alone.
pub(super) trait CountedTimes {
    /// Returns the time of the parts that depend on the tokens of a rank alone.
    fn of_tokens(&self, tokens: u64) -> Seconds;

    /// Returns the time of lm_head and sampling of so many rows.
    fn of_rows(&self, rows: u64) -> Seconds;

    /// Returns the time of the exchange of the tokens of all ranks between them.
    fn of_exchange(&self, tokens: u64) -> Seconds;

    /// Returns the time of the experts over the tokens of all ranks.
    fn of_experts(&self, tokens: u64) -> Seconds;
}

impl CountedTimes for RooflineModel {
    fn of_tokens(&self, tokens: u64) -> Seconds {
        sum(|step| self.add_own_tokens(step, tokens))
    }

    fn of_rows(&self, rows: u64) -> Seconds {
        let parts = self.sampling(rows).into_iter().flatten();
        parts.map(|(_, once)| once.time).sum()
    }

    fn of_exchange(&self, tokens: u64) -> Seconds {
        sum(|step| self.add_exchange(step, tokens))
    }

    fn of_experts(&self, tokens: u64) -> Seconds {
        sum(|step| self.add_experts(step, tokens))
    }
}

/// Returns the time of what `add` adds to a step.
fn sum(add: impl Fn(&mut StepTime)) -> Seconds {
    let mut step = StepTime::ZERO;
    add(&mut step);
    step.total()
}

impl RooflineModel {
    /// Returns the time of a step of ranks that begin and end it together.
    ///
    /// Ranks whose largest batch runs as a CUDA graph are padded to it. An idle rank computes one dummy token. All wait
    /// for the slowest.
    ///
    /// Source: vLLM, `coordinate_batch_across_dp` and `execute_dummy_batch` in `vllm/v1/worker`.
    pub(super) fn lockstep(
        &self,
        ranks: &mut dyn Iterator<Item = StepBatch<'_>>,
        times: &impl CountedTimes,
    ) -> Seconds {
        if !self.following.is_empty() {
            // Pipelines share nothing.
            return ranks.fold(Seconds::ZERO, |longest, batch| longest.max(self.total_time(&batch)));
        }
        let (mut count, mut largest, mut all) = (0_u64, 0, 0_u64);
        let (mut longest, mut longest_rest) = (Seconds::ZERO, Seconds::ZERO);
        for batch in ranks {
            let sums = self.sampled(batch.sums());
            count += 1;
            all = all.saturating_add(sums.tokens.max(1));
            if sums.tokens == 0 {
                continue;
            }
            let mut rest = times.of_rows(sums.rows) + self.host(batch.prefill, &sums);
            if let Some(all) = self.prefill_attention(batch.prefill) {
                rest += all.time;
            }
            if let Some(all) = self.decode_attention_time(&sums) {
                rest += all;
            }
            largest = sums.tokens.max(largest);
            longest_rest = longest_rest.max(rest);
            longest = longest.max(times.of_tokens(sums.tokens) + rest);
        }
        if largest == 0 {
            return Seconds::ZERO;
        }
        let engine = &self.engine;
        let runs_as_graph = largest <= u64::from(engine.cuda_graph_max_tokens);
        let (apart, exchanged) = if runs_as_graph {
            let exchanged = engine.padded_tokens(largest).saturating_mul(count);
            (times.of_tokens(largest) + longest_rest, exchanged)
        } else {
            (longest, all)
        };
        if !self.shares_experts() {
            return apart;
        }
        let routed = engine.routed_tokens(all, exchanged);
        apart + times.of_exchange(exchanged) + times.of_experts(routed)
    }

    /// Adds the exchange and the experts, if all data-parallel ranks have as many tokens.
    pub(super) fn add_shared(&self, step: &mut impl Sink, tokens: u64) {
        let of_all = |own: u64| own.saturating_mul(self.dp.into());
        let padded = of_all(self.engine.padded_tokens(tokens));
        self.add_exchange(step, padded);
        self.add_experts(step, self.engine.routed_tokens(of_all(tokens), padded));
    }

    /// Adds the exchange of the tokens of all data-parallel ranks between them.
    fn add_exchange(&self, step: &mut impl Sink, tokens: u64) {
        self.kernels.ffn.each(|layers, ffn| {
            if let Some(exchange) = ffn.exchange() {
                let [gather, scatter] = exchange.among_ranks(tokens as f64);
                step.run(Part::Exchange, layers, gather, || exchange.gather_launch(tokens as f64));
                step.run(Part::Exchange, layers, scatter, || exchange.scatter_launch(tokens as f64));
            }
        });
    }

    /// Adds the all-gather of `m` tokens of the rank over its GPUs, where each of them routes a share.
    pub(super) fn add_rejoined(&self, step: &mut impl Sink, m: f64) {
        self.kernels.ffn.each(|layers, ffn| {
            let Some(exchange) = ffn.exchange() else { return };
            if let Some(rejoined) = exchange.within_rank(m) {
                step.run(Part::Exchange, layers, rejoined, || exchange.rejoin_launch(m));
            }
        });
    }

    /// Adds the experts over the tokens of all data-parallel ranks.
    fn add_experts(&self, step: &mut impl Sink, tokens: u64) {
        let tokens = tokens as f64;
        self.kernels.ffn.each(|layers, ffn| {
            if let FfnOps::Moe { experts, .. } = ffn {
                step.run(Part::Moe, layers, experts.at(tokens, ln(tokens)), || Some(experts.launch(tokens)));
            }
        });
    }
}
