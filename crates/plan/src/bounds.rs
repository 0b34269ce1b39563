//! Bounds on what servers can do, from their step times alone.
//!
//! They only ever rule a deployment out: a rate above [`Capacity`], or a latency limit below [`Unloaded`], is out of
//! reach however the requests are scheduled. Simulation decides about all others.

use rooflut::sim::{Content, Request};
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch};
use rooflut_scenario::{Error, Latency, Run, ThinkTime, Workload};

use crate::limit::{Figure, Limit, Limits};

/// Capacities are this much too high and least latencies that much too low, as a larger batch may be faster than a
/// smaller one by a few percent where the tables are not monotone.
pub(crate) const MARGIN: f64 = 1.05;
/// The requests whose lengths bound what servers can do.
pub(crate) const SAMPLE: u32 = 20_000;
/// Prices of a prompt against an output between which the capacity is bounded.
const PRICES: u32 = 32;
/// Prompt tokens of a step beside a full batch.
const PREFILL_TOKENS: [u32; 9] = [0, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192];

/// The lengths of the requests of a load, and their rate.
#[derive(Debug, Clone)]
pub(crate) struct Lengths {
    /// Prompt tokens that must be computed, ascending.
    prompts: Vec<u32>,
    /// Output tokens, ascending.
    outputs: Vec<u32>,
    /// Requests per second; 0 where users wait for answers.
    pub(crate) rate: f64,
}

impl Lengths {
    /// Returns the lengths of the load of a run; `None` for a trace, and for fewer than two requests.
    pub(crate) fn of_run(run: &Run) -> Result<Option<Lengths>, Error> {
        let workload = &run.scenario().workload;
        if workload.users.is_none() {
            let requests = run.requests(SAMPLE)?;
            return Ok(requests.and_then(|requests| Lengths::of(&requests, workload)));
        }
        let lengths = Lengths::of(&run.lengths(SAMPLE)?, workload);
        Ok(lengths.map(|lengths| Lengths { rate: 0.0, ..lengths }))
    }

    /// Returns the request rate of users if each answer takes as long as the limits allow; `None` for other loads.
    pub(crate) fn asked_rate(&self, run: &Run, limits: &Limits) -> Option<f64> {
        let workload = &run.scenario().workload;
        let users = workload.users?;
        let pause_s = match (workload.think_time(), &workload.turns) {
            (_, Some(_)) => 0.0,
            (ThinkTime::Fixed(seconds) | ThinkTime::Exponential(seconds), None) => seconds,
        };
        let allowed_s = |latency: Latency| {
            let limits = limits.limits().iter();
            let of_latency = limits.filter(|limit| limit.latency() == latency);
            let least = of_latency.map(Limit::ms).min_by(f64::total_cmp);
            least.map(|ms| ms / 1e3)
        };
        let tokens = allowed_s(Latency::Tpot).map(|tpot| tpot * mean(&self.outputs));
        let parts = allowed_s(Latency::Ttft).unwrap_or(0.0) + tokens.unwrap_or(0.0);
        let answer_s = allowed_s(Latency::E2e).map_or(parts, |e2e| if parts > 0.0 { parts.min(e2e) } else { e2e });
        Some(f64::from(users) / (pause_s + answer_s))
    }

    /// Returns the lengths of `requests` of a workload, in the order of their arrival; `None` for fewer than two.
    pub(crate) fn of(requests: &[Request], workload: &Workload) -> Option<Lengths> {
        let (first, last) = (requests.first()?, requests.last()?);
        let gaps = requests.len().checked_sub(1).filter(|gaps| *gaps > 0)?;
        let span_s = last.arrival_ns.saturating_sub(first.arrival_ns) as f64 / 1e9;
        let computed = |request: &Request| match request.content {
            Content::Unique => {
                let cached = request.cached_prompt_tokens;
                request.prompt_tokens.saturating_sub(cached).max(1)
            }
            // All but the last token may be a prefix hit.
            _ => 1,
        };
        let mut prompts: Vec<u32> = requests.iter().map(computed).collect();
        let mut outputs: Vec<u32> = requests.iter().map(|r| r.output_tokens).collect();
        prompts.sort_unstable();
        outputs.sort_unstable();
        Some(Lengths {
            prompts,
            outputs,
            // The rate of sessions is not that of their requests.
            rate: match workload.turns {
                None => workload.rate(),
                Some(_) => gaps as f64 / span_s,
            },
        })
    }
}

