//! Predicts single steps, with the step model alone.

use rooflut::Invalid;
use rooflut::engine::EngineStack;
use rooflut::model::MemoryLimits;
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch};

use super::interval::Wanted;
use super::{Predicted, ResolvedServer, cached};
use crate::compare::Metric;
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{DecodeStep, EngineStep, Limits, Row, SoloRequest};

/// Predicts the steps of a request that runs alone: those of its prompt together, and a decode step at its
/// mean KV length.
///
/// # Errors
/// An unknown name, tables that lack a kernel, or a prompt that is empty, longer than `max_model_len` or
/// shorter than its cached part.
pub(super) fn solo_request(
    row: &Row,
    solo: &SoloRequest,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Result<Vec<Predicted>, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    let budget = budget(&row.limits)?;
    deployment.check_length(solo.prompt_tokens, &row.limits)?;
    let deployed = deployment.deploy(engine)?;
    let wanted = Wanted::of(predictor, engine, &deployment);
    wanted.predict(deployed.step_model(), |model| {
        let tpot_ms = |context| {
            deployment.check_context(context, &row.limits)?;
            decode_ms(model, 1, context)
        };
        let prefill_ms = prefill_ms(model, solo, budget)?;
        Ok(vec![Ok(vec![
            Pair::new(Metric::Prefill, prefill_ms, solo.prefill_ms),
            Pair {
                metric: Metric::Tpot,
                predicted: solo.mean_context_tokens.map(tpot_ms).transpose(),
                measured: solo.tpot_ms,
                intervals: Vec::new(),
            },
        ])])
    })
}

/// Predicts the time of a step in which every request decodes.
///
/// # Errors
/// An unknown name, tables that lack a kernel, no request, or more or longer requests than a server
/// takes.
pub(super) fn decode_step(
    row: &Row,
    step: &DecodeStep,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Result<Vec<Predicted>, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    if step.decode_requests == 0 {
        return Err(Reason::no_tokens());
    }
    let most = row.limits.max_num_seqs.unwrap_or(MAX_REQUESTS);
    if step.decode_requests > most {
        return Err(Reason::of_row(format!("more than {most} requests decode in one step")));
    }
    deployment.check_context(step.mean_context_tokens, &row.limits)?;
    let deployed = deployment.deploy(engine)?;
    let (requests, context) = (step.decode_requests, step.mean_context_tokens);
    let wanted = Wanted::of(predictor, engine, &deployment);
    wanted.predict(deployed.step_model(), |model| {
        let predicted = decode_ms(model, requests, context)?;
        Ok(vec![Ok(vec![Pair::new(Metric::Step, predicted, step.step_ms)])])
    })
}

/// Predicts the time of a step from the sums over the requests of a rank, which are taken to be equally long. Other
/// data-parallel ranks are taken to have equal batches.
///
/// # Errors
/// An unknown name, tables that lack a kernel, no request, requests without a token, or more or
/// longer requests than a server takes.
pub(super) fn engine_step(
    row: &Row,
    step: &EngineStep,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Result<Vec<Predicted>, Reason> {
    if step.is_suspect {
        return Err(Reason::of_row("marked as suspect: the time cannot be that of the step"));
    }
    let mut resolved = ResolvedServer::find(&row.server)?;
    if resolved.spec.experts().is_none() {
        resolved.dp = 1; // Ranks without experts step by themselves.
    }
    let requests = step.decode_requests.saturating_add(step.prefill_requests);
    if requests == 0 {
        return Err(Reason::no_tokens());
    }
    if requests > MAX_REQUESTS {
        let many = format!("the step has more than {MAX_REQUESTS} requests");
        return Err(Reason::of_row(many));
    }
    let prompts = step.prefill_requests;
    let prefill = equal(step.prefill_tokens, prompts).zip(equal(step.prefill_cached_tokens, prompts));
    let prefill: Vec<Chunk> = prefill
        .map(|(new, cached)| {
            let context = new.saturating_add(cached);
            let chunk = Chunk::last(new, context).map_err(|_| Reason::no_tokens())?;
            resolved.check_context(context.into(), &row.limits)?;
            Ok(chunk)
        })
        .collect::<Result<_, Reason>>()?;
    let mut decode = Vec::new();
    if step.decode_requests > 0 {
        let mean = f64::from(step.decode_kv_tokens) / f64::from(step.decode_requests);
        resolved.check_context(mean, &row.limits)?;
        let group = DecodeGroup::from_sum(step.decode_requests, step.decode_kv_tokens.into());
        decode.push(group.map_err(|_| Reason::context_not_positive())?);
    }
    let metric = if prefill.is_empty() { Metric::Step } else { Metric::Prefill };
    let deployed = resolved.deploy(engine)?;
    let wanted = Wanted::of(predictor, engine, &resolved);
    wanted.predict(deployed.step_model(), |model| {
        let batch = StepBatch { prefill: &prefill, decode: &decode };
        let predicted = model.total_time(&batch).ms();
        Ok(vec![Ok(vec![Pair::new(metric, predicted, step.latency_ms)])])
    })
}

/// Divides `sum` into `parts` that differ by at most one.
fn equal(sum: u32, parts: u32) -> impl Iterator<Item = u32> {
    let [each, more] = match parts {
        0 => [0, 0],
        parts => [sum / parts, sum % parts],
    };
    (0..parts).map(move |part| each + u32::from(part < more))
}

/// Limit on the requests of a step: several times the `max_num_seqs` of any server.
const MAX_REQUESTS: u32 = 8192;

/// Token budget of a step.
fn budget(limits: &Limits) -> Result<u32, Reason> {
    let default = MemoryLimits::default().max_num_batched_tokens;
    match limits.max_num_batched_tokens.unwrap_or(default) {
        0 => Err(Reason::from(Invalid::zero("max_num_batched_tokens"))),
        budget => Ok(budget),
    }
}

/// Returns the time of a prompt in chunks of at most `budget` tokens; the last chunk samples a token.
fn prefill_ms(model: &dyn LatencyModel, solo: &SoloRequest, budget: u32) -> Result<f64, Reason> {
    if solo.prompt_tokens == 0 {
        return Err(Reason::no_tokens());
    }
    let mut context = cached::reused(solo.cached_prompt_tokens, solo.prompt_tokens)?;
    let mut total_ms = 0.0;
    while context < solo.prompt_tokens {
        let new = (solo.prompt_tokens - context).min(budget);
        context += new;
        let chunk =
            if context == solo.prompt_tokens { Chunk::last(new, context) } else { Chunk::partial(new, context) };
        let batch = StepBatch { prefill: &[chunk.map_err(|_| Reason::no_tokens())?], decode: &[] };
        total_ms += model.total_time(&batch).ms();
    }
    Ok(total_ms)
}

/// Returns the time of a step in which `requests` decode at a mean KV length of `mean_context`.
fn decode_ms(model: &dyn LatencyModel, requests: u32, mean_context: f64) -> Result<f64, Reason> {
    let kv_tokens = (f64::from(requests) * mean_context).round() as u64;
    let group = DecodeGroup::from_sum(requests, kv_tokens);
    let batch = StepBatch { prefill: &[], decode: &[group.map_err(|_| Reason::context_not_positive())?] };
    Ok(model.total_time(&batch).ms())
}
