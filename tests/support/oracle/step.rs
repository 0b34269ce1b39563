//! A step as the sum of its kernels.

use std::collections::HashMap;

use rooflut::engine::StepConstants;
use rooflut::hardware::{Dtype, GemmShape};
use rooflut::model::{Sampler, Span};
use rooflut::step::Part;
use rooflut::table::Provenance;

use super::gemm::{gemm_bytes, gemm_flops};
use super::{StepGemm, allreduce, prefill, prefill_work, step_moe};
use crate::support::steps::{Batch, Sharded};
use crate::support::tables::Tables;

/// A kernel of a step, with all its calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedPart {
    pub(crate) part: Part,
    pub(crate) seconds: f64,
    /// Seconds that are fitted, not looked up.
    pub(crate) fitted_s: f64,
    /// Provenance of the looked-up seconds; `None` if all are fitted.
    pub(crate) provenance: Option<Provenance>,
}

/// Expected steps on the kernels of a set. Each GEMM is smoothed once.
pub(crate) struct ExpectedSteps<'t> {
    tables: &'t Tables,
    constants: StepConstants,
    gemms: HashMap<GemmShape, StepGemm>,
}

/// Returns the tokens of the CUDA graph that a step runs as. Graphs are captured for 1, 2, 4 and the
/// multiples of 8 up to a maximum; larger steps are not padded.
fn padded(tokens: u64, constants: &StepConstants) -> u64 {
    let largest = u64::from(constants.cuda_graph_max_tokens);
    let mut captured = [1, 2, 4].into_iter().chain((1..).map(|eights| 8 * eights)).take_while(|&size| size <= largest);
    captured.find(|&size| size >= tokens).unwrap_or(tokens)
}

