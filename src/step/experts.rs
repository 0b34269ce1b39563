//! The experts of a layer inside a step.

use super::kernel_time::KernelTime;
use super::launch::Launch;
use super::routing::Routing;
use super::{Binding, TimeSource};
use crate::engine::StepConstants;
use crate::hardware::{Dtype, Gpu, MoeShape, OperationKind, Work};
use crate::math::{ln, sqrt};
use crate::op::Moe;
use crate::table::ErrorGroup;
use crate::units::Seconds;

/// The experts of a layer, with weights that come from memory.
///
/// Ranks with whole experts wait for the one that has most to read.
///
/// The table was measured with a later engine. With few tokens, where reads dominate, measured servers with 8 and 16
/// experts of 16 and 8 bits agree better with reads of the experts that tokens reach ([`Routing`]) than with the table.
/// No such server has many tokens, where math dominates.
///
/// Experts with a scale per block take as long as the table says, or as the reads if these take longer. Their rows are
/// of the layers that are served. On 29 load points of gpt-oss-120b (H100, H200) and MiniMax-M2.5 (H100) the median error
/// of TPOT was 4 % with the constants of vLLM 0.15.1, with the reads alone 13 %.
#[derive(Debug, Clone)]
pub(super) struct StepExperts {
    moe: Moe,
    routing: Routing,
    /// Routing, sorting and launches, seconds.
    launches_s: f64,
    /// Share of the memory bandwidth at which the experts are read.
    bandwidth: f64,
    /// Time of the experts as a multiple of the measured one, in steps of at most and of more than `graph_tokens`.
    of_table: [f64; 2],
    graph_tokens: f64,
    /// Share of the experts that no token reaches which take as long as those reached.
    unreached: f64,
    /// Time of math over that of reads on the measured GPU, relative to this one.
    math_to_reads: f64,
}

impl StepExperts {
    /// Creates the time of `moe` inside the steps of an engine, with rows that were measured on the GPU `measured`.
    pub(super) fn new(moe: Moe, engine: &StepConstants, measured: &Gpu) -> StepExperts {
        let shape = moe.shape();
        let here = moe.reference().rates;
        let there = measured.rates(shape.dtype).or(measured.rates(Dtype::Bf16)).unwrap_or(here);
        let [here, there] = [here, there].map(|rates| rates.s_per_flop / rates.s_per_byte);
        StepExperts {
            math_to_reads: there / here,
            routing: Routing::new(&shape, engine.routing),
            unreached: match shape.dtype {
                Dtype::Fp8Block => engine.fp8_block_unreached_experts,
                _ => 0.0,
            },
            moe,
            of_table: match shape.dtype {
                Dtype::Mxfp4Mxfp8 => [engine.tuned_experts; 2],
                Dtype::Fp8Block => [1.0, engine.blackwell_fp8_block_experts],
                _ => [1.0; 2],
            },
            graph_tokens: engine.cuda_graph_max_tokens.into(),
            launches_s: match shape.dtype {
                // The measured kernel routes.
                Dtype::Mxfp4Mxfp8 => 0.0,
                _ => engine.moe_layer.0,
            },
            bandwidth: match shape.dtype {
                Dtype::Fp8Block => engine.fp8_block_expert_bandwidth,
                _ => engine.expert_bandwidth,
            },
        }
    }

    /// Returns the errors of lookups of the experts.
    pub(super) fn errors(&self) -> ErrorGroup {
        self.moe.errors()
    }