fn mean(values: &[u32]) -> f64 {
    let sum: u64 = values.iter().map(|value| u64::from(*value)).sum();
    sum as f64 / values.len().max(1) as f64
}

/// Returns the value that no figure of `sorted` is below: the one at the rank of a percentile, the least for a mean.
fn least(sorted: &[u32], figure: Figure) -> u32 {
    let last = sorted.len().saturating_sub(1);
    let rank = figure.per_mille().map_or(0, |per_mille| last * per_mille as usize / 1_000);
    sorted.get(rank).copied().unwrap_or_default()
}

/// Maximum rates that one server serves in the long run, requests per second.
///
/// A step with `d` decoding requests and `p` prompt tokens takes `t(d, p)`. If a prompt token is worth `(1 - w) / P` and
/// an output token `w / O`, each request is worth 1, and no server earns more per second than its best step does:
/// `max (w d / O + (1 - w) p / P) / t(d, p)` bounds the rate for each `w` from 0 to 1, by duality of linear programming.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    /// A server that prefills and decodes.
    pub(crate) whole: f64,
    /// A prefill server.
    pub(crate) prefill: f64,
    /// A decode server.
    pub(crate) decode: f64,
}

impl Capacity {
    /// No bound.
    pub(crate) const UNKNOWN: Capacity =
        Capacity { whole: f64::INFINITY, prefill: f64::INFINITY, decode: f64::INFINITY };

    /// Returns the bounds of a server of `run` on the rate of requests of these lengths.
    pub(crate) fn of(run: &Run, lengths: &Lengths) -> Capacity {
        let config = run.config();
        // How many tokens drafts yield is not known from the step times.
        if config.speculation.is_some() {
            return Capacity::UNKNOWN;
        }
        let (prompt, output) = (mean(&lengths.prompts), mean(&lengths.outputs));
        let held = (prompt + output / 2.0).max(1.0) as u32;
        let fitting = config.kv_blocks / run.deployment().kv_blocks_for(held).max(1);
        let fitting = (f64::from(fitting) * MARGIN).ceil() as u32;
        let decoding = config.max_num_seqs.min(fitting.max(1));
        let steps: Vec<Step> = [0, decoding.div_ceil(2), decoding]
            .into_iter()
            .flat_map(|decoding| {
                let budget = config.max_num_batched_tokens.saturating_sub(decoding);
                let prefill = PREFILL_TOKENS.into_iter().filter(move |p| *p < budget);
                prefill.chain([budget]).map(move |p| (decoding, p))
            })
            .filter_map(|(decoding, tokens)| Step::of(run, decoding, tokens, (held, prompt as u32)))
            .collect();
        let parallelism = run.placement().parallelism;
        // Each stage of a pipeline computes another batch.
        let ranks = f64::from(parallelism.dp) * f64::from(parallelism.pp);
        let bound = |weight: f64, output: f64, is_of_pool: fn(&Step) -> bool| {
            let steps = steps.iter().filter(|step| is_of_pool(step));
            let worth = steps.map(|step| step.worth(weight, prompt, output));
            ranks * MARGIN * worth.fold(0.0, f64::max)
        };
        let weights = (0..=PRICES).map(|price| f64::from(price) / f64::from(PRICES));
        // The last chunk of a prompt yields the first token; a decode server computes it anew.
        let whole = weights.map(|weight| bound(weight, output - 1.0, |_| true));
        Capacity {
            whole: whole.fold(f64::INFINITY, f64::min),
            prefill: bound(0.0, output, |step| step.decoding <= 0.0),
            decode: bound(1.0, output, |step| step.prefill <= 0.0),
        }
    }
}

/// The work of a step, and its time.
struct Step {
    decoding: f64,
    prefill: f64,
    seconds: f64,
}