impl<'t> ExpectedSteps<'t> {
    pub(crate) fn of(tables: &'t Tables, mut constants: StepConstants) -> ExpectedSteps<'t> {
        if tables.gpu.fp4.is_some() {
            constants.sustained_math = constants.blackwell_sustained_math;
            constants.moe_layer = constants.blackwell_moe_layer;
            constants.prompt_layer = constants.blackwell_prompt_layer;
            constants.prompt_moe_layer.0 = 0.0;
        } else {
            constants.blackwell_fp8_block_experts = 1.0;
        }
        ExpectedSteps { tables, constants, gemms: HashMap::new() }
    }

    /// Returns the kernels of `batch` with their naive answers, except for decode attention, which has properties of
    /// its own.
    pub(crate) fn parts(&mut self, sharded: &Sharded, batch: &Batch) -> Vec<ExpectedPart> {
        let (tables, constants) = (self.tables, &self.constants);
        let step = batch.as_step();
        let (tokens, rows) = (step.tokens(), step.sampled_tokens());
        let m = padded(tokens, constants);
        let layers = f64::from(sharded.spec.layers.total());
        let hidden = u64::from(sharded.spec.hidden);
        let mut parts = Vec::new();
        // Shared experts run beside the routed ones.
        let mut beside_s = 0.0;
        if let Some(experts) = sharded.experts()
            && m <= u64::from(constants.shared_expert_tokens)
        {
            beside_s = step_moe(tables, experts, tokens, constants).0.seconds;
        }
        for call in sharded.gemms(m, rows) {
            let gemm = self.gemms.entry(call.shape).or_insert_with(|| StepGemm::new(tables, call.shape, constants));
            let answer = gemm.at(tables, call.rows);
            let math = gemm_flops(call.shape, call.rows as f64) / tables.peak(call.shape.dtype);
            let traffic = gemm_bytes(call.shape, call.rows as f64) / tables.gpu.bandwidth;
            let sustained = answer.seconds.max(math / constants.sustained_math);
            let seconds = sustained.max(match tables.compiled.gpu().rates(Dtype::Nvfp4) {
                Some(_) => traffic / constants.sustained_reads,
                None => traffic,
            });
            let mut visible = seconds;
            if [Part::GateUp, Part::Down].contains(&call.part) {
                visible = (seconds - beside_s).max(math).max(traffic).min(seconds);
                beside_s = (beside_s - seconds).max(0.0);
            }
            parts.push(ExpectedPart {
                part: call.part,
                seconds: visible * call.times,
                fitted_s: (1.0 - answer.seconds / seconds) * visible * call.times,
                provenance: Some(answer.provenance),
            });
        }
        let mut push = |part, seconds, provenance: Option<Provenance>| {
            parts.push(ExpectedPart {
                part,
                seconds,
                fitted_s: if provenance.is_none() { seconds } else { 0.0 },
                provenance,
            });
        };
        let attention = sharded.attention_shape(sharded.kv_dtype);
        let chunks = batch.chunks();
        if !chunks.is_empty() {
            let answer = prefill(tables, attention, &chunks);
            let at_bandwidth = prefill_work(attention, &chunks).1 / tables.gpu.bandwidth;
            let seconds = answer.seconds.max(at_bandwidth);
            push(Part::PrefillAttention, seconds * layers, Some(answer.provenance));
        }
        let mut all_reduces = Vec::new();
        if sharded.tp > 1 {
            let link = |bytes: u64| bytes as f64 / tables.gpu.link;
            let smallest = allreduce(tables, sharded.tp, 1).seconds;
            let graph = u64::from(constants.cuda_graph_max_tokens.max(1)) * hidden * 2;
            let graph = allreduce(tables, sharded.tp, graph).seconds.max(link(graph));
            let mut messages = vec![(m * hidden * 2, 2.0 * layers)];
            if sharded.heads().joint_qk_norm {
                // The variances of queries and keys.
                messages.push((m * 8, layers));
            }
            all_reduces.extend(messages.into_iter().map(|(bytes, times)| {
                let answer = allreduce(tables, sharded.tp, bytes);
                let table = answer.seconds.max(link(bytes));
                let grown = (table.min(graph) - smallest).max(0.0);
                let fitted = constants.all_reduce_wait.0 + (constants.all_reduce_growth - 1.0) * grown;
                (table * times, fitted * times, answer.provenance)
            }));
        }
        let bandwidth = constants.small_kernel_bandwidth * tables.gpu.bandwidth;
        let small = (sharded.small_kernel_bytes() * m as f64 / bandwidth).max(constants.layer.0);
        push(Part::SmallKernels, small * layers, None);
        if rows > 0 {
            let logits = rows as f64 * f64::from(sharded.spec.vocab);
            let read = logits * 4.0 / tables.gpu.bandwidth;
            let sorts = sharded.spec.sampler != Sampler::Plain;
            let penalizes = sharded.spec.sampler == Sampler::RepetitionPenalty;
            let [sort, sorted_logit] = if sorts { [constants.sort.0, constants.sorted_logit.0] } else { [0.0; 2] };
            let mut sampling = sort + read.max((constants.logit.0 + sorted_logit) * logits);
            if penalizes {
                sampling += constants.penalty.0 + 85.0 * logits / tables.gpu.bandwidth;
            }
            push(Part::Sampling, sampling, None);
        }
        let layer = match sharded.heads().span {
            Span::Chunk(_) => constants.uncaptured_layer.0,
            _ if chunks.is_empty() => 0.0,
            _ if sharded.experts().is_some() => constants.prompt_layer.0 + constants.prompt_moe_layer.0,
            _ => constants.prompt_layer.0,
        };
        let decoding: u64 = step.decode.iter().map(|group| u64::from(group.requests())).sum();
        let requests = step.prefill.len() as f64 + decoding as f64;
        let host = constants.host.0 + layer * layers + constants.host_request.0 * requests;
        if host > 0.0 {
            push(Part::Host, host, None);
        }
        for (table, fitted_s, provenance) in all_reduces {
            parts.push(ExpectedPart {
                part: Part::AllReduce,
                seconds: table + fitted_s,
                fitted_s,
                provenance: Some(provenance),
            });
        }
        if let Some(experts) = sharded.experts() {
            let padding = constants.routed_padding * (m - tokens) as f64;
            let routed = tokens + padding.round() as u64;
            let (answer, fitted_s) = step_moe(tables, experts, routed, constants);
            parts.push(ExpectedPart {
                part: Part::Moe,
                seconds: answer.seconds * layers,
                fitted_s: fitted_s * layers,
                provenance: (fitted_s < answer.seconds).then_some(answer.provenance),
            });
        }
        parts
    }
}