    /// Returns the launches and the reads of the experts reached on average, blended into the table's answer as math
    /// takes over from reads.
    pub(super) fn at(&self, tokens: f64, ln_tokens: f64) -> KernelTime {
        let rates = &self.moe.reference().rates;
        let shape = self.moe.shape();
        let expected = self.expected_work(tokens);
        let read_s = expected.bytes * rates.s_per_byte;
        let math_s = expected.flops * rates.s_per_flop;
        let reads = self.launches_s + read_s / self.bandwidth;
        let mut table = self.moe.at_ln(tokens, ln_tokens);
        let [graph, larger] = self.of_table;
        table.time = Seconds(table.time.0 * if tokens > self.graph_tokens { larger } else { graph });
        let math_share = (math_s / read_s * self.math_to_reads).min(1.0);
        let table_share = if shape.dtype.is_block_scaled() { 1.0 } else { math_share };
        let seconds = reads + (table.time.0.max(reads) - reads) * table_share;
        let time = Seconds(seconds.max(math_s));
        let fitted = Seconds(reads * (1.0 - table_share));
        let source = if table.time.0 > reads {
            let looked_up = Seconds(time.0 - fitted.0);
            TimeSource::FITTED.plus(fitted, table.provenance.into(), looked_up)
        } else {
            TimeSource::FITTED
        };
        let binding = Binding::of(&expected, rates, self.launches_s);
        KernelTime::new(time, binding, source).with_bound(Seconds(read_s.max(math_s)))
    }

    /// Returns the experts and their work.
    pub(super) fn launch(&self, tokens: f64) -> Launch {
        Launch::new(OperationKind::Moe, self.moe.shape(), self.expected_work(tokens))
    }

    /// Returns the work with the reads of the experts reached on average.
    #[inline]
    fn expected_work(&self, tokens: f64) -> Work {
        let shape = self.moe.shape();
        let reached = on_busiest_rank(self.routing.reached(tokens), &shape);
        let all = f64::from(shape.experts) / f64::from(shape.ep.max(1));
        let reached = reached + self.unreached * (all - reached).max(0.0);
        shape.work_reading(tokens, reached)
    }
}

/// Returns the expected number of experts that tokens reach on the rank on which they reach most, of `reached` ones on
/// all ranks.
///
/// Experts reached are spread over the ranks by chance, as draws without replacement. The expected maximum of n such
/// numbers is about sqrt(ln n) standard deviations above their mean (within 10 % on 2 to 8 ranks).
///
/// Assumes: popular experts are not placed on ranks by their load, as an expert load balancer does.
fn on_busiest_rank(reached: f64, shape: &MoeShape) -> f64 {
    if shape.ep < 2 {
        return reached;
    }
    let [ranks, experts] = [shape.ep, shape.experts].map(f64::from);
    let mean = reached / ranks;
    let left = (1.0 - reached / experts).max(0.0);
    let variance = mean * (1.0 - 1.0 / ranks) * left;
    let most = reached.min(experts / ranks);
    (mean + sqrt(variance * ln(ranks))).min(most)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "test code outside of test functions")]
mod tests {
    use super::*;

    /// The mean of the largest share over many shuffles of the experts.
    fn shuffled(reached: usize, experts: usize, ranks: usize) -> f64 {
        let mut state = 1_u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % limit
        };
        let mut all: [usize; 256] = core::array::from_fn(|expert| expert);
        let order = &mut all[..experts];
        let trials = 2_000;
        let mut sum = 0;
        for _ in 0..trials {
            for last in (1..experts).rev() {
                order.swap(last, below(last + 1));
            }
            let mut on_rank = [0; 16];
            for expert in &order[..reached] {
                on_rank[expert * ranks / experts] += 1;
            }
            sum += on_rank.into_iter().max().unwrap_or(0);
        }
        sum as f64 / trials as f64
    }

    #[test]
    fn the_busiest_rank_reads_as_many_experts_as_in_shuffles() {
        for (experts, ep) in [(128, 2), (128, 4), (256, 4), (256, 8), (128, 8)] {
            let shape = MoeShape {
                dtype: Dtype::Bf16,
                experts,
                top_k: 8,
                hidden: 1024,
                intermediate: 1024,
                tp: 1,
                ep,
                matrices: 3,
            };
            for reached in [8, 20, 50, 100, 120, 128] {
                let found = on_busiest_rank(f64::from(reached), &shape);
                let expected = shuffled(reached as usize, experts as usize, ep as usize);
                let error = found / expected - 1.0;
                assert!(error.abs() < 0.1, "{reached} of {experts} on {ep}: {found} {expected}");
            }
            let all = f64::from(experts);
            let ratio = on_busiest_rank(all, &shape) * f64::from(ep) / all;
            assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
        }
    }
}