impl Step {
    /// Returns the step of `decoding` requests with `held` tokens each and of `tokens` of prompts of length `prompt`;
    /// `None` for an empty one.
    fn of(run: &Run, decoding: u32, tokens: u32, (held, prompt): (u32, u32)) -> Option<Step> {
        let prompt = prompt.max(1);
        let whole = std::iter::repeat_n(prompt, (tokens / prompt) as usize);
        let parts = whole.chain([tokens % prompt]).filter(|part| *part > 0);
        let chunks: Vec<Chunk> = parts.map(Chunk::prompt).collect::<Result<_, _>>().ok()?;
        let decode = match decoding {
            0 => Vec::new(),
            requests => vec![DecodeGroup::uniform(requests, held).ok()?],
        };
        let batch = StepBatch { prefill: &chunks, decode: &decode };
        (!batch.is_empty()).then(|| Step {
            decoding: decoding.into(),
            prefill: tokens.into(),
            seconds: run.deployment().step_model().total_time(&batch).0,
        })
    }

    /// Returns the requests per second that the step is worth, if outputs have this `weight` and prompts the rest.
    fn worth(&self, weight: f64, prompt: f64, output: f64) -> f64 {
        let share = |tokens: f64, of: f64, weight: f64| if weight > 0.0 { weight * tokens / of } else { 0.0 };
        let decode = share(self.decoding, output, weight);
        let prefill = share(self.prefill, prompt, 1.0 - weight);
        // Outputs of one token need no decode step: the weight then bounds nothing.
        if decode.is_nan() { f64::INFINITY } else { (decode + prefill) / self.seconds }
    }
}

/// Least latencies of requests that have a server for themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unloaded<'l> {
    lengths: &'l Lengths,
    /// Seconds of the fastest step that decodes.
    decode_s: f64,
}

impl<'l> Unloaded<'l> {
    /// Returns the bounds of a server of `run`; `None` where step times do not tell them.
    pub(crate) fn of(run: &Run, lengths: &'l Lengths) -> Option<Unloaded<'l>> {
        let config = run.config();
        // A step takes less time if the other ranks have none of its tokens.
        if config.speculation.is_some() || run.placement().parallelism.dp > 1 {
            return None;
        }
        let held = lengths.prompts.first()?;
        let batches = std::iter::successors(Some(1_u32), |requests| requests.checked_mul(2))
            .take_while(|requests| *requests <= config.max_num_seqs);
        let steps = batches.filter_map(|requests| Step::of(run, requests, 0, (*held, 1)));
        let decode_s = steps.map(|step| step.seconds).min_by(f64::total_cmp)?;
        Some(Unloaded { lengths, decode_s })
    }

    /// Returns a latency in milliseconds that the figure is not below, on servers of `run`.
    pub(crate) fn least_ms(&self, run: &Run, latency: Latency, figure: Figure) -> f64 {
        let Lengths { prompts, outputs, .. } = self.lengths;
        let shortest = prompts.first().copied().unwrap_or_default();
        let tokens = f64::from(least(outputs, figure).saturating_sub(1));
        let seconds = match latency {
            Latency::Ttft => prefill_s(run, least(prompts, figure)),
            Latency::Tpot => self.decode_s,
            Latency::E2e => {
                let of_output = prefill_s(run, shortest) + tokens * self.decode_s;
                of_output.max(prefill_s(run, least(prompts, figure)))
            }
            _ => 0.0,
        };
        seconds / MARGIN * 1e3
    }
}

/// Returns the seconds of the steps of a prompt alone, in chunks as long as a step.
fn prefill_s(run: &Run, prompt: u32) -> f64 {
    let budget = run.config().max_num_batched_tokens.max(1);
    let ends = (1..=prompt.div_ceil(budget)).map(|chunk| prompt.min(chunk.saturating_mul(budget)));
    let model = run.deployment().step_model();
    let times = ends.scan(0, |begin, end| {
        let new = end - std::mem::replace(begin, end);
        let chunk = Chunk::last(new, end).ok()?;
        let batch = StepBatch { prefill: &[chunk], decode: &[] };
        Some(model.total_time(&batch).0)
    });
    times.sum()
}
