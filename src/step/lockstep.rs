//! Steps of data-parallel ranks.

use super::{RooflineModel, StepBatch, StepTime};
use crate::units::Seconds;

impl RooflineModel {
    /// Returns the time of a step of ranks that begin and end it together, given the time of the parts that depend on the
    /// tokens of a rank and on its sampled rows.
    ///
    /// Ranks whose largest batch runs as a CUDA graph are padded to it. An idle rank computes one dummy token. All wait
    /// for the slowest.
    ///
    /// Source: vLLM, `coordinate_batch_across_dp` and `execute_dummy_batch` in `vllm/v1/worker`.
    pub(super) fn lockstep(
        &self,
        ranks: &mut dyn Iterator<Item = StepBatch<'_>>,
        of_tokens: impl Fn(u64) -> Seconds,
        of_rows: impl Fn(u64) -> Seconds,
    ) -> Seconds {
        let (mut count, mut largest, mut all) = (0_u64, 0, 0_u64);
        let (mut longest, mut longest_rest) = (Seconds::ZERO, Seconds::ZERO);
        for batch in ranks {
            let sums = batch.sums();
            count += 1;
            all = all.saturating_add(sums.tokens.max(1));
            if sums.tokens == 0 {
                continue;
            }
            let prefill = self.prefill_attention(batch.prefill);
            let decode = self.decode_attention(&sums);
            let attention = [prefill, decode].into_iter().flatten();
            let attention: Seconds = attention.map(|all| all.time).sum();
            let rest = attention + of_rows(sums.rows) + self.host(batch.prefill, &sums);
            largest = sums.tokens.max(largest);
            longest_rest = longest_rest.max(rest);
            longest = longest.max(of_tokens(sums.tokens) + rest);
        }
        if largest == 0 {
            return Seconds::ZERO;
        }
        let padded = self.engine().padded_tokens(largest);
        let runs_as_graph = largest <= u64::from(self.engine().cuda_graph_max_tokens);
        let (apart, exchanged) = match runs_as_graph {
            true => (
                of_tokens(largest) + longest_rest,
                padded.saturating_mul(count),
            ),
            false => (longest, all),
        };
        if !self.shares_experts() {
            return apart;
        }
        let mut shared = StepTime::ZERO;
        self.add_shared(&mut shared, [padded, exchanged], all);
        apart + shared.total()
    }
}
